from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from network_cases import FIGURE, Edges, edge_lists, network
from scipy.stats import chisquare

from honlearn.errors import InputError, ParameterError, UnknownNodeError


@settings(max_examples=30, deadline=None)
@given(edge_lists())
def test_walks_follow_edges_until_they_cannot(edges: Edges) -> None:
    hon = network(edges)
    walks = hon.random_walks(list(hon.nodes), 6, seed=1)
    assert walks.nodes[:, 0].tolist() == list(range(hon.n_nodes))
    for walk in walks.nodes.tolist():
        for here, there in pairwise(walk):
            if there >= 0:
                assert (hon.nodes[here], hon.nodes[there]) in edges
            else:
                assert here < 0 or hon.out_weight[here] == 0


def test_steps_and_starts_are_drawn_by_weight() -> None:
    edges = {("A", "B"): 5, ("A", "C"): 3, ("A", "A"): 2, ("B", "A"): 10, ("C", "A"): 1, ("C", "B"): 4}
    hon = network(edges)
    walks = hon.random_walks(50_000, 2, seed=3).nodes
    starts = np.bincount(walks[:, 0], minlength=3)
    assert chisquare(starts, np.array([10, 10, 5]) / 25 * len(walks)).pvalue > 1e-3
    after_a = np.bincount(walks[walks[:, 0] == 0, 1], minlength=3)
    assert chisquare(after_a, np.array([2, 5, 3]) / 10 * after_a.sum()).pvalue > 1e-3
    after_c = np.bincount(walks[walks[:, 0] == 2, 1], minlength=3)
    assert after_c[2] == 0
    assert chisquare(after_c[:2], np.array([1, 4]) / 5 * after_c.sum()).pvalue > 1e-3


def test_fractional_weights_are_followed_too() -> None:
    hon = network({("A", "B"): 0.25, ("A", "C"): 0.5})
    after = np.bincount(hon.random_walks(["A"] * 30_000, 2, seed=0).nodes[:, 1], minlength=3)
    assert chisquare(after[1:], [10_000, 20_000]).pvalue > 1e-3


def test_memory_shows_in_the_walks() -> None:
    walks = network(FIGURE).random_walks(["A", "B"] * 50, 3, seed=0)
    assert {tuple(path) for path in walks.to_paths()} == {("A", "C", "D"), ("B", "C", "E")}


def test_a_walk_that_ends_early_is_a_shorter_path() -> None:
    walks = network(FIGURE).random_walks(["C|A", "D"], 4, seed=0)
    assert walks.nodes.tolist() == [[5, 3, -1, -1], [3, -1, -1, -1]]
    assert walks.entities.tolist() == [[2, 3, -1, -1], [3, -1, -1, -1]]
    assert list(walks.to_paths()) == [("C", "D"), ("D",)]
    assert len(walks) == 2
    assert "2 walks of 4 steps" in repr(walks)


def test_a_seed_gives_the_same_walks_and_more_walks_change_none() -> None:
    hon = network({("A", "B"): 5, ("A", "C"): 3, ("B", "A"): 10, ("C", "A"): 1, ("C", "B"): 4})
    walks = hon.random_walks(70_000, 8, seed=5).nodes
    assert np.array_equal(walks, hon.random_walks(70_000, 8, seed=5).nodes)
    assert np.array_equal(walks[:10], hon.random_walks(10, 8, seed=5).nodes)
    assert not np.array_equal(walks[:1000], hon.random_walks(1000, 8, seed=6).nodes)


def test_bad_requests_are_refused() -> None:
    hon = network(FIGURE)
    with pytest.raises(UnknownNodeError, match="no node 'Z'"):
        hon.random_walks(["Z"], 3)
    with pytest.raises(ParameterError, match="'length' parameter of random_walks"):
        hon.random_walks(3, 0)
    with pytest.raises(ParameterError, match="'starts' parameter of random_walks"):
        hon.random_walks(0, 3)
    with pytest.raises(InputError, match="got the text 'ATL'"):
        hon.random_walks("ATL", 3)
    with pytest.raises(InputError, match="a walk can start nowhere"):
        network({("A|B", "C"): 1}).random_walks(3, 3)
