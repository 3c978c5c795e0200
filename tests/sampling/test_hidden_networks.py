"""Networks of training folds: grown without the visits of hidden steps, where the paths are the network's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import honlearn as hl
from honlearn.hon.without_pairs import without_pairs
from honlearn.paths.paths import Paths
from honlearn.sampling.hidden_networks import HiddenNetworks

NAMES = "ABCDEFGH"
HIDDEN = [("A", "B"), ("F", "C")]


def some_paths() -> list[list[str]]:
    random = np.random.default_rng(4)
    return [list(random.choice(list(NAMES), size)) for size in random.integers(2, 7, 400)]


def without_visits(paths: list[list[str]]) -> list[list[str]]:
    """Return the pieces that are left of each path, visit by visit."""
    hidden = {frozenset(pair) for pair in HIDDEN}
    pieces: list[list[str]] = []
    for path in paths:
        steps = [frozenset(step) in hidden for step in pairwise(path)]
        piece: list[str] = []
        for place, name in enumerate(path):
            if any(steps[max(place - 1, 0) : place + 1]):
                pieces.append(piece)
                piece = []
            else:
                piece.append(name)
        pieces.append(piece)
    return [piece for piece in pieces if piece]


@pytest.mark.parametrize("rule", [{"tau": 1.0, "min_support": 2}, {"alpha": 0.5}])
@pytest.mark.parametrize("order", [1, 2])
def test_the_network_is_that_of_the_paths_without_both_visits(order: int, rule: dict[str, float]) -> None:
    paths = some_paths()
    hon = hl.grow(paths, order=order, **rule)
    hidden = HiddenNetworks(hon, Paths.from_lists(paths))
    pairs = hon.vocabulary.codes(name for pair in HIDDEN for name in pair).reshape(-1, 2)
    assert hidden.without(pairs) == hl.grow(without_visits(paths), order=order, **rule)


def test_an_entity_that_has_lost_all_its_steps_is_still_there() -> None:
    paths = [["A", "B", "C"], ["C", "A", "C"]]
    hon = hl.grow(paths, order=1)
    left = HiddenNetworks(hon, Paths.from_lists(paths)).without(
        hon.vocabulary.codes(["A", "B"]).reshape(1, 2)
    )
    assert left.vocabulary == hon.vocabulary
    assert left.neighbors("B") == {}


@pytest.mark.parametrize("given", ["none", "others"])
def test_paths_that_are_not_those_of_the_network_are_not_grown_from(given: str) -> None:
    paths = some_paths()
    hon = hl.grow(paths, order=2, tau=1.0, min_support=1)
    hidden = HiddenNetworks(hon, None if given == "none" else Paths.from_lists(paths[1:]))
    pairs = hon.vocabulary.codes(["A", "B"]).reshape(1, 2)
    assert hidden.without(pairs) == without_pairs(hon, pairs)
