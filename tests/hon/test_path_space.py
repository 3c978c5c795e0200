"""The space of path vectors gives back those that it was made of, and places others among their like."""

from __future__ import annotations

import numpy as np
import pytest

import honlearn as hl
from honlearn.hon.embedding import path_embedding, unit
from honlearn.hon.path_space import PathSpace


def random_paths(seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[f"n{x:02d}" for x in rng.integers(0, 25, rng.integers(2, 7))] for _ in range(200)]


@pytest.mark.parametrize(("reach", "smoothing", "size"), [(1, 1.0, 4), (2, 1.0, 8), (2, 0.75, 25)])
def test_known_entities_get_their_vectors_back(reach: int, smoothing: float, size: int) -> None:
    network = hl.grow(random_paths(), tau=0.5)
    vectors = path_embedding(network, size, reach, smoothing)
    space = PathSpace.of(network, vectors, reach, smoothing)
    every = np.arange(network.n_entities)
    again = space.vectors(network, every, every)
    assert np.abs(again - vectors).max() < 1e-5


def test_a_twin_of_an_entity_gets_its_vector() -> None:
    # X never meets n03, whose paths it repeats, so its row is that of n03, and the shares are the old ones.
    paths = random_paths()
    network = hl.grow(paths, 1)
    vectors = path_embedding(network, 6, 1, 1.0)
    space = PathSpace.of(network, vectors, 1, 1.0)
    twin = [["X" if name == "n03" else name for name in path] for path in paths if "n03" in path]
    both = hl.grow(paths + twin, 1)
    columns = np.array([-1 if name == "X" else network.vocabulary.index(name) for name in both.vocabulary])
    placed = space.vectors(both, np.array([both.vocabulary.index("X")]), columns)
    mine = vectors[network.vocabulary.index("n03")]
    assert np.abs(placed[0] - mine).max() < 1e-5


def test_who_meets_nobody_known_has_no_direction() -> None:
    network = hl.grow(random_paths(), 1)
    space = PathSpace.of(network, path_embedding(network, 4, 1, 1.0), 1, 1.0)
    other = hl.grow([["X", "Y"], ["Y", "X"]], 1)
    assert space.vectors(other, np.arange(2), np.array([-1, -1])).tolist() == [[0.0] * 4] * 2


def test_columns_can_be_laid_out_anew() -> None:
    network = hl.grow(random_paths(), 1)
    space = PathSpace.of(network, path_embedding(network, 4, 2, 1.0), 2, 1.0)
    order = np.array([3, -1, 0])
    taken = space.taken(order)
    assert taken.shares[:, 1].tolist() == [0, 0]
    assert not taken.loadings[:, 1].any()
    np.testing.assert_array_equal(taken.loadings[:, [0, 2]], space.loadings[:, [3, 0]])
    assert (taken.n_entities, taken.width) == (3, 4)


def test_new_members_of_a_group_are_placed_in_it() -> None:
    rng = np.random.default_rng(1)
    groups = [[f"{word}{i}" for i in range(12)] for word in "ab"]
    paths = [list(rng.choice(groups[rng.integers(2)], 5)) for _ in range(400)]
    old = [[name for name in path if name not in ("a0", "b0")] for path in paths]
    network, whole = hl.grow(old, 1), hl.grow(paths, 1)
    vectors = path_embedding(network, 2, 1, 1.0)
    space = PathSpace.of(network, vectors, 1, 1.0)
    codes = {name: code for code, name in enumerate(network.vocabulary)}
    columns = np.array([codes.get(name, -1) for name in whole.vocabulary])
    new = whole.vocabulary.codes(["a0", "b0"]).astype(np.int64)
    placed = unit(space.vectors(whole, new, columns))
    alike = placed @ unit(vectors).T
    means = [[alike[i, [codes[n] for n in group if n in codes]].mean() for group in groups] for i in (0, 1)]
    assert means[0][0] > 0.9 > 0.2 > means[0][1]
    assert means[1][1] > 0.9 > 0.2 > means[1][0]
