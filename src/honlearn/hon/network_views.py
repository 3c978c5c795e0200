"""Other forms of a network: methods of :class:`HigherOrderNetwork` whose work is done elsewhere.

In: the network itself. Out: tables of contexts, sizes, ranks, visits and modules, walks and paths, a picture,
a file, graphs of other libraries. Each module is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import networkx
    import pandas
    import polars
    import pyarrow
    import scipy.sparse
    from matplotlib.figure import Figure

    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.hon.summary import NodeClasses
    from honlearn.hon.walks import Walks
    from honlearn.paths.paths import Paths


class NetworkViews:
    """Tables, walks, files and graphs, for the network that inherits them."""

    @property
    def _network(self) -> HigherOrderNetwork:
        return cast("HigherOrderNetwork", self)

    def dependencies(self, top: int | None = None, shifts: int = 3) -> pandas.DataFrame:
        """Return the kept contexts, strongest first; columns are told in :mod:`honlearn.hon.dependencies`.

        Parameters
        ----------
        top : int, optional
            How many contexts are returned; None returns all.
        shifts : int, default 3
            How many next steps are told of each context, those whose probability it changes most.
        """
        from honlearn.hon.dependencies import dependencies

        return dependencies(self._network, top, shifts)

    def summary(self, labels: NodeClasses | None = None) -> pandas.DataFrame:
        """Return the columns of the paper's Table 1 for this network; see :mod:`honlearn.hon.summary`.

        Parameters
        ----------
        labels : mapping, pair (nodes, classes) or CSV file, optional
            Classes of entities; with them the table tells the number of classes and the homophily of edges.
        """
        from honlearn.hon.summary import summary

        return summary(self._network, labels)

    def random_walks(self, starts: int | Iterable[object], length: int, seed: int | None = None) -> Walks:
        """Return walks that follow edges in proportion to their weights.

        Parameters
        ----------
        starts : int or list of labels
            The node that each walk starts from; or how many walks there are: these start at base nodes, drawn
            by weighted out-degree.
        length : int
            Nodes of a walk, its start included.
        seed : int, optional
            Decides the walks; None draws a seed.
        """
        from honlearn.hon.walks import random_walks

        return random_walks(self._network, starts, length, seed)

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

    def save(self, path: str | PathLike[str]) -> None:
        """Write the network to a file.

        Parameters
        ----------
        path : str or path
            Its extension names the format: ``.hon``, ``.txt``, ``.parquet``, ``.net``, ``.graphml`` or
            ``.gexf``.
        """
        from honlearn.hon.formats import save

        save(self._network, path)

    def to_networkx(self) -> networkx.DiGraph:
        """Return a NetworkX DiGraph over labels."""
        from honlearn.hon.interop import to_networkx

        return to_networkx(self._network)

    def to_pyg(self) -> Any:
        """Return a PyTorch Geometric ``Data``."""
        from honlearn.hon.interop import to_pyg

        return to_pyg(self._network)

    def to_scipy(self) -> scipy.sparse.csr_array:
        """Return the weighted adjacency as a SciPy CSR array [N, N]."""
        from honlearn.hon.interop import to_scipy

        return to_scipy(self._network)

    def to_arrow(self) -> pyarrow.Table:
        """Return the edges as an Arrow table: source, target, weight."""
        from honlearn.hon.interop import to_arrow

        return to_arrow(self._network)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the edges as a pandas table: source, target, weight."""
        from honlearn.hon.interop import to_pandas

        return to_pandas(self._network)

    def to_polars(self) -> polars.DataFrame:
        """Return the edges as a Polars table: source, target, weight."""
        from honlearn.hon.interop import to_polars

        return to_polars(self._network)
