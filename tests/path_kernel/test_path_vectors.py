"""Which path vectors are chosen, what is computed once, and what learners get of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ridge_cases import Codes, clouds, example, ring
from threadpoolctl import threadpool_limits

import honlearn as hl
from honlearn.hon import embedding
from honlearn.hon.embedding import path_embedding
from honlearn.hon.network import HigherOrderNetwork
from honlearn.path_kernel import path_vectors as module
from honlearn.path_kernel.calibration import Rows
from honlearn.path_kernel.path_vectors import OneStep, Vectors, choose_vectors
from honlearn.path_kernel.ridge import fit_kernel


def two_steps(side: int = 24) -> tuple[HigherOrderNetwork, Codes]:
    """Return a network where two steps separate the sides and one step does not, and its source entities.

    Every source goes to one of many gates of its own, and the gates lead to one of two sides.
    """
    paths = [
        [f"{side_}{i:02d}", f"gate{side_}{i:02d}", f"end{side_}{j}"]
        for side_ in "ab"
        for i in range(side)
        for j in range(3)
    ]
    hon = hl.grow(paths, order=1)
    names = [name for name in hon.vocabulary if not name.startswith(("gate", "end"))]
    return hon, np.array([hon.index(name) for name in names])


def test_two_steps_are_chosen_where_one_is_uninformative() -> None:
    hon, nodes = two_steps()
    labels = (np.arange(len(nodes)) >= len(nodes) // 2).astype(np.int64)
    known = example(labels, nodes)
    learned, (chosen, *others) = choose_vectors(hon, known, 2, 0)
    assert (learned.reach, chosen.reach) == (2, 2)
    # There is one for each reach, the one that says most first.
    assert [one.reach for one in others] == [1]
    assert fit_kernel(chosen.values, known, 2, 0).loss < 0.1
    # Without the second step it is a guess.
    near = path_embedding(hon, chosen.values.shape[1], 1, chosen.smoothing)
    assert fit_kernel(near, known, 2, 0).loss > 0.5


def test_vectors_of_one_step_are_made_once_where_no_more_are_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hon, nodes = two_steps()
    known = example((np.arange(len(nodes)) >= len(nodes) // 2).astype(np.int64), nodes)
    made: list[tuple[int, float]] = []
    make = module.embedding

    def noted(ahead: Any, dimensions: int, smoothing: float) -> Any:
        made.append((dimensions, smoothing))
        return make(ahead, dimensions, smoothing)

    monkeypatch.setattr(module, "embedding", noted)
    monkeypatch.setattr(embedding, "_MOST", 0)
    learned, kernels = choose_vectors(hon, known, 2, 0)
    assert [learned.reach, *(one.reach for one in kernels)] == [1, 1]
    assert len(made) == len(set(made))


def test_steps_are_counted_once_for_each_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    hon, nodes = two_steps()
    known = example((np.arange(len(nodes)) >= len(nodes) // 2).astype(np.int64), nodes)
    counted: list[int] = []
    count = embedding.steps_apart

    def noted(network: HigherOrderNetwork, reach: int) -> Any:
        counted.append(reach)
        return count(network, reach)

    monkeypatch.setattr(embedding, "steps_apart", noted)
    for vectors in choose_vectors(hon, known, 2, 0)[1]:
        steps = vectors.reach, vectors.smoothing
        longest = min(128, hon.n_entities // 2)
        with threadpool_limits(1):  # as they are made there: on more, the last bits differ
            every = path_embedding(hon, longest, *steps)
        assert vectors.values.tobytes() == every[:, : vectors.values.shape[1]].tobytes()
    assert sorted(counted[:2]) == [1, 2]
    assert len(counted) == 4  # those two, and one for each comparison above


def numbered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by one with each embedding that is made."""
    made: list[int] = []
    find = module.embedding

    def noted(ahead: Any, dimensions: int, smoothing: float) -> Rows:
        made.append(dimensions)
        return find(ahead, dimensions, smoothing)

    monkeypatch.setattr(module, "embedding", noted)
    return made


def test_losses_of_one_step_are_reused_on_the_next_network(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [list(path) for path in ("axd", "bxe", "cxd", "ayd", "bye", "cye") for _ in range(9)]
    first, later = hl.grow(paths, order=1), hl.grow(paths, order=2, tau=1)
    assert later.n_conditional
    known = example(np.arange(first.n_entities) % 2)
    alone = [choose_vectors(network, known, 2, 0) for network in (first, later)]
    made = numbered(monkeypatch)
    one_step: OneStep = {}
    together = [choose_vectors(network, known, 2, 0, one_step) for network in (first, later)]
    for (learned, read), (same, again) in zip(alone, together, strict=True):
        for one, two in zip([learned, *read], [same, *again], strict=True):
            assert one[:2] == two[:2]
            assert one.values.tobytes() == two.values.tobytes()
    # Networks have the vectors of one step in common, not those of two.
    ours, theirs = ({one.reach: one for one in read} for _, read in together)
    assert [ours[reach] is theirs[reach] for reach in (1, 2)] == [True, False]
    # Nothing is left to do on the same network but two steps with either smoothing.
    made.clear()
    choose_vectors(first, known, 2, 0, one_step)
    assert len(made) == 2


@pytest.mark.parametrize("other", ["labels", "nodes", "weights", "seed", "classes"])
def test_losses_of_one_step_are_not_reused_for_other_examples(other: str) -> None:
    hon, labels = ring()
    nodes, weights = np.arange(60), np.ones(60)
    one_step: OneStep = {}
    choose_vectors(hon, example(labels[:40], nodes[:40], weights[:40]), 3, 0, one_step)
    if other == "labels":
        labels = labels[::-1]
    elif other == "nodes":
        nodes = nodes[::-1]
    elif other == "weights":
        weights[7] = 2
    seed, classes = int(other == "seed"), 4 if other == "classes" else 3
    known = example(labels[:40], nodes[:40], weights[:40])
    mine, read = choose_vectors(hon, known, classes, seed, one_step)
    assert len({mark for mark, *_ in one_step}) == 2
    own, again = choose_vectors(hon, known, classes, seed)
    one, two = [mine, *read], [own, *again]
    assert [v[:2] for v in one] == [v[:2] for v in two]
    assert [v.values.tobytes() for v in one] == [v.values.tobytes() for v in two]


def test_learners_get_the_first_components_at_length_one() -> None:
    vectors, _ = clouds()
    vectors[3] = 0
    got = Vectors(1, 1.0, vectors).first(3)
    assert got.dtype == np.float32
    expected = vectors[:, :3] / np.maximum(np.linalg.norm(vectors[:, :3], axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert not got[3].any()
    assert Vectors(1, 1.0, vectors).first(99).shape == (60, 4)
