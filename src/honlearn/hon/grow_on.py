"""A network grown on an executor: counts, tests and edges are made where the grams lie.

In: paths, the rule by which contexts are kept, and an executor. Out: the network of one process. No process
holds all grams: each worker has the contexts that end in a range of entities with all that their tests read
(:mod:`honlearn.hon.families`), and this one has the names, 8 bytes per tested context, and the network.

Few grams are gathered and finished here, which costs less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.executors import Executor
from honlearn.hon import family_network as tasks
from honlearn.hon.bayes_factor import NOTHING_TESTED, fit_concentration
from honlearn.hon.build import GramCounts
from honlearn.hon.context_index import ContextIndex
from honlearn.hon.edges import arrange
from honlearn.hon.false_discovery import q_values
from honlearn.hon.family_network import KeptRange, RangeNetwork
from honlearn.hon.kept_grams import KeptGrams, keep
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.partitioned import CountedParts, counted_parts, entity_edges, gathered
from honlearn.hon.statistics import ContextStatistics, GrowParameters
from honlearn.paths.paths import Paths
from honlearn.paths.stream import PathStream
from honlearn.paths.vocabulary import Vocabulary

LEAST_FINISHED_APART = 1 << 24
"""Windows, summed over parts, from which on a network by GrowHON's rule is finished on the workers."""

LEAST_TESTED_APART = 1 << 17
"""The same by evidence, whose tests take longer than all else."""


@dataclass(frozen=True)
class _Ranges:
    """Families on the workers: handles, the ranks at which ranges begin, and which entities have a step."""

    handles: list[Any]
    edges: list[int]
    used: NDArray[np.bool_]


@dataclass(frozen=True)
class _Tested:
    """The contexts that pass, by length; by evidence, the tests behind them, q-values and concentrations."""

    grams: list[NDArray[np.int32]]
    tests: list[list[Any]]
    q: list[list[NDArray[np.float64]]]
    concentrations: list[float]


@dataclass(frozen=True)
class Nodes:
    """The nodes of a network in their order: names of entities, and the entities of each, newest first."""

    names: Vocabulary
    gram_offsets: NDArray[np.int64]
    grams: NDArray[np.int32]


@dataclass(frozen=True)
class Finished:
    """A network on the workers: its nodes, handles of the rows of each range, and where these begin.

    ``entities[r]`` and ``contexts[r]`` are the first nodes of range r of either kind.
    """

    nodes: Nodes
    blocks: list[Any]
    entities: list[int]
    contexts: list[int]


def grow_on(source: Paths | PathStream, parameters: GrowParameters, pool: Executor) -> HigherOrderNetwork:
    """Return the network of paths by a rule, from counts of its order."""
    order = parameters.order
    with counted_parts(source, order, pool) as counted:
        least = LEAST_FINISHED_APART if parameters.alpha is None else LEAST_TESTED_APART
        if not counted.groups or counted.size < least:
            counts = GramCounts(gathered(source, counted, order, pool), counted.vocabulary)
            return counts.grow_by(parameters)
        with finished_apart(counted, parameters, pool) as made:
            return _network(made.nodes, [pool.get(handle) for handle in made.blocks], parameters)


@contextmanager
def finished_apart(counted: CountedParts, parameters: GrowParameters, pool: Executor) -> Iterator[Finished]:
    """Make a network whose rows stay with the workers for a block."""
    vocabulary = counted.vocabulary
    by_name = vocabulary.sorted_codes()
    rank = np.empty(len(vocabulary), np.int64)
    rank[by_name] = np.arange(len(by_name))
    with _held(pool) as held:
        ranges = _divided(counted, parameters.order, rank, pool, held)
        tested = _by_evidence if parameters.alpha is not None else _by_threshold
        chosen = tested(ranges, parameters, pool, held)
        entities = by_name[ranges.used[by_name]]
        yield _finished(vocabulary, entities, rank, ranges, chosen, parameters, pool, held)


@contextmanager
def _held(pool: Executor) -> Iterator[list[Any]]:
    """Collect handles of values in a list; at the end of the block all are released."""
    held: list[Any] = []
    try:
        yield held
    finally:
        pool.release(held)


def _all(pool: Executor, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    """Return the values of calls that run beside each other, in their order."""
    with _held(pool) as begun:
        for call in calls:
            begun.append(pool.submit(function, *call))
        return [pool.get(handle) for handle in begun]


def _divided(
    counted: CountedParts, order: int, rank: NDArray[np.int64], pool: Executor, held: list[Any]
) -> _Ranges:
    """Divide the grams of all parts by the newest entity of their contexts, and sum each range."""
    edges = entity_edges(counted, order, pool.n_workers, rank)
    pieces: list[list[Any]] = []
    bits: list[Any] = []
    families: list[Any] = []
    with _held(pool) as begun:
        facts = counted.parts, counted.spread(None, pool), counted.spread(rank, pool)
        for part, codes, ranks in zip(*facts, strict=True):
            call = part.windows, codes, ranks, order, edges
            pieces.append(pool.submit(tasks.divide_part, *call, pieces=len(edges) + 1))
            begun += pieces[-1]
        for column in zip(*pieces, strict=True):
            one, two = pool.submit(tasks.sum_parts, len(rank), *column, pieces=2)
            bits.append(one)
            families.append(two)
            begun.append(one)
            held.append(two)
        used = np.zeros(len(rank), np.bool_)
        for handle in bits:
            used |= np.unpackbits(pool.get(handle), count=len(rank)).view(np.bool_)
    return _Ranges(families, edges, used)


def _by_threshold(ranges: _Ranges, parameters: GrowParameters, pool: Executor, held: list[Any]) -> _Tested:
    """Return the contexts that pass GrowHON's test."""
    found = _all(pool, tasks.passing_grams, [(handle, parameters) for handle in ranges.handles])
    nothing: list[list[Any]] = [[] for _ in found]
    return _Tested([np.concatenate(grams) for grams in zip(*found, strict=True)], nothing, nothing, [])


def _by_evidence(ranges: _Ranges, parameters: GrowParameters, pool: Executor, held: list[Any]) -> _Tested:
    """Return the contexts that are significant; only p-values and Bayes factors come to this process."""
    assert parameters.alpha is not None
    lengths = parameters.order - 1
    begun = [pool.submit(tasks.run_tests, handle, pieces=1 + lengths) for handle in ranges.handles]
    for one in begun:
        held += one
    p = [pool.get(one[0]) for one in begun]
    tests = [one[1:] for one in begun]
    # By length, then by range, as one process has them by length; q does not depend on the order.
    each = [values[m] for m in range(lengths) for values in p]
    q = q_values(np.concatenate([np.empty(0), *each]))
    parts = np.split(q, np.cumsum([len(values) for values in each])[:-1]) if each else []
    by_range = [parts[r :: len(p)] for r in range(len(p))]
    flags = [[values <= parameters.alpha for values in mine] for mine in by_range]
    calls = zip(ranges.handles, flags, tests, strict=True)
    grams = _all(pool, tasks.tested_grams, [(handle, chosen, *known) for handle, chosen, known in calls])
    concentrations = [
        _concentration([known[m] for known in tests], pool)
        if any(len(values[m]) for values in p)
        else NOTHING_TESTED[0]
        for m in range(lengths)
    ]
    return _Tested(
        [np.concatenate(found) for found in zip(*grams, strict=True)], tests, by_range, concentrations
    )


def _concentration(tests: list[Any], pool: Executor) -> float:
    """Return the concentration of the Bayes factors of one length, from the tests of all ranges."""

    def ln_bf(concentration: float) -> NDArray[np.float64]:
        return np.concatenate(_all(pool, tasks.ln_bayes_factors, [(one, concentration) for one in tests]))

    return fit_concentration(ln_bf)[0]


def _finished(
    vocabulary: Vocabulary,
    entities: NDArray[np.int64],
    rank: NDArray[np.int64],
    ranges: _Ranges,
    tested: _Tested,
    parameters: GrowParameters,
    pool: Executor,
    held: list[Any],
) -> Finished:
    """Number the nodes of the contexts that pass, and have their rows made; `entities` by name."""
    kept = keep(tested.grams, parameters)
    node = np.full(len(vocabulary) + 1, -1, np.int32)
    node[entities] = np.arange(len(entities))
    arranged = arrange(node[kept.grams], kept.lengths, len(entities))
    kept = KeptGrams(kept.grams[arranged], kept.lengths[arranged], kept.extended[arranged])
    n = len(entities)
    numbers = np.arange(n, n + len(kept.grams), dtype=np.int32)
    index = pool.share(ContextIndex(node[:-1], kept.grams, numbers))
    held.append(index)
    base = rank[kept.grams[:, 0]]
    at = [0, *np.searchsorted(base, ranges.edges).tolist(), len(base)]
    blocks = []
    for r, (start, stop) in enumerate(pairwise(at)):
        mine = KeptRange(kept.grams[start:stop], base[start:stop], kept.extended[start:stop])
        facts = parameters, tested.q[r], tested.concentrations, *tested.tests[r]
        blocks += pool.submit(tasks.range_network, ranges.handles[r], index, mine, *facts, pieces=1)
    held += blocks
    grams = node[kept.grams]
    nodes = Nodes(
        vocabulary.take(entities),
        np.concatenate([np.arange(n + 1), n + np.cumsum(kept.lengths)]).astype(np.int64),
        np.concatenate([np.arange(n), grams[grams >= 0]]).astype(np.int32),
    )
    firsts = [0, *np.searchsorted(rank[entities], ranges.edges).tolist()]
    return Finished(nodes, blocks, firsts, [n + start for start in at[:-1]])


def _network(nodes: Nodes, blocks: list[RangeNetwork], parameters: GrowParameters) -> HigherOrderNetwork:
    """Return the network of the blocks of all ranges: the rows of entities first, then those of contexts."""
    rows = [block.entities for block in blocks] + [block.contexts for block in blocks]
    each, indices, weights = (np.concatenate(columns) for columns in zip(*rows, strict=True))
    known = [block.statistics for block in blocks]
    statistics = {name: np.concatenate([one[name] for one in known]) for name in known[0]}
    return HigherOrderNetwork(
        nodes.names,
        nodes.gram_offsets,
        nodes.grams,
        np.concatenate([[0], np.cumsum(each)]),
        indices,
        weights,
        ContextStatistics(**statistics),
        parameters,
    )
