"""Relatives follow Eq. 3, and a learner's draw is its own."""

from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling import RelativeSampler, draw_relatives


def network() -> HigherOrderNetwork:
    # C has three relatives with out-edges (C, C|A, C|B) and one without (C|D); E is a sink: no out-edges.
    edges = [
        ("A", "C|A", 5), ("B", "C|B", 3), ("D", "C|D", 1), ("C|A", "E", 5), ("C|B", "A", 2),
        ("C", "E", 8), ("C", "C", 1), ("A", "A", 4),
    ]  # fmt: skip
    return from_edges(*zip(*edges, strict=True))


def test_draws_follow_the_families_weighted_out_degree() -> None:
    hon = network()
    drawn = draw_relatives(hon, 4000, seed=3)[:, hon.index("C")]
    labels, counts = np.unique([hon.nodes[int(node)] for node in drawn], return_counts=True)
    assert labels.tolist() == ["C", "C|A", "C|B"]
    expected = np.array([9, 5, 2]) / 16 * len(drawn)
    assert chisquare(counts, expected).pvalue > 1e-3


def test_a_family_without_out_edges_is_its_base_node() -> None:
    hon = network()
    drawn = draw_relatives(hon, 50, seed=0)[:, hon.index("E")]
    assert (drawn == hon.index("E")).all()


def test_every_draw_is_a_relative() -> None:
    hon = network()
    drawn = draw_relatives(hon, 200, seed=1)
    assert drawn.dtype == np.int32
    assert (hon.base[drawn] == np.arange(hon.n_entities)).all()
    assert (RelativeSampler(hon).probabilities[drawn] > 0).all()


def test_learner_seven_of_eight_is_learner_seven_of_sixteen() -> None:
    hon = network()
    few, many = draw_relatives(hon, 8, seed=5), draw_relatives(hon, 16, seed=5)
    assert np.array_equal(few, many[:8])
    assert np.array_equal(RelativeSampler(hon).draw(5, [7])[0], many[7])
    assert not np.array_equal(many, draw_relatives(hon, 16, seed=6))


def test_occasions_have_draws_of_their_own() -> None:
    sampler = RelativeSampler(network())
    assert not np.array_equal(sampler.draw(0, range(40)), sampler.draw(0, range(40), "batch", 1))


def test_first_order_networks_leave_no_choice() -> None:
    hon = network().first_order()
    sampler = RelativeSampler(hon)
    assert sampler.is_fixed
    assert (sampler.draw(0, range(3)) == np.arange(hon.n_entities)).all()
    assert not RelativeSampler(network()).is_fixed


def test_one_node_that_can_be_drawn_leaves_no_choice() -> None:
    # The base node of C has in-edges only, and its relative one single step.
    hon = from_edges(["A", "C|A", "B"], ["C|A", "B", "C"], [2, 1, 1])
    sampler = RelativeSampler(hon)
    assert sampler.is_fixed
    drawn = sampler.draw(0, range(20))
    assert {tuple(hon.nodes[int(node)] for node in row) for row in drawn} == {("A", "B", "C|A")}


def test_a_small_family_after_heavy_ones_keeps_to_its_nodes() -> None:
    # Beside 2**54 a place in the family of B is rounded to its beginning or to its end.
    hon = from_edges(["A", "B", "B|A", "C"], ["B|A", "C", "C", "A"], [2**54, 2, 2, 4])
    drawn = draw_relatives(hon, 200, seed=0)
    assert (hon.base[drawn] == np.arange(3)).all()


def test_every_family_is_drawn_by_its_probabilities_also_the_first_and_the_last() -> None:
    # Each of five entities x has two nodes that can be drawn, x and x|z with z the entity before it.
    edges = []
    for i in range(5):
        x, after, before = (f"n{(i + k) % 5}" for k in (0, 1, -1))
        edges += [(x, f"{after}|{x}", 3 + i), (f"{x}|{before}", after, 2 + i)]
    hon = from_edges(*zip(*edges, strict=True))
    drawn = draw_relatives(hon, 3000, seed=1)
    for entity in range(5):
        name = hon.vocabulary[entity]
        nodes, counts = np.unique(drawn[:, entity], return_counts=True)
        i = int(name[1:])
        assert [hon.nodes[int(node)] for node in nodes] == [name, f"{name}|n{(i - 1) % 5}"]
        expected = np.array([3 + i, 2 + i]) / (5 + 2 * i) * 3000
        assert chisquare(counts, expected).pvalue > 1e-3
