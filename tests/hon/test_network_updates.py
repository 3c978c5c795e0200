"""Networks that take in more paths, by their rule or on the contexts that they have; isolated entities."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError
from honlearn.hon.invariants import check_names, check_nodes
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import add_paths, with_entities

RULES = [
    {"tau": 0.5},
    {"tau": 1.0, "min_support": 2},
    {"alpha": 0.3},
    {"alpha": 1},
    {"alpha": 1, "min_support": 2},
]
paths_of = st.lists(st.lists(st.sampled_from("ABCD"), min_size=2, max_size=6), min_size=1, max_size=15)


def edges_of(network: HigherOrderNetwork) -> dict[tuple[str, str], int]:
    table = network.to_pandas()
    return dict(zip(zip(table["source"], table["target"], strict=True), table["weight"], strict=True))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_same_rule_on_more_counts_is_a_network_of_everything(rule: dict) -> None:
    rng = np.random.default_rng(0)
    paths = [[str(x) for x in rng.integers(0, 9, rng.integers(2, 7))] for _ in range(120)]
    counts = hl.count_grams(paths[:70], 3)
    parameters = counts.grow(2, **rule).parameters
    assert parameters is not None
    assert counts.update(paths[70:]).grow_by(parameters) == hl.grow(paths, 2, **rule)


def test_a_network_that_was_drawn_is_drawn_again() -> None:
    counts = hl.count_grams([["A", "C", "D"], ["B", "C", "E"]] * 9, 2)
    drawn = counts.sample_network(4)
    assert drawn.parameters is not None
    assert counts.grow_by(drawn.parameters) == drawn
    with pytest.raises(
        InputError, match="the network has order 2, and grams were counted for orders up to 1"
    ):
        hl.count_grams([["A", "B"]], 1).grow_by(drawn.parameters)


def counted_on(contexts: set[tuple[str, ...]], paths: list[list[str]]) -> dict[tuple[str, str], int]:
    """Count steps by hand: a step leaves every context of the set that ends before it."""
    found: dict[tuple[str, str], int] = {}
    for path in paths:
        for place, (_, after) in enumerate(pairwise(path), start=1):
            for length in range(1, place + 1):
                gram = tuple(path[place - length : place])
                if length > 1 and gram not in contexts:
                    continue
                onward = (*gram, after)
                target = next((onward[i:] for i in range(len(onward)) if onward[i:] in contexts), (after,))
                key = "|".join(reversed(gram)), "|".join(reversed(target))
                found[key] = found.get(key, 0) + 1
    return found


@settings(max_examples=60, deadline=None)
@given(before=paths_of, after=paths_of, order=st.integers(1, 3))
def test_steps_are_counted_on_the_contexts_that_are_there(before: list, after: list, order: int) -> None:
    network = hl.grow(before, order, tau=0.2)
    contexts = {tuple(reversed(label.split("|"))) for label in network.nodes if "|" in label}
    updated = add_paths(network, after)
    assert edges_of(updated) == counted_on(contexts, before + after)
    assert set(updated.nodes) - set(network.nodes) <= {name for path in after for name in path}


def test_paths_without_steps_leave_the_network_as_it_is() -> None:
    network = hl.grow([["A", "B", "C"]])
    assert add_paths(network, [["A"], ["Z"]]) is network


def test_entities_without_edges() -> None:
    network = hl.grow([["B", "D", "F"], ["C", "D", "G"]] * 9, tau=0.5)
    wider = with_entities(network, ["É", "A", "D", "E", "A"])
    assert list(wider.vocabulary) == ["A", "B", "C", "D", "E", "F", "G", "É"]
    check_names(wider.vocabulary.data, wider.vocabulary.offsets)
    check_nodes(wider)
    assert edges_of(wider) == edges_of(network)
    assert list(wider.nodes)[8:] == ["D|B", "D|C"]
    assert wider.parameters == network.parameters
    assert wider.neighbors("E") == {}
    assert with_entities(network, ["B"]) is network
    with pytest.raises(InputError, match=r"no names of entities: '', 'a\|b'; a name is not empty"):
        with_entities(network, ["", "a|b"])
