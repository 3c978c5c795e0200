from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_cases import FIGURE, Edges, edge_lists, names, network

from honlearn.errors import InputError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.invariants import check_canonical


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists(names()), st.randoms())
def test_edges_come_back_whatever_their_order(edges: Edges, random: Any) -> None:
    hon = network(edges)
    check_canonical(hon)
    frame = hon.to_pandas()
    assert dict(zip(zip(frame.source, frame.target, strict=True), frame.weight, strict=True)) == edges
    shuffled = list(edges.items())
    random.shuffle(shuffled)
    assert network(dict(shuffled)) == hon


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists())
def test_nodes_are_the_labels_and_every_entity(edges: Edges) -> None:
    hon = network(edges)
    labels = {label for pair in edges for label in pair}
    entities = sorted({part for label in labels for part in label.split("|")})
    conditional = sorted(
        (label for label in labels if "|" in label), key=lambda x: (x[0], x.count("|"), x.split("|"))
    )
    assert list(hon.nodes) == entities + conditional
    assert [hon.index(label) for label in hon.nodes] == list(range(hon.n_nodes))
    assert [hon.nodes[i] for i in range(hon.n_nodes)] == list(hon.nodes)


@pytest.mark.parametrize(
    "column",
    [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.array(x).dictionary_encode(), iter],
    ids=["list", "numpy", "pandas", "polars", "arrow", "dictionary", "iterator"],
)
def test_any_kind_of_column(column: Any) -> None:
    columns = ([a for a, _ in FIGURE], [b for _, b in FIGURE], list(FIGURE.values()))
    assert from_edges(*(column(x) for x in columns)) == network(FIGURE)


def test_labels_of_other_types_are_taken_by_their_text() -> None:
    assert list(from_edges([1, 10], [2, 1]).nodes) == ["1", "10", "2"]


def test_names_are_sorted_by_their_bytes() -> None:
    assert list(from_edges(["é", "z", "Z"], ["😀", "\uffee", "é"]).nodes) == ["Z", "z", "é", "\uffee", "😀"]


def test_whole_weights_are_exact_integers_and_others_stay_fractions() -> None:
    assert from_edges(["A"], ["B"], [2.0]).weights.dtype == np.int64
    assert from_edges(["A", "B"], ["B", "A"], [2.0, 0.5]).weights.tolist() == [2.0, 0.5]
    assert from_edges(["A"], ["B"], [2**62 + 1]).weights.tolist() == [2**62 + 1]


@pytest.mark.parametrize(
    ("source", "target", "weight", "message"),
    [
        (["A", "A"], ["B", "B"], [1, 2], "edge 1: the edge 'A' → 'B' is there twice"),
        (["A", ""], ["B", "C"], [1, 2], "edge 1: an empty id; every entity needs a name"),
        (["A", "B"], ["B", "C||A"], [1, 2], "edge 1: the label 'C||A' has an empty part"),
        (["A", "B"], ["|B", "C"], [1, 2], "edge 0: the label '|B' has an empty part"),
        (["A", None], ["B", "C"], [1, 2], "edge 1: no source"),
        (["A", "B"], ["B", float("nan")], [1, 2], "edge 1: no target"),
        (["A", pd.NA], ["B", "C"], [1, 2], "edge 1: no source"),
        (["A", "B"], ["B", "C"], [1, -2], "edge 1: weight -2; an edge's weight is a finite number above 0"),
        (["A", "B"], ["B", "C"], [0, 2], "edge 0: weight 0"),
        (["A", "B"], ["B", "C"], [1, float("nan")], "edge 1: weight nan"),
        (["A", "B"], ["B", "C"], pa.array([1, None]), "edge 1: weight nan"),
        (["A", "B"], ["B", "C"], [1, float("inf")], "edge 1: weight inf"),
        (["A", "B"], ["B", "C"], ["x", "y"], "weights are numbers above 0"),
        (["A", "B"], ["B", "C"], [True, True], "holds bool; weights are numbers"),
        (["A", "B"], ["B", "C"], np.array([1, 2**63], np.uint64), "does not fit in 64 bits"),
        (["A", "B"], ["B"], [1, 2], "2 sources but 1 targets"),
        (["A", "B"], ["B", "C"], [1], "2 edges but 1 weights"),
        (["A", "\ud800"], ["B", "C"], [1, 2], "not valid Unicode"),
    ],
)
def test_bad_edges_are_refused(source: Any, target: Any, weight: Any, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        from_edges(source, target, weight)


def test_columns_in_pieces_are_the_same() -> None:
    source = pa.chunked_array([["A"], [], ["B", "C|A"], ["A"]], pa.string())
    target = pa.chunked_array([["C|A", "A"], ["D"], ["D"]], pa.string())
    whole = from_edges(["A", "B", "C|A", "A"], ["C|A", "A", "D", "D"], [1, 2, 3, 4])
    assert from_edges(source, target, [1, 2, 3, 4]) == whole
    pieces = pa.chunked_array([chunk.dictionary_encode() for chunk in source.chunks])
    assert from_edges(pieces, target, pa.chunked_array([[1, 2], [3, 4]])) == whole
