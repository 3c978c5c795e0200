"""What a link model may see tells nothing of the tested steps; and these tests notice where it would."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import honlearn as hl
from honlearn.errors import InputError
from honlearn.hon.grown_from import GrownFrom
from honlearn.hon.statistics import GrowParameters
from honlearn.hon.trie import Level
from honlearn.paths.pairs import cut_paths
from honlearn.tasks.link_split import split_links
from honlearn.tasks.visible_links import VisibleLinks, visible_links

RULES = {
    "tau": GrowParameters(2, 0.3, 2),
    "evidence": GrowParameters(2, None, 1, 0.2),
    "every context": GrowParameters(3, None, 2),
}


def walks() -> hl.Paths:
    random = np.random.default_rng(5)
    steps = random.integers(1, 4, (500, 5))
    starts = random.integers(0, 24, 500)
    places = (starts[:, None] + np.cumsum(steps, 1)) % 24
    return hl.Paths.from_lists([[f"n{x:02d}" for x in row] for row in places.tolist()])


def rejoined(paths: hl.Paths, pairs: list[tuple[str, str]], visits: bool = True) -> hl.Paths:
    """Return paths with the same visible pieces, in the same order, and other hidden steps.

    At random, two pieces that follow each other are joined by a tested step whose visits would be taken out,
    or without `visits`, where the end of the one and the start of the other are a tested pair.
    """
    random, hidden = np.random.default_rng(2), {frozenset(pair) for pair in pairs}
    found: list[list[str]] = []
    for piece in cut_paths(paths, pairs, visits):
        between: list[tuple[str, ...]] = list(pairs) if visits else [()]
        if found:
            ends = [(found[-1][-1], *step, piece[0]) for step in between]
            steps = [{frozenset(end[:2]) in hidden, frozenset(end[-2:]) in hidden} for end in ends]
            between = [one for one, told in zip(between, steps, strict=True) if told == {not visits}]
        if found and between and random.random() < 0.5:
            found[-1].extend([*between[int(random.integers(len(between)))], *piece])
        else:
            found.append(list(piece))
    # Entities keep their codes, whoever comes first now.
    offsets = np.cumsum([0, *map(len, found)])
    return hl.Paths(paths.vocabulary.codes(name for row in found for name in row), offsets, paths.vocabulary)


def told(paths: hl.Paths, pairs: list[tuple[str, str]], rule: GrowParameters, **how: object) -> VisibleLinks:
    source = GrownFrom(paths, rule)
    return visible_links(source.grow(source.counts), pairs, source, **how)


def alike(one: VisibleLinks, other: VisibleLinks) -> dict[str, bool]:
    """Return which parts of what may be seen are the same."""
    assert one.counts is not None
    assert other.counts is not None
    levels = zip(one.counts.levels, other.counts.levels, strict=True)
    return {
        "network": one.network == other.network and one.network.statistics == other.network.statistics,
        "counts": all(
            np.array_equal(getattr(a, field.name), getattr(b, field.name))
            for a, b in levels
            for field in fields(Level)
        ),
        "paths": list(one.paths) == list(other.paths),
    }


def held_out(paths: hl.Paths) -> list[tuple[str, str]]:
    return split_links(hl.grow(paths, order=1), 0.3, negatives="both").names


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("first_order", [False, True])
def test_other_hidden_steps_change_nothing_that_may_be_seen(rule: GrowParameters, first_order: bool) -> None:
    pairs = held_out(walks())
    other = rejoined(walks(), pairs)
    assert list(other) != list(walks())
    ours, theirs = (told(paths, pairs, rule, first_order=first_order) for paths in (walks(), other))
    assert alike(ours, theirs) == {"network": True, "counts": True, "paths": True}


def test_a_leak_is_noticed() -> None:
    pairs, rule = held_out(walks()), RULES["every context"]
    sources = [GrownFrom(paths, rule) for paths in (walks(), rejoined(walks(), pairs))]
    leaking = [VisibleLinks(source.grow(source.counts), source.counts, source.paths) for source in sources]
    assert alike(*leaking) == {"network": False, "counts": False, "paths": False}
    # The paper's protocol hides edges, and its contexts tell of the tested steps.
    hidden = [
        visible_links(source.grow(source.counts), pairs, protocol="paper").network for source in sources
    ]
    assert hidden[0] != hidden[1]
    # Of a network alone every context that contains a tested step goes; steps to its ends stay.
    sources[1] = GrownFrom(rejoined(walks(), pairs, visits=False), rule)
    alone = [visible_links(source.grow(source.counts), pairs).network for source in sources]
    assert alone[0] == alone[1]


def test_entities_that_lose_all_steps_stay() -> None:
    paths = hl.Paths.from_lists([["a", "b", "c"], ["d", "e"]] * 3)
    hon = hl.grow(paths, order=2, tau=1.0)
    for source in (None, GrownFrom(paths, hon.parameters)):
        for first_order in (False, True):
            seen = visible_links(hon, [("d", "e")], source, first_order=first_order)
            assert seen.network.vocabulary == hon.vocabulary


def test_every_rule_grows_its_own_network() -> None:
    paths = walks()
    counts = hl.count_grams(paths, 3)
    grown = [
        counts.grow(2, tau=0.3, min_support=2),
        counts.grow(2, alpha=0.2),
        counts.grow(2, alpha=1, min_support=3),
        counts.sample_network(7, 2),
    ]
    for network in grown:
        GrownFrom(paths, network.parameters).check(network)
    with pytest.raises(InputError, match=r"they give HigherOrderNetwork.* name the paths"):
        GrownFrom(paths, grown[0].parameters).check(grown[2])
