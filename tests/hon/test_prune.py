"""GrowHON's rule piece by piece, against dictionaries: divergences, thresholds, supports, what is kept."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.hon.prune import (
    Divergence,
    divergences,
    kept_contexts,
    pass_threshold,
    supported,
    thresholds,
)
from honlearn.paths.paths import Paths

some_paths = st.lists(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=8), min_size=1, max_size=20)
ORDER = 3


def grams(counts: hl.GramCounts) -> list[list[tuple[str, ...]]]:
    """Return the grams of each level of a trie, oldest entity first, in the order of the level."""
    names, trie = counts.vocabulary.names, counts.levels
    levels = [[(name,) for name in names]]
    for m in range(1, len(trie)):
        prefix = trie[m - 1].prefix(np.arange(len(trie[m])))
        rows = zip(prefix, trie[m].newest, strict=True)
        levels.append([(*levels[-1][p], names[x]) for p, x in rows])
    return levels


def of_level(counts: hl.GramCounts, m: int, contexts: np.ndarray) -> Divergence:
    trie = counts.levels
    return divergences(trie[m - 1], trie[m], trie[m - 2], contexts)


@given(some_paths)
@settings(max_examples=60)
def test_divergences_are_those_of_the_definition(paths: list) -> None:
    counts = hl.count_grams(paths, order=ORDER)
    after, known = oracle.followers(oracle.count(paths, ORDER)), grams(counts)
    for m in range(2, ORDER + 1):
        found = of_level(counts, m, np.arange(len(known[m - 1])))
        assert found.bits == pytest.approx([oracle.divergence(g, after) for g in known[m - 1]], abs=1e-12)


@given(st.lists(st.integers(1, 500), min_size=2, max_size=12))
def test_a_sum_does_not_depend_on_the_order_of_its_terms(seen: list[int]) -> None:
    # Entities get their codes in the order in which they appear, and terms are added in the order of codes.
    both = []
    for order in (1, -1):
        pairs = list(enumerate(seen))[::order]
        paths = [["z", "A", str(x)] for x, _ in pairs] + [["y", "A", str(x)] for x, _ in pairs]
        weights = [n for _, n in pairs] + [17 + x for x, _ in pairs]
        counts = hl.count_grams(Paths.from_lists(paths, weights), order=2)
        assert counts.vocabulary.names[2] == str(pairs[0][0])
        place = grams(counts)[1].index(("z", "A"))
        both.append(float(of_level(counts, 2, np.array([place])).bits[0]))
    assert both[0] == both[1]


def test_a_divergence_is_looked_up_by_its_context() -> None:
    known = Divergence(np.array([1, 4, 6]), np.array([0.5, 0.25, 2.0]))
    found = known.of(np.array([0, 1, 2, 4, 5, 6, 7]))
    assert np.array_equal(found, [np.nan, 0.5, np.nan, 0.25, np.nan, 2.0, np.nan], equal_nan=True)
    nothing = Divergence(np.empty(0, np.int64), np.empty(0)).of(np.array([0, 3]))
    assert nothing.shape == (2,)
    assert np.isnan(nothing).all()


def test_thresholds_by_hand() -> None:
    seen = np.array([1, 3, 7])
    assert thresholds(seen, 2, 1.0).tolist() == [1.0, 0.5, 1 / 3]
    assert thresholds(seen, 4, 2.0).tolist() == [6.0, 3.0, 2.0]
    assert np.isnan(thresholds(seen, 2, None)).all()
    assert len(thresholds(seen, 2, None)) == 3


def test_supported_contexts_are_seen_at_least_so_often() -> None:
    counts = hl.count_grams([list(path) for path in ("ab", "ab", "ac", "bc", "bc", "bc")], order=1)
    by_gram = {gram: i for i, gram in enumerate(grams(counts)[1])}
    for least, expected in ((1, ["ab", "ac", "bc"]), (2, ["ab", "bc"]), (3, ["bc"]), (4, [])):
        found = supported(counts.levels[1], least)
        assert found.tolist() == sorted(by_gram[tuple(gram)] for gram in expected)


@given(some_paths, st.sampled_from([None, 0.0, 0.5, 1.0, 3.0]), st.integers(1, 4))
@settings(max_examples=60)
def test_what_passes_and_what_is_kept(paths: list, tau: float | None, least: int) -> None:
    counts = hl.count_grams(paths, order=ORDER)
    seen, known, trie = oracle.count(paths, ORDER), grams(counts), counts.levels
    after, expected = oracle.followers(seen), oracle.kept(seen, ORDER, tau, least)
    every = [of_level(counts, m, supported(trie[m - 1], least)) for m in range(2, ORDER + 1)]
    passes = pass_threshold(trie, every, ORDER, tau, least)
    kept = kept_contexts(trie, passes)
    assert len(passes) == len(kept) == ORDER - 1
    for m in range(2, ORDER + 1):
        own, (stays, extended) = passes[m - 2], kept[m - 2]
        for gram, alone, is_kept, by_extension in zip(known[m - 1], own, stays, extended, strict=True):
            limit = -1.0 if tau is None else tau * (m - 1) / np.log2(1 + seen[gram])
            enough = seen[gram] >= least and gram in after
            assert alone == (enough and oracle.divergence(gram, after) > limit), gram
            assert is_kept == (gram in expected), gram
            assert by_extension == any((*gram, x) in expected for x in after.get(gram, {})), gram


def test_a_support_of_the_test_may_exceed_that_of_the_divergences() -> None:
    counts = hl.count_grams([list("zab")] * 2 + [list("zac")] * 3 + [list("yab")] * 4, order=2)
    place = {gram: i for i, gram in enumerate(grams(counts)[1])}
    every = [of_level(counts, 2, np.arange(len(place)))]
    for least, expected in ((4, ["ya", "za"]), (5, ["za"]), (6, [])):
        (passes,) = pass_threshold(counts.levels, every, 2, None, least)
        assert np.flatnonzero(passes).tolist() == sorted(place[tuple(gram)] for gram in expected)
