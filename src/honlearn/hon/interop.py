"""A network as the objects of other libraries: Arrow, pandas, Polars, SciPy, NetworkX, PyTorch Geometric.

In: a :class:`HigherOrderNetwork`. Out: the other library's own type, with labels where it has names. Each
library is imported when asked for. The way back is :func:`honlearn.from_edges`, for columns of labels, and
:func:`honlearn.from_networkx`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import HonlearnError
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import SEPARATOR
from honlearn.paths.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx
    import pandas
    import polars
    import pyarrow
    import scipy.sparse


def label_array(
    vocabulary: Vocabulary, gram_offsets: NDArray[np.int64], grams: NDArray[np.int32]
) -> pyarrow.Array:
    """Return the labels of nodes as an Arrow string array, made without Python strings."""
    import pyarrow as pa
    import pyarrow.compute as pc

    buffers = [None, pa.py_buffer(np.ascontiguousarray(vocabulary.offsets)), pa.py_buffer(vocabulary.data)]
    names = pa.Array.from_buffers(pa.large_string(), len(vocabulary), buffers)
    parts = pa.LargeListArray.from_arrays(pa.array(gram_offsets), names.take(pa.array(grams)))
    return pc.binary_join(parts, pa.scalar(SEPARATOR, pa.large_string()))


def to_arrow(network: HigherOrderNetwork) -> pyarrow.Table:
    """Return the edges as an Arrow table with the columns source, target (labels) and weight."""
    import pyarrow as pa

    labels = label_array(network.vocabulary, network.gram_offsets, network.grams)
    columns = {
        "source": labels.take(pa.array(network.sources)),
        "target": labels.take(pa.array(network.indices)),
        "weight": pa.array(network.weights),
    }
    return pa.table(columns)


def to_pandas(network: HigherOrderNetwork) -> pandas.DataFrame:
    """Return the edges as a pandas table with the columns source, target (labels) and weight."""
    import pandas as pd

    labels = np.asarray(network.nodes, dtype=object)
    columns = {"source": labels[network.sources], "target": labels[network.indices]}
    return pd.DataFrame({**columns, "weight": np.array(network.weights)})


def to_polars(network: HigherOrderNetwork) -> polars.DataFrame:
    """Return the edges as a Polars table with the columns source, target (labels) and weight."""
    try:
        import polars
    except ImportError:
        raise HonlearnError(
            "to_polars needs the package polars; install it with: pip install 'honlearn[polars]'"
        ) from None
    frame = polars.from_arrow(to_arrow(network))
    assert isinstance(frame, polars.DataFrame)
    return frame


def to_scipy(network: HigherOrderNetwork) -> scipy.sparse.csr_array:
    """Return the weighted adjacency [N, N] as a SciPy CSR array of its own memory."""
    import scipy.sparse

    arrays = (network.weights.copy(), network.indices.copy(), network.indptr.copy())
    return scipy.sparse.csr_array(arrays, shape=(network.n_nodes, network.n_nodes))


def to_networkx(network: HigherOrderNetwork) -> networkx.DiGraph:
    """Return a NetworkX DiGraph over labels; nodes carry base (a name) and order, edges weight."""
    import networkx

    graph = networkx.DiGraph()
    labels, names = network.nodes.all, network.vocabulary.names
    attributes = zip(labels, network.base.tolist(), network.order.tolist(), strict=True)
    graph.add_nodes_from((label, {"base": names[base], "order": order}) for label, base, order in attributes)
    edges = zip(network.sources.tolist(), network.indices.tolist(), network.weights.tolist(), strict=True)
    graph.add_weighted_edges_from((labels[a], labels[b], weight) for a, b, weight in edges)
    return graph


def to_pyg(network: HigherOrderNetwork) -> Any:
    """Return a PyTorch Geometric ``Data``: edge_index, edge_weight (float32), base, order, names; no x.

    ``data.base`` and ``data.order`` are int64 [N]; ``data.names`` is the list of labels. Features are the
    user's to choose.
    """
    import torch
    from torch_geometric.data import Data

    ends = np.stack([network.sources, network.indices]).astype(np.int64)
    return Data(
        edge_index=torch.from_numpy(ends),
        edge_weight=torch.from_numpy(network.weights.astype(np.float32)),
        base=torch.from_numpy(network.base.astype(np.int64)),
        order=torch.from_numpy(network.order.astype(np.int64)),
        num_nodes=network.n_nodes,
        names=list(network.nodes),
    )
