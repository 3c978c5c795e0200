"""The contexts of the next step, against counting every step of every path by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honlearn.hon.build import count_grams
from honlearn.hon.steps.contexts import ContextTree, context_tree
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary

START, END = "^", "$"
PATHS = st.lists(st.lists(st.sampled_from("ABCD"), min_size=1, max_size=7), min_size=1, max_size=25)


def by_hand(paths: list[list[str]], order: int) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """Return how often each gram of up to order + 1 symbols, and each context before END, was seen."""
    grams: Counter[tuple[str, ...]] = Counter()
    ends: Counter[tuple[str, ...]] = Counter()
    for path in paths:
        symbols = [START, *path]
        for i in range(len(symbols)):
            for m in range(1, min(order + 1, i + 1) + 1):
                grams[tuple(symbols[i + 1 - m : i + 1])] += 1
        for m in range(min(order, len(symbols)) + 1):
            ends[tuple(symbols[len(symbols) - m :])] += 1
    return grams, ends


def spelt(tree: ContextTree, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the symbols of each gram, from the links of the tree alone."""
    symbols = (*names, START)
    grams: list[tuple[str, ...]] = [()] * len(tree)
    for context in range(tree.n_contexts):
        for i in range(int(tree.first[context]), int(tree.first[context + 1])):
            grams[i] = (*grams[context], symbols[tree.newest[i]])
    return grams


@settings(max_examples=60, deadline=None)
@given(PATHS, st.integers(1, 4))
def test_every_context_with_what_follows_it(paths: list[list[str]], order: int) -> None:
    counts = count_grams(paths, order=order)
    tree = context_tree(counts.levels)
    grams = spelt(tree, counts.vocabulary.names)
    seen, ended = by_hand(paths, order)
    assert tree.order == order
    assert dict(zip(grams[1:], tree.count[1:].tolist(), strict=True)) == dict(seen)
    contexts = grams[: tree.n_contexts]
    assert {g: n for g, n in zip(contexts, tree.ends.tolist(), strict=True) if n} == dict(ended)
    assert tree.count[0] == sum(len(path) + 1 for path in paths)
    for gram, suffix in zip(grams[1:], tree.suffix[1:].tolist(), strict=True):
        assert grams[suffix] == gram[1:]


def test_what_follows_a_context_adds_up_to_it() -> None:
    paths = [["A", "B", "A", "C"], ["A"], ["C", "B", "A"]] * 3
    tree = context_tree(count_grams(paths, order=2).levels)
    for g in range(1, tree.n_contexts):
        follow = tree.count[tree.first[g] : tree.first[g + 1]].sum()
        assert follow + tree.ends[g] == tree.count[g]


def test_an_entity_that_no_path_holds_has_its_place() -> None:
    paths = Paths(np.array([0, 2], np.int32), np.array([0, 2]), Vocabulary.from_names(["A", "B", "C"]))
    tree = context_tree(count_grams(paths, order=1).levels)
    assert tree.start == 4
    assert tree.count.tolist() == [3, 1, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_counts_of_paths_weigh(order: int) -> None:
    few = context_tree(count_grams([["A", "B"], ["B", "A", "B"]], order=order, counts=[3, 2]).levels)
    many = context_tree(count_grams([["A", "B"]] * 3 + [["B", "A", "B"]] * 2, order=order).levels)
    np.testing.assert_array_equal(few.count, many.count)
    np.testing.assert_array_equal(few.ends, many.ends)
