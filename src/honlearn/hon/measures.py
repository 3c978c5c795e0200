"""What a network tells about its flow: methods of :class:`HigherOrderNetwork` whose work is done elsewhere.

In: the network itself. Out: tables of ranks, visits and modules, paths that it makes, and a picture. Each
module is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.paths.paths import Paths


class NetworkMeasures:
    """Measures of flow, for the network that inherits them."""

    @property
    def _network(self) -> HigherOrderNetwork:
        return cast("HigherOrderNetwork", self)

    def simulate(
        self, n: int, seed: int | None = None, *, length: int = 10, like: Paths | None = None
    ) -> Paths:
        """Return `n` paths that the network makes; see :func:`honlearn.hon.walks.simulate`.

        Parameters
        ----------
        n
            Number of paths.
        seed
            Decides the walks; None draws a seed.
        length
            Entities of a path, its start included.
        like
            Paths whose starts and lengths are drawn in place of `length`.
        """
        from honlearn.hon.walks import simulate

        return simulate(self._network, n, seed, length=length, like=like)

    def pagerank(self, damping: float = 0.85, *, by: str = "entity", **options: Any) -> pandas.DataFrame:
        """Return the PageRank of entities, or of nodes; see :func:`honlearn.hon.flow.pagerank`.

        Parameters
        ----------
        damping
            Probability that a walker goes on along an edge.
        by
            ``"entity"`` or ``"node"``, one row for each.
        **options
            Limits of the iteration.
        """
        from honlearn.hon.flow import pagerank

        return pagerank(self._network, damping, by=by, **options)

    def visits(self, damping: float = 0.85, *, by: str = "entity", **options: Any) -> pandas.DataFrame:
        """Return the shares of visits along edges; see :func:`honlearn.hon.flow.visits`.

        Parameters
        ----------
        damping
            Probability that a walker goes on along an edge.
        by
            ``"entity"`` or ``"node"``, one row for each.
        **options
            Limits of the iteration.
        """
        from honlearn.hon.flow import visits

        return visits(self._network, damping, by=by, **options)

    def communities(self, *, by: str = "entity", seed: int | None = 0, trials: int = 5) -> pandas.DataFrame:
        """Return the modules that Infomap finds; see :func:`honlearn.hon.communities.communities`.

        Parameters
        ----------
        by
            ``"entity"`` or ``"node"``, one row for each.
        seed
            Decides the search for modules.
        trials
            How often the search is repeated; the best is taken.
        """
        from honlearn.hon.communities import communities

        return communities(self._network, by=by, seed=seed, trials=trials)

    def plot(self, entity: str, top: int = 6) -> Figure:
        """Return where one came from and goes to at an entity; see :func:`honlearn.hon.figures.plot_flow`.

        Parameters
        ----------
        entity
            Whose flow is drawn.
        top
            How many memories and next entities have a band of their own.
        """
        from honlearn.hon.figures import plot_flow

        return plot_flow(self._network, entity, top)
