"""What counts tell: methods of :class:`GramCounts` whose work is done elsewhere.

In: the counts themselves. Out: next steps, scores of paths, steps that memory does not explain, a picture, a
file; counts with more paths, or without some steps. Each module is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from honlearn.errors import InputError, ParameterError, check_integer, listed

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from honlearn.hon.build import GramCounts
    from honlearn.hon.steps.model import PathScores, StepModel
    from honlearn.paths.pairs import Pairs


class CountQuestions:
    """Questions to counts, for the class that inherits them."""

    def __init__(self) -> None:
        self._steps: dict[int, StepModel] = {}

    @property
    def _counts(self) -> GramCounts:
        return cast("GramCounts", self)

    def steps(self, order: int | None = None) -> StepModel:
        """Return the smoothed model of the next step, of at most `order`, made once per order.

        See :mod:`honlearn.hon.steps`.

        Parameters
        ----------
        order : int, optional
            How many of the last entities a step may depend on; None is the highest order that was counted.
        """
        from honlearn.hon.steps.model import StepModel

        counts = self._counts
        order = check_integer("steps", "order", counts.order if order is None else order, 1, counts.order)
        if order not in self._steps:
            self._steps[order] = StepModel.of(counts, order)
        return self._steps[order]

    def next_steps(
        self, history: Iterable[object], top: int = 5, *, from_start: bool = True
    ) -> pandas.DataFrame:
        """Return the likeliest next steps after a history of names, the end of the path among them.

        Parameters
        ----------
        history : list of names
            A path so far, oldest entity first.
        top : int, default 5
            How many steps are returned, the likeliest first.
        from_start : bool, default True
            Whether the path starts with the history. False: it is the end of some longer path, of which
            nothing else is known.

        Examples
        --------
        >>> from honlearn.hon.build import count_grams
        >>> counts = count_grams([["A", "C", "D"], ["B", "C", "E"]] * 20, order=2)
        >>> counts.next_steps(["A", "C"], top=1)["step"].tolist()
        ['D']
        """
        if isinstance(history, (str, bytes)):
            raise InputError(f"a history is a list of names, oldest first. Got the text {history!r} instead.")
        history = list(history)
        return self.steps(self.order_for(history, from_start)).next_steps(history, top)

    def order_for(self, history: Sequence[object], from_start: bool) -> int:
        """Return the order of the model that a history is asked of: no longer than what is known of a path.

        A shorter context inside a model of a higher order is made for what the longer ones leave over
        (:mod:`honlearn.hon.steps.smoothing`), so what follows it in general is asked of a model of its order.

        Parameters
        ----------
        history : list of names
            A path so far, oldest entity first.
        from_start : bool
            Whether the path starts with the history.
        """
        if from_start:
            return self._counts.order
        if not history:
            raise InputError(
                "the end of a longer path has at least one entity; give one, or a path from its start"
            )
        return min(len(history), self._counts.order)

    def score(self, paths: Any, **reader_options: Any) -> PathScores:
        """Return the bits of each path and of each step; see :class:`honlearn.hon.steps.model.PathScores`.

        Parameters
        ----------
        paths
            Paths as :func:`honlearn.read_paths` takes them.
        **reader_options
            Options of :func:`honlearn.read_paths`.
        """
        return self._counts.steps().score(paths, **reader_options)

    def anomalies(self, order: int = 2, alpha: float = 0.05) -> pandas.DataFrame:
        """Return the steps that a memory of `order` − 1 does not explain, with false discovery rate `alpha`.

        See :func:`honlearn.hon.steps.edge_anomalies.edge_anomalies`.

        Parameters
        ----------
        order
            A step is compared with what the `order` − 1 entities before it let expect; at least 2.
        alpha
            False discovery rate of the steps that are returned.
        """
        from honlearn.hon.steps.edge_anomalies import edge_anomalies

        return edge_anomalies(self._counts.levels, self._counts.vocabulary, order, alpha)

    def plot_memory(self, top: int = 12, alpha: float = 0.05) -> Figure:
        """Return the contexts that tell most; see :func:`honlearn.hon.figures.plot_memory`.

        Parameters
        ----------
        top
            How many contexts are drawn.
        alpha
            False discovery rate of the contexts.
        """
        from honlearn.hon.figures import plot_memory

        return plot_memory(self._counts, top, alpha)

    def update(
        self,
        paths: Any,
        *,
        n_workers: int = 1,
        memory: int | str | None = None,
        executor: Any = None,
        **reader_options: Any,
    ) -> GramCounts:
        """Return the counts of these paths and more: what counting all of them at once gives.

        The counts themselves do not change.

        Parameters
        ----------
        paths : Paths, stream, files, table, lists or GramCounts
            The new paths, as for :func:`honlearn.count_grams`, or their counts of the same order.
        n_workers, memory, executor
            How they are counted, as for :func:`honlearn.count_grams`.
        **reader_options
            Options of :func:`honlearn.read_paths`.

        Examples
        --------
        >>> from honlearn.hon.build import count_grams, grow
        >>> counts = count_grams([["A", "C", "D"]] * 5).update([["B", "C", "E"]] * 5)
        >>> counts.grow() == grow([["A", "C", "D"]] * 5 + [["B", "C", "E"]] * 5)
        True
        """
        from honlearn.hon.build import GramCounts, count_grams
        from honlearn.hon.merge import join_vocabularies, merge_tries

        counts, more = self._counts, paths
        how = {"n_workers": n_workers, "memory": memory, "executor": executor}
        if not isinstance(more, GramCounts):
            more = count_grams(paths, counts.order, **how, **reader_options)
        elif given := [name for name, value in how.items() if value not in (None, 1)] + list(reader_options):
            raise ParameterError(f"update: these are counts already; leave out {listed(given)}")
        if more.order != counts.order:
            raise InputError(
                f"counts of order {more.order} cannot be added to those of order {counts.order}; count both "
                "for the same order"
            )
        vocabulary, codes = join_vocabularies(counts.vocabulary, more.vocabulary)
        return GramCounts(merge_tries(counts.levels, more.levels, codes, len(vocabulary)), vocabulary)

    def without(self, pairs: Pairs) -> GramCounts:
        """Return the counts without every gram that holds a step between the ends of a pair, either way.

        They are the counts of the paths cut at these steps, without a new count; see
        :func:`honlearn.hon.without_pairs.trie_without`.

        Parameters
        ----------
        pairs : array of int32 [m, 2]
            Codes of the two ends in ``vocabulary``, one pair per row.

        Examples
        --------
        >>> from honlearn.hon.build import count_grams
        >>> counts = count_grams([["A", "C", "D"], ["B", "C", "E"]] * 5, order=2)
        >>> hidden = counts.vocabulary.codes(["C", "A"]).reshape(-1, 2)
        >>> list(counts.without(hidden).grow(alpha=1).nodes)
        ['B', 'C', 'D', 'E', 'C|B']
        """
        from honlearn.hon.build import GramCounts
        from honlearn.hon.without_pairs import trie_without

        return GramCounts(trie_without(self._counts.levels, pairs), self._counts.vocabulary)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the counts to a file; :func:`honlearn.load_counts` reads it back.

        Parameters
        ----------
        path : str or path
            A file that ends in ``.counts``.
        """
        from honlearn.hon.counts_file import write_counts

        write_counts(self._counts, path)
