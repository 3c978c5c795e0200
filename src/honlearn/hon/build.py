"""From paths to a higher-order network: count once, then grow for any order and rule.

In: paths as anything that :func:`honlearn.read_paths` takes, or a stream larger than memory. Out:
:class:`GramCounts`, and from it :class:`HigherOrderNetwork`.

Reference: Krieg, Kogge, Chawla (2020), "GrowHON: A Scalable Algorithm for Growing Higher-order Networks of
Sequences".
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError, check_integer
from honlearn.executors import is_here, open_executor
from honlearn.hon.count_questions import CountQuestions
from honlearn.hon.counting import count_trie
from honlearn.hon.edges import build_network
from honlearn.hon.evidence import Evidence, LevelEvidence, level_evidence, together
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import MAX_ORDER
from honlearn.hon.prune import Divergence, divergences, kept_contexts, pass_threshold, supported
from honlearn.hon.statistics import DEFAULT_ALPHA, GrowParameters
from honlearn.hon.trie import Trie
from honlearn.paths.options import ReaderOptions
from honlearn.paths.paths import Paths
from honlearn.paths.source import as_source
from honlearn.paths.stream import PathStream, collect
from honlearn.paths.vocabulary import Vocabulary
from honlearn.seeds import generator, root_seed
from honlearn.sizes import parse_size

# The highest order of a network that is chosen for a task, unless one is given.
DEFAULT_MAX_ORDER = 3
AUTO = "auto"
# The orders that order="auto" counts: the next only where contexts of the last are significant.
LOOKS = (4, 8)
# A limit below it would be spent on files: the process itself takes more.
LEAST_MEMORY = 1_000_000


class GramCounts(CountQuestions):
    """How often every gram of up to k + 1 entities was seen, and how far each context's next steps diverge.

    Counting reads the paths; growing a network from the counts is a comparison, so many values of alpha, or
    of tau and min_support, cost little more than one. They are made by :func:`honlearn.count_grams`.

    Parameters
    ----------
    trie : sequence of levels
        The grams of 1 … k + 1 entities with their counts, one level per length.
    vocabulary : Vocabulary
        The names behind the codes of the grams.

    Examples
    --------
    >>> counts = count_grams([["A", "C", "D"], ["B", "C", "E"]] * 5, order=2)
    >>> counts.grow(tau=1.0).n_nodes, counts.grow(tau=9.0).n_nodes, counts.grow(order=1).n_nodes
    (7, 5, 5)
    >>> list(counts.grow().nodes)[5:]
    ['C|A', 'C|B']
    """

    def __init__(self, trie: Trie, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._trie = trie
        self.vocabulary = vocabulary
        self._divergence: dict[int, tuple[int, Divergence]] = {}
        self._levels: dict[int, LevelEvidence] = {}
        self._evidence: dict[int, Evidence] = {}

    @property
    def order(self) -> int:
        """The highest order that a network can have from these counts."""
        return len(self._trie) - 1

    @property
    def levels(self) -> Trie:
        """The counts themselves, by the length of the grams: 1 … k + 1 entities."""
        return self._trie

    def __len__(self) -> int:
        """Return the number of distinct grams of all lengths."""
        return sum(len(level) for level in self._trie)

    def _divergences(self, order: int, min_support: int) -> list[Divergence]:
        """Return D(g) of the contexts that `min_support` can keep, those among them that longer ones keep."""
        for m in range(2, order + 1):
            least, _ = self._divergence.get(m, (None, None))
            if least is None or least > min_support:
                wanted = supported(self._trie[m - 1], min_support)
                self._divergence[m] = min_support, self._divergence_of(m, wanted)
        return [self._divergence[m][1] for m in range(2, order + 1)]

    def _divergence_of(self, m: int, contexts: NDArray[np.int64]) -> Divergence:
        below, level, extensions = self._trie[m - 2 : m + 1]
        return divergences(level, extensions, below, contexts)

    def evidence(self, order: int | None = None) -> Evidence:
        """Return the evidence for every context of 2 … `order` entities, computed once.

        Parameters
        ----------
        order : int, optional
            Entities in the longest contexts that are tested; None tests all that were counted.

        Examples
        --------
        >>> counts = count_grams([["A", "C", "D"], ["B", "C", "E"]] * 20 + [["A", "C", "E"]] * 5, order=2)
        >>> [level] = counts.evidence().levels
        >>> level.tested.tolist(), level.p.round(4).tolist()
        ([True, False, False, True], [0.0, 1.0, 1.0, 0.0])
        """
        order = check_integer("evidence", "order", self.order if order is None else order, 1, self.order)
        if order not in self._evidence:
            for m in range(2, order + 1):
                if m not in self._levels:
                    self._levels[m] = level_evidence(self._trie, m)
            self._evidence[order] = together([self._levels[m] for m in range(2, order + 1)])
        return self._evidence[order]

    def grow(
        self,
        order: int | str | None = None,
        tau: float | None = None,
        min_support: int | None = None,
        *,
        alpha: float | None = None,
    ) -> HigherOrderNetwork:
        """Return the network of at most `order` with the contexts that `alpha`, or `tau`, keeps.

        Parameters
        ----------
        order : int or "auto", optional
            Entities in the longest contexts. None is the highest order that was counted, ``"auto"`` that of
            the longest significant context.
        tau : float, optional
            Threshold of GrowHON's rule, which decides where `tau` or `min_support` is given.
        min_support : int, optional
            How often a context must have been seen.
        alpha : float, optional
            False discovery rate of the contexts that evidence keeps; see :func:`honlearn.grow`.
        """
        if order == AUTO:
            order = self.evidence().longest(auto_alpha(tau, min_support, alpha))
        order = check_integer("grow", "order", self.order if order is None else order, 1, self.order)
        return self.grow_by(GrowParameters.of("grow", order, tau, min_support, alpha))

    def grow_by(self, parameters: GrowParameters) -> HigherOrderNetwork:
        """Return the network by the rule of another network, such as one of fewer paths.

        Parameters
        ----------
        parameters : GrowParameters
            Order and rule, as a network carries them.
        """
        order = parameters.order
        if order > self.order:
            raise InputError(
                f"the network has order {order}, and grams were counted for orders up to {self.order}; count "
                f"them with count_grams(paths, order={order})"
            )
        if parameters.seed is not None:
            return self.sample_network(parameters.seed, order)
        if parameters.alpha is not None:
            return self._network(self.evidence(order).significant(parameters.alpha), parameters)
        divergence = self._divergences(order, parameters.min_support)
        passes = pass_threshold(self._trie, divergence, order, parameters.tau, parameters.min_support)
        kept = kept_contexts(self._trie, passes)
        return build_network(self._trie, self.vocabulary, divergence, kept, parameters)

    def sample_network(self, seed: int, order: int | None = None) -> HigherOrderNetwork:
        """Return a network drawn from the posterior: each tested context with its posterior probability.

        Contexts are drawn independently of each other; as everywhere, a kept context keeps its prefix. A
        context that was not tested is never drawn. The same counts and seed give the same network.

        Parameters
        ----------
        seed : int
            Decides which contexts are drawn.
        order : int, optional
            Entities in the longest contexts; None is the highest order that was counted.
        """
        order = self.order if order is None else order
        order = check_integer("sample_network", "order", order, 1, self.order)
        # A file of the network keeps the seed in 64 bits.
        seed = check_integer("sample_network", "seed", root_seed(seed), 0, 2**63 - 1)
        drawn = []
        for level in self.evidence(order).levels:
            rng = generator(seed, "sample_network", level.length)
            uniform = rng.random(len(level))[level.contexts]
            drawn.append(level.flags(uniform < level.scores.posterior))
        return self._network(drawn, GrowParameters(order, None, 1, seed=seed))

    def _network(self, passes: list[NDArray[np.bool_]], parameters: GrowParameters) -> HigherOrderNetwork:
        """Return the network of the contexts that pass, and of their prefixes, with the evidence for each."""
        kept = kept_contexts(self._trie, passes)
        # Unlike GrowHON's test, this one is made for every context, also for one that an extension keeps.
        told = [(flags, extended & ~mine) for (flags, extended), mine in zip(kept, passes, strict=True)]
        order = parameters.order
        evidence = self.evidence(order)
        # Of the contexts that are kept, and no others.
        divergence = [
            self._divergence_of(m, np.flatnonzero(flags)) for m, (flags, _) in enumerate(told, start=2)
        ]
        return build_network(self._trie, self.vocabulary, divergence, told, parameters, evidence)

    def __deepcopy__(self, memo: dict[int, Any]) -> GramCounts:
        """Return itself: counts do not change, and scikit-learn's `clone` should share them."""
        return self

    def __repr__(self) -> str:
        return f"GramCounts(order={self.order}, {len(self.vocabulary):,} entities, {len(self):,} grams)"


def count_grams(
    paths: Any,
    order: int = 2,
    *,
    n_workers: int = 1,
    memory: int | str | None = None,
    executor: Any = None,
    **reader_options: Any,
) -> GramCounts:
    """Count the grams of up to `order` + 1 entities in paths, lists, tables, files or a stream.

    How it is done, on threads, within a limit of memory or elsewhere, does not change the result.

    Parameters
    ----------
    paths : Paths, stream, files, table or lists
        What :func:`honlearn.read_paths` takes, or what it or :func:`honlearn.stream_paths` returned.
    order : int, default 2
        The highest order that a network can have from these counts.
    n_workers : int, default 1
        Threads that count, beside one that reads.
    memory : int or str, optional
        About how much counting may take, such as ``"500MB"``. Beyond it, rows of events and sorted counts go
        to temporary files (TMPDIR), and the arrays of the result are mapped from such files; windows of
        `order` + 1 entities that do not fit 128 bits are counted in memory.
    executor : int, str or concurrent.futures.Executor, optional
        Where parts of the files are read and counted: on so many local processes, on ``"ray"`` or
        ``"ray://…"``, on ``"dask"`` or the address of its scheduler, or on an executor of your own.
    **reader_options
        Options of :func:`honlearn.read_paths`, such as `sequence` and `entity`.

    Examples
    --------
    >>> paths = [["A", "C", "D"], ["B", "C", "E"]] * 5
    >>> count_grams(paths, memory="10MB").grow() == count_grams(paths).grow()
    True
    """
    order = checked_order("count_grams", order)
    source = counted_source(paths, n_workers, memory, executor, reader_options)
    if not is_here(executor):
        from honlearn.hon.partitioned import count_on

        with open_executor(executor) as pool:
            return GramCounts(*count_on(source, order, pool))
    return GramCounts(count_trie(source, order, n_workers, _bytes(memory)), source.vocabulary)


def checked_order(owner: str, order: int) -> int:
    """Return the order that was given to `owner`; raise for what is none."""
    return check_integer(owner, "order", order, 1, MAX_ORDER)


def _bytes(memory: int | str | None) -> int | None:
    return None if memory is None else parse_size("count_grams", "memory", memory, LEAST_MEMORY)


def counted_source(
    paths: Any, n_workers: int, memory: int | str | None, executor: Any, reader_options: Mapping[str, Any]
) -> Paths | PathStream:
    """Return the paths that are counted, once it is clear that they can be counted as asked."""
    n_workers = check_integer("count_grams", "n_workers", n_workers, 1)
    most = _bytes(memory)
    if not is_here(executor) and (n_workers != 1 or most is not None):
        other = f"n_workers={n_workers}" if n_workers != 1 else f"memory={memory!r}"
        raise ParameterError(f"{other} and executor={executor!r}: give one of the two")
    # A quarter for the rows of events that wait to be put in order; the rest is for the counts.
    return as_source(paths, memory=None if most is None else most // 4, **reader_options)


def grow(
    paths: Any,
    order: int | str = 2,
    tau: float | None = None,
    min_support: int | None = None,
    *,
    alpha: float | None = None,
    n_workers: int = 1,
    memory: int | str | None = None,
    executor: Any = None,
    **reader_options: Any,
) -> HigherOrderNetwork:
    """Return the higher-order network of observed paths.

    A context, such as "at C, coming from A", becomes a node ``C|A`` if it is a memory: if its next steps
    differ from those of its suffix (here: of C), or if a longer one needs it. Which contexts are kept:

    - By default those whose next steps differ significantly from those of the suffix without them, at a false
      discovery rate of `alpha` (:mod:`honlearn.hon.evidence`).
    - With `tau` or `min_support` (1.0 and 1 unless given), by GrowHON's rule: seen at least `min_support`
      times, and different by more bits than tau·(m − 1) / log2(1 + frequency), m being the context's length.
    - With `alpha` 1 all that something follows, at least `min_support` times if given: a fixed order.

    Parameters
    ----------
    paths : Paths, stream, files, table or lists
        The observed paths, as for :func:`honlearn.count_grams`.
    order : int or "auto", default 2
        Entities in the longest contexts. 1 gives the plain transition network; ``"auto"`` looks 4 entities
        back, and 8 if contexts of 4 are significant, and takes the order of the longest significant one.
    tau : float, optional
        Threshold of GrowHON's rule: the larger, the fewer contexts are kept.
    min_support : int, optional
        How often a context must have been seen to be kept.
    alpha : float, optional
        False discovery rate, 0.05 unless given: of the contexts kept, 5 % are expected to be false.
    n_workers, memory, executor
        How paths are counted, as for :func:`honlearn.count_grams`.
    **reader_options
        Options of :func:`honlearn.read_paths`, such as `sequence` and `entity`.

    Examples
    --------
    >>> network = grow([["A", "C", "D"], ["B", "C", "E"]] * 5, order=2)
    >>> list(network.nodes)
    ['A', 'B', 'C', 'D', 'E', 'C|A', 'C|B']
    >>> network.to_pandas().to_dict("split")["data"]
    [['A', 'C|A', 5], ['B', 'C|B', 5], ['C', 'D', 5], ['C', 'E', 5], ['C|A', 'D', 5], ['C|B', 'E', 5]]
    """
    ReaderOptions.check_names("grow", reader_options, signature(grow).parameters)
    if isinstance(order, int) and not is_here(executor):
        parameters = GrowParameters.of("grow", checked_order("grow", order), tau, min_support, alpha)
        source = counted_source(paths, n_workers, memory, executor, reader_options)
        from honlearn.hon.grow_on import grow_on

        with open_executor(executor) as pool:
            return grow_on(source, parameters, pool)
    how = {"n_workers": n_workers, "memory": memory, "executor": executor}
    counts = count_for(paths, order, tau, min_support, alpha=alpha, **how, **reader_options)
    return counts.grow(AUTO if order == AUTO else None, tau, min_support, alpha=alpha)


def count_for(
    paths: Any,
    order: int | str,
    tau: float | None = None,
    min_support: int | None = None,
    *,
    alpha: float | None = None,
    n_workers: int = 1,
    memory: int | str | None = None,
    executor: Any = None,
    **reader_options: Any,
) -> GramCounts:
    """Return the counts that :func:`grow` grows its network from; the parameters are the same."""
    GrowParameters.of("grow", 1, tau, min_support, alpha)
    if order == AUTO:
        rate = auto_alpha(tau, min_support, alpha)
        source = counted_source(paths, n_workers, memory, executor, reader_options)
        how: dict[str, Any] = {"n_workers": n_workers, "memory": memory}
        if is_here(executor):
            return _count_auto(source, rate, how)
        with open_executor(executor) as pool:
            return _count_auto(source, rate, {**how, "executor": pool})
    if isinstance(order, str):
        raise ParameterError(
            f"The 'order' parameter of grow must be a whole number or 'auto'. Got {order!r} instead."
        )
    return count_grams(paths, order, n_workers=n_workers, memory=memory, executor=executor, **reader_options)


def _count_auto(source: Paths | PathStream, alpha: float, how: Mapping[str, Any]) -> GramCounts:
    """Look further back while the contexts of the last order counted are significant."""
    if isinstance(source, PathStream) and source.once:
        source = collect(source)
    for look in LOOKS:
        counts = count_grams(source, look, **how)
        if counts.evidence().longest(alpha) < look:
            break
    return counts


def auto_alpha(tau: float | None, min_support: int | None, alpha: float | None) -> float:
    """Return the false discovery rate of ``order="auto"``; raise where another rule was asked for."""
    if tau is not None or min_support is not None or (alpha is not None and alpha >= 1):
        raise ParameterError(
            "The 'order' parameter of grow can be 'auto' only where evidence decides: leave out 'tau' and "
            "'min_support', and give an 'alpha' below 1, or give the order as a number."
        )
    return DEFAULT_ALPHA if alpha is None else alpha
