"""What counts tell: methods of :class:`GramCounts` whose work is done elsewhere.

In: the counts themselves. Out: scores of paths, steps that memory does not explain, a picture. Each module is
imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from honlearn.hon.build import GramCounts
    from honlearn.hon.steps.model import PathScores


class CountQuestions:
    """Questions to counts, for the class that inherits them."""

    @property
    def _counts(self) -> GramCounts:
        return cast("GramCounts", self)

    def score(self, paths: Any, **reader_options: Any) -> PathScores:
        """Return the bits of each path and of each step; see :class:`honlearn.hon.steps.model.PathScores`.

        Parameters
        ----------
        paths : paths as :func:`honlearn.read_paths` takes them.
        **reader_options : options of :func:`honlearn.read_paths`.
        """
        return self._counts.steps().score(paths, **reader_options)

    def anomalies(self, order: int = 2, alpha: float = 0.05) -> pandas.DataFrame:
        """Return the steps that a memory of `order` − 1 does not explain, with false discovery rate `alpha`.

        See :func:`honlearn.hon.steps.edge_anomalies.edge_anomalies`.

        Parameters
        ----------
        order : entities that a context may have at most; None for all that were counted.
        alpha : false discovery rate.
        """
        from honlearn.hon.steps.edge_anomalies import edge_anomalies

        return edge_anomalies(self._counts.levels, self._counts.vocabulary, order, alpha)

    def plot_memory(self, top: int = 12, alpha: float = 0.05) -> Figure:
        """Return the contexts that tell most; see :func:`honlearn.hon.figures.plot_memory`.

        Parameters
        ----------
        top : how many contexts are drawn.
        alpha : false discovery rate of the contexts.
        """
        from honlearn.hon.figures import plot_memory

        return plot_memory(self._counts, top, alpha)
