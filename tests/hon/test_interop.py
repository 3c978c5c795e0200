from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from network_cases import FIGURE, Edges, edge_lists, names, network

from honlearn.hon.edgelist import from_edges


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists(names()))
def test_tables_hold_the_edges_and_lead_back(edges: Edges) -> None:
    hon = network(edges)
    for table in (hon.to_arrow(), hon.to_pandas(), hon.to_polars()):
        assert from_edges(table["source"], table["target"], table["weight"]) == hon
    rows = hon.to_arrow().to_pylist()
    assert {(row["source"], row["target"]): row["weight"] for row in rows} == edges
    assert hon.to_polars().columns == hon.to_pandas().columns.tolist() == ["source", "target", "weight"]
    assert isinstance(hon.to_polars(), pl.DataFrame)


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists(names()))
def test_networkx_holds_labels_bases_and_weights(edges: Edges) -> None:
    hon = network(edges)
    graph = hon.to_networkx()
    assert {(a, b): w for a, b, w in graph.edges(data="weight")} == edges
    assert list(graph.nodes) == list(hon.nodes)
    for label, data in graph.nodes(data=True):
        assert data == {"base": label.split("|")[0], "order": label.count("|") + 1}


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists())
def test_scipy_is_the_weighted_adjacency(edges: Edges) -> None:
    hon = network(edges)
    matrix = hon.to_scipy()
    dense = matrix.toarray()
    assert {(hon.nodes[int(i)], hon.nodes[int(j)]): dense[i, j] for i, j in np.argwhere(dense)} == edges
    matrix.data[:] = 7  # the matrix is the caller's own
    assert network(edges) == hon


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_pyg_data() -> None:
    hon = network(FIGURE)
    data = hon.to_pyg()
    assert data.num_nodes == 7
    assert data.names == list(hon.nodes)
    assert data.base.tolist() == hon.base.tolist()
    assert data.order.tolist() == hon.order.tolist()
    ends = [[data.names[i] for i in row] for row in data.edge_index.tolist()]
    assert dict(zip(zip(*ends, strict=True), data.edge_weight.tolist(), strict=True)) == FIGURE
    assert data.x is None
    assert data.validate()


def test_no_torch_before_it_is_asked_for() -> None:
    code = """if True:
        import sys
        from honlearn.hon.edgelist import from_edges
        hon = from_edges(["A", "B|A"], ["B|A", "C"])
        hon.to_pandas(), hon.to_networkx(), hon.to_scipy(), hon.to_polars()
        hon.dependencies(), hon.summary(), hon.random_walks(3, 3), hon._repr_html_()
        sys.exit("torch" in sys.modules)
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
