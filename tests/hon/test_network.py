from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from network_cases import FIGURE, Edges, edge_lists, network

import honlearn as hl
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.formats import load_network
from honlearn.hon.invariants import check_canonical
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import ContextStatistics, GrowParameters
from honlearn.paths.vocabulary import Vocabulary


def with_statistics() -> HigherOrderNetwork:
    hon = network(FIGURE)
    known = ContextStatistics(
        np.array([3, 1]), np.array([0.415, 2.0]), np.array([0.5, 1.0]), np.array([False, True])
    )
    arrays = (hon.gram_offsets, hon.grams, hon.indptr, hon.indices, hon.weights)
    return HigherOrderNetwork(hon.vocabulary, *arrays, known, GrowParameters(2, 1.0, 1))


def test_the_papers_figure() -> None:
    hon = network(FIGURE)
    assert (hon.n_entities, hon.n_nodes, hon.n_conditional, hon.n_edges, hon.max_order) == (5, 7, 2, 6, 2)
    assert hon.nodes == ["A", "B", "C", "D", "E", "C|A", "C|B"]
    assert [hon.vocabulary[code] for code in hon.base] == ["A", "B", "C", "D", "E", "C", "C"]
    assert hon.order.tolist() == [1, 1, 1, 1, 1, 2, 2]
    assert hon.family("C") == hon.family("C|B") == ("C", "C|A", "C|B")
    assert hon.neighbors("C") == {"D": 3, "E": 1}
    assert hon.neighbors("D", direction="in") == {"C": 3, "C|A": 3}
    assert hon.transition("C") == {"D": 0.75, "E": 0.25}
    assert hon.transition("A") == {"C|A": 1.0}
    assert hon.transition("A", collapse=True) == {"C": 1.0}
    assert hon.transition("D") == {}
    assert hon.relatives("C") == {"C": 0.5, "C|A": 0.375, "C|B": 0.125}
    assert hon.relatives("D") == {"D": 1.0}
    assert hon.out_weight.tolist() == [3, 1, 4, 0, 0, 3, 1]
    assert hon.in_weight.tolist() == [0, 0, 0, 6, 2, 3, 1]
    assert "C|A" in hon
    assert "C|D" not in hon
    assert "Z" not in hon


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists())
def test_in_edges_are_the_out_edges_turned_round(edges: Edges) -> None:
    hon = network(edges)
    turned = {
        (hon.nodes[int(source)], hon.nodes[node]): weight
        for node in range(hon.n_nodes)
        for source, weight in zip(
            hon.in_indices[hon.in_indptr[node] : hon.in_indptr[node + 1]],
            hon.in_weights[hon.in_indptr[node] : hon.in_indptr[node + 1]],
            strict=True,
        )
    }
    assert turned == edges
    for node in range(hon.n_nodes):
        row = hon.in_indices[hon.in_indptr[node] : hon.in_indptr[node + 1]]
        assert (np.diff(row) > 0).all()


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists())
def test_families_are_a_partition_and_equation_3_sums_to_one_in_each(edges: Edges) -> None:
    hon = network(edges)
    assert sorted(hon.family_indices.tolist()) == list(range(hon.n_nodes))
    probability = hon.relative_probabilities()
    for entity in range(hon.n_entities):
        members = hon.family_indices[hon.family_indptr[entity] : hon.family_indptr[entity + 1]]
        assert members[0] == entity
        assert (hon.base[members] == entity).all()
        assert probability[members].sum() == pytest.approx(1.0)
        name = hon.vocabulary[entity]
        assert hon.family(name) == tuple(hon.nodes[int(node)] for node in members)
        assert list(hon.relatives(name).values()) == pytest.approx(probability[members].tolist())
        out = hon.out_weight[members]
        if out.sum():
            assert probability[members].tolist() == pytest.approx((out / out.sum()).tolist())
        else:
            assert probability[members].tolist() == [1.0] + [0.0] * (len(members) - 1)


@settings(deadline=None)  # the first example imports and compiles
@given(edge_lists(fractions=False))
def test_first_order_collapses_the_rows_of_the_base_nodes(edges: Edges) -> None:
    collapsed: Edges = {}
    for (source, target), weight in edges.items():
        if "|" not in source:
            pair = source, target.split("|")[0]
            collapsed[pair] = collapsed.get(pair, 0) + weight
    first = network(edges).first_order()
    check_canonical(first)
    frame = first.to_pandas()
    assert dict(zip(zip(frame.source, frame.target, strict=True), frame.weight, strict=True)) == collapsed


def test_everything_is_read_only() -> None:
    hon = with_statistics()
    arrays = ["gram_offsets", "grams", "indptr", "indices", "weights", "base", "order", "family_indptr"]
    arrays += [
        "family_indices",
        "in_indptr",
        "in_indices",
        "in_weights",
        "out_weight",
        "in_weight",
        "sources",
    ]
    for name in arrays:
        with pytest.raises(ValueError, match="read-only"):
            getattr(hon, name)[0] = 1
    assert hon.statistics is not None
    with pytest.raises(ValueError, match="read-only"):
        hon.statistics.divergence[0] = 1
    with pytest.raises(AttributeError, match="immutable; 'weights' cannot be set"):
        hon.weights = hon.weights
    with pytest.raises(AttributeError, match="immutable; 'weights' cannot be deleted"):
        del hon.weights


def test_a_value_is_equal_by_content_copied_by_reference_and_pickled_whole() -> None:
    hon = with_statistics()
    assert hon == network(FIGURE)
    assert hon != network({**FIGURE, ("A", "C|A"): 4})
    assert hon != network({**FIGURE, ("D", "A"): 1})
    assert hon != network({(a.replace("E", "F"), b.replace("E", "F")): w for (a, b), w in FIGURE.items()})
    assert hon != "a network"
    assert copy.copy(hon) is hon
    assert copy.deepcopy(hon) is hon
    back = pickle.loads(pickle.dumps(hon))
    assert back == hon
    assert back.statistics == hon.statistics
    assert back.parameters == GrowParameters(2, 1.0, 1)
    assert not back.weights.flags.writeable
    with pytest.raises(TypeError, match="unhashable"):
        hash(hon)


def test_labels_are_built_on_use() -> None:
    hon = network(FIGURE)
    assert hon.nodes[-1] == hon.nodes[np.int64(6)] == "C|B"
    assert hon.nodes[4:6] == ("E", "C|A")
    assert hon.index("C|B") == 6
    assert "all" not in vars(hon.nodes)
    assert np.asarray(hon.nodes).tolist() == list(hon.nodes)
    with pytest.raises(IndexError, match="node 7 of 7"):
        hon.nodes[7]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("atl", "no node 'atl': no entity 'atl' among 3; did you mean 'ATL'?"),
        ("ATL|OR", "no node 'ATL|OR': no entity 'OR' among 3; did you mean 'ORD'?"),
        ("ATL|JFK", "no node 'ATL|JFK'; the family of 'ATL' is ATL, ATL|ORD; did you mean"),
        (
            "ATL|ORD|JFK",
            "no node 'ATL|ORD|JFK'; the family of 'ATL' is ATL, ATL|ORD; did you mean 'ATL|ORD'?",
        ),
    ],
)
def test_an_unknown_node_gets_a_suggestion(label: str, message: str) -> None:
    hon = from_edges(["ORD", "ATL|ORD"], ["ATL|ORD", "JFK"])
    with pytest.raises(UnknownNodeError, match=re.escape(message)):
        hon.index(label)


def test_whole_numbers_find_their_nodes_also_as_floats() -> None:
    # As a pandas column has them beside a missing one.
    hon = from_edges([1, 2, "2|1"], [2, 3, 3])
    assert hon.index(2.0) == hon.index("2")
    assert 2.0 in hon
    assert 2.5 not in hon
    assert hon.family(2.0) == ("2", "2|1")
    assert hon.relatives(np.float64(2)) == hon.relatives(2)


def test_a_direction_is_out_or_in() -> None:
    with pytest.raises(ParameterError, match="'direction' parameter of neighbors must be one of"):
        network(FIGURE).neighbors("A", direction="both")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grams": [0, 1, 2, 3, 4, 2, 0, 2, 9]}, "'grams' is not valid: values from 0 to 9, expected 0 to 4"),
        ({"grams": [0, 1, 2, 3, 4, 2, 0, 2, -1]}, "'grams' is not valid: values from -1"),
        ({"grams": [0, 1, 2, 4, 3, 2, 0, 2, 1]}, "base node i must be entity i"),
        (
            {"gram_offsets": [0, 1, 2, 3, 4, 5, 7]},
            "'gram_offsets' is not valid: offsets must run from 0 to 9",
        ),
        ({"gram_offsets": [0, 1, 2, 3, 4, 5, 8, 9]}, "a conditional node has at least two entities"),
        ({"gram_offsets": [0, 1, 2, 3, 5, 5, 7, 9]}, "the first 5 nodes must be the base nodes"),
        ({"indptr": [0, 1, 2, 4, 4, 4, 6]}, "'indptr' is not valid: 6 rows for 7 nodes"),
        ({"indptr": [0, 1, 2, 4, 3, 4, 5, 6]}, "'indptr' is not valid: offsets must not decrease"),
        ({"indices": [5, 6, 3, 4, 3, 7]}, "'indices' is not valid: values from 3 to 7, expected 0 to 6"),
        ({"indices": [5, 6, 4, 3, 3, 4]}, "targets must ascend within a row"),
        ({"indices": [5, 6, 3, 4, 3, 2**32]}, "indices must fit 32 bits. Got 3 to 4294967296 instead"),
        ({"grams": [0, 1, 2, 3, 4, 2, 0.5, 2, 1]}, "grams must be whole numbers. Got values of type float64"),
        ({"weights": [3, 1, 3, 1, 3]}, "'weights' is not valid: 5 weights for 6 edges"),
        ({"weights": [3, 1, 3, 1, 3, 0]}, "every weight must be a finite number above 0"),
        ({"weights": [3, 1, 3, 1, 3, np.nan]}, "every weight must be a finite number above 0"),
        ({"statistics": ContextStatistics(*np.ones((4, 3)))}, "'statistics' is not valid: 3 rows for 2"),
    ],
)
def test_arrays_that_no_network_has_are_refused(change: dict[str, Any], message: str) -> None:
    hon = network(FIGURE)
    names = ("gram_offsets", "grams", "indptr", "indices", "weights")
    arrays = {name: getattr(hon, name) for name in names} | {
        k: np.array(v) if isinstance(v, list) else v for k, v in change.items()
    }
    with pytest.raises(InputError, match=re.escape(message)):
        HigherOrderNetwork(hon.vocabulary, **arrays)


def test_canonical_order_can_be_checked() -> None:
    hon = network(FIGURE)
    arrays = (hon.indptr, hon.indices, hon.weights)
    swapped = HigherOrderNetwork(
        hon.vocabulary, hon.gram_offsets, np.array([0, 1, 2, 3, 4, 2, 1, 2, 0]), *arrays
    )
    with pytest.raises(InputError, match="sorted by base, order and predecessors"):
        check_canonical(swapped)
    names = Vocabulary.from_names("BACDE")
    with pytest.raises(InputError, match="sorted by their UTF-8 bytes"):
        check_canonical(HigherOrderNetwork(names, hon.gram_offsets, hon.grams, *arrays))


def test_nodes_that_no_edge_has_are_not_canonical() -> None:
    hon = network(FIGURE)
    left = np.flatnonzero((hon.sources < hon.n_nodes - 1) & (hon.indices < hon.n_nodes - 1))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(hon.sources[left], minlength=hon.n_nodes))])
    arrays = (hon.gram_offsets, hon.grams, indptr, hon.indices[left], hon.weights[left])
    with pytest.raises(InputError, match="a conditional node is in no edge"):
        check_canonical(HigherOrderNetwork(hon.vocabulary, *arrays))
    two = from_edges(["A", "C"], ["B", "A"])
    arrays = (two.gram_offsets, two.grams, np.array([0, 1, 1, 1]), two.indices[:1], two.weights[:1])
    with pytest.raises(InputError, match="entity 'C' is in no edge"):
        check_canonical(HigherOrderNetwork(two.vocabulary, *arrays))


def test_statistics_have_one_value_a_node() -> None:
    with pytest.raises(InputError, match="divergence has shape"):
        ContextStatistics(np.ones(2), np.ones(3), np.ones(2), np.ones(2))


def test_a_network_without_edges() -> None:
    empty = from_edges([], [])
    assert (empty.n_nodes, empty.n_edges, empty.max_order) == (0, 0, 1)
    assert empty.first_order() == empty
    assert len(empty.dependencies()) == 0
    assert "0 entities" in empty._repr_html_()


def test_html_escapes_names() -> None:
    edges = {("<b>", "C|<b>"): 3, ("C|<b>", '"&'): 3, ("C", '"&'): 3, ("C", "D"): 2}
    page = network(edges)._repr_html_()
    assert "<b>" not in page
    assert "C|&lt;b&gt;" in page
    assert "&quot;&amp; 0.60 → 1.00" in page
    assert "order 2, tau 1, min support 1" in with_statistics()._repr_html_()
    unpruned = hl.grow([["A", "C", "D"], ["B", "C", "E"]], alpha=1)
    assert "order 2, every context" in unpruned._repr_html_()


def test_the_published_graphs(shared: Path) -> None:
    wiki1 = load_network(shared / "data/paper_graphs/wiki1.txt")
    wiki2 = load_network(shared / "data/paper_graphs/wiki2.txt")
    air1 = load_network(shared / "data/paper_graphs/air1.txt")
    assert (wiki1.n_nodes, wiki1.n_edges, wiki1.weights.sum()) == (4179, 70662, 399880)
    assert (wiki2.n_nodes, wiki2.n_edges, wiki2.weights.sum()) == (5584, 84806, 421816)
    assert (wiki2.n_entities, wiki2.max_order) == (4179, 2)
    assert (air1.n_nodes, air1.n_edges) == (416, 13735)
    assert wiki2.first_order() == wiki1
    check_canonical(wiki2)
