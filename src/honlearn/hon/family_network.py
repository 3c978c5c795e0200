"""What a worker does with a range of families: sums them, tests their contexts, makes their edges.

In: the parts of the range (:mod:`honlearn.hon.families`). Out: p-values, the contexts that pass, and, once it
is known which are kept everywhere, the rows of the network whose sources end in the range. Every function
here is a task of :mod:`honlearn.hon.grow_on`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.bayes_factor import Compared, compare
from honlearn.hon.context_index import ContextIndex
from honlearn.hon.evidence import UNTESTED, scores_at, tested_rows
from honlearn.hon.families import (
    Families,
    divide_families,
    families_of,
    grams_of,
    own_rows,
    owned,
    places_of,
    sum_families,
)
from honlearn.hon.g_test import g_tests
from honlearn.hon.next_rows import Rows, take_rows
from honlearn.hon.partial import Windows, trie_of, writable
from honlearn.hon.prune import passes_test, row_divergences, thresholds
from honlearn.hon.statistics import EVIDENCE, GrowParameters
from honlearn.hon.trie import Level, Trie
from honlearn.paths.arrange import sort_each


class LevelTests(NamedTuple):
    """The tested contexts of one length in a range: which, their p-values, what Bayes factors read."""

    contexts: NDArray[np.int64]
    p: NDArray[np.float64]
    compared: Compared


class KeptRange(NamedTuple):
    """The kept contexts of a range in their order: codes newest first, filled up with −1, and ranks of these.

    `extended` tells which were kept because a longer one needs them.
    """

    grams: NDArray[np.int32]
    ranks: NDArray[np.int64]
    extended: NDArray[np.bool_]


class RangeRows(NamedTuple):
    """Rows of the network: how many edges each source has, their targets and weights."""

    lengths: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.int64]


class RangeNetwork(NamedTuple):
    """The rows of the entities and of the contexts of a range, and why the contexts were kept."""

    entities: RangeRows
    contexts: RangeRows
    statistics: dict[str, NDArray[Any]]


def divide_part(
    part: Windows | Trie,
    codes: NDArray[np.int64] | None,
    ranks: NDArray[np.int64],
    order: int,
    edges: list[int],
) -> list[Families]:
    """Return the contexts of a part by the codes of the whole, in ranges of ranks."""
    trie = tuple(Level(*map(writable, vars(level).values())) for level in trie_of(part, order))
    codes = np.arange(len(trie[0])) if codes is None else codes
    return divide_families(families_of(trie, codes, ranks[: len(trie[0])]), edges)


def sum_parts(vocabulary: int, *parts: Families) -> tuple[NDArray[np.uint8], Families]:
    """Return one range over all parts; first, as bits by code, the entities that have a step in it."""
    families = sum_families(*parts)
    entities = families[0]
    used = np.zeros(vocabulary, np.bool_)
    used[entities.oldest[entities.rows.total > 0]] = True
    used[entities.rows.entity] = True
    return np.packbits(used), families


def run_tests(families: Families) -> list[Any]:
    """Return the p-values of each length from 2 on, then, apart, what else is known of the tests."""
    families = owned(families)
    found = []
    for m in range(2, len(families) + 1):
        level, below = families[m - 1], families[m - 2]
        contexts, rows, suffix = tested_rows(level.rows, below.rows, level.suffix)
        p = g_tests(rows, below.rows, suffix, m).p
        compared = compare(rows, below.rows, suffix, np.ones(len(contexts), np.bool_))
        found.append(LevelTests(contexts, p, compared))
    return [[tests.p for tests in found], *found]


def ln_bayes_factors(tests: LevelTests, concentration: float) -> NDArray[np.float64]:
    """Return ln BF of the tested contexts at a concentration."""
    rows, tested, q, known, without = tests.compared
    own = Compared(own_rows(rows), writable(tested), writable(q), writable(known), without)
    return own.ln_bf(concentration)


def passing_grams(families: Families, parameters: GrowParameters) -> list[NDArray[np.int32]]:
    """Return the contexts of each length that pass GrowHON's test, newest entity first."""
    families = owned(families)
    found = []
    for m in range(2, len(families) + 1):
        level, below = families[m - 1], families[m - 2]
        some = np.flatnonzero(level.counts >= parameters.min_support)
        bits = row_divergences(level.rows, below.rows, level.suffix, some).bits
        rule = parameters.tau, parameters.min_support
        passes = passes_test(level.counts[some], level.rows.total[some], bits, m, *rule)
        found.append(grams_of(families, m, some[passes]))
    return found


def tested_grams(
    families: Families, flags: list[NDArray[np.bool_]], *tests: LevelTests
) -> list[NDArray[np.int32]]:
    """Return some of the contexts that were tested, of each length, newest entity first."""
    return [
        grams_of(families, m, level.contexts[chosen])
        for m, (level, chosen) in enumerate(zip(tests, flags, strict=True), start=2)
    ]


def range_network(
    families: Families,
    index: ContextIndex,
    kept: KeptRange,
    parameters: GrowParameters,
    q: list[NDArray[np.float64]],
    concentrations: list[float],
    *tests: LevelTests,
) -> list[RangeNetwork]:
    """Return the rows of a range, alone in a list; q and concentrations where contexts were tested."""
    families = owned(families)
    there = index.entities[families[0].oldest] >= 0
    rows = take_rows(families[0].rows, np.flatnonzero(there))
    entities = _rows([(rows, families[0].oldest[there][:, None], np.arange(there.sum()))], index)
    lengths = np.count_nonzero(kept.grams >= 0, axis=1)
    blocks = []
    statistics = _new_statistics(kept, parameters.alpha is not None)
    for m in range(2, parameters.order + 1):
        here = np.flatnonzero(lengths == m)
        grams = kept.grams[here, :m]
        level, below = families[m - 1], families[m - 2]
        places = places_of(families, grams, kept.ranks[here])
        blocks.append((take_rows(level.rows, places), grams, here))
        statistics["frequency"][here] = level.counts[places]
        statistics["threshold"][here] = thresholds(level.counts[places], m, parameters.tau)
        statistics["divergence"][here] = row_divergences(level.rows, below.rows, level.suffix, places).bits
        if tests:
            mine = tests[m - 2]
            found = mine.p, q[m - 2], ln_bayes_factors(mine, concentrations[m - 2])
            for name, score, known in zip(EVIDENCE, ("p", "q", "ln_bf"), found, strict=True):
                statistics[name][here] = scores_at(mine.contexts, known, places, UNTESTED[score])
    return [RangeNetwork(entities, _rows(blocks, index), statistics)]


def _new_statistics(kept: KeptRange, tested: bool) -> dict[str, NDArray[Any]]:
    """Return room for the statistics of contexts, and why they are kept."""
    n = len(kept.grams)
    made: dict[str, NDArray[Any]] = {"frequency": np.empty(n, np.int64), "by_extension": kept.extended}
    names = ("divergence", "threshold", *(EVIDENCE if tested else ()))
    return made | {name: np.empty(n) for name in names}


def _rows(blocks: list[tuple[Rows, NDArray[np.int32], NDArray[np.int64]]], index: ContextIndex) -> RangeRows:
    """Return rows in their order from blocks of sources of one length: next steps, grams, places."""
    lengths = np.zeros(sum(len(places) for *_, places in blocks), np.int64)
    for rows, _, places in blocks:
        lengths[places] = np.diff(rows.first)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    indices, weights = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int64)
    for rows, grams, places in blocks:
        each = np.diff(rows.first)
        at = np.arange(len(rows.seen)) + np.repeat(indptr[places] - rows.first[:-1], each)
        ends = np.column_stack([rows.entity, np.repeat(grams, each, axis=0)])
        indices[at], weights[at] = index.longest(ends), rows.seen
    sort_each(weights, indices, indptr)
    return RangeRows(lengths, indices, weights)
