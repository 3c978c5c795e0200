"""Other forms of a network: methods of :class:`HigherOrderNetwork` whose work is done elsewhere.

In: the network itself. Out: tables of contexts and sizes, walks, a file, graphs of other libraries. Each
module is imported when it is asked for.
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

    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.hon.summary import NodeClasses
    from honlearn.hon.walks import Walks


class NetworkViews:
    """Tables, files and graphs, for the network that inherits them."""

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
