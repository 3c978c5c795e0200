"""The builder against the published program, against a slow oracle, and against its own promises."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.hon import chain, count
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths

GOLDEN = Path(__file__).parent / "fixtures" / "growhon.jsonl.gz"
CASES = [json.loads(line) for line in gzip.decompress(GOLDEN.read_bytes()).splitlines()]


def edges_of(network: HigherOrderNetwork) -> list[tuple[str, str, int]]:
    return sorted(map(tuple, network.to_pandas().itertuples(index=False)))


def gram_of(label: str) -> tuple[str, ...]:
    return tuple(reversed(label.split("|")))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_agrees_with_the_published_builder(case: dict) -> None:
    paths = [path for path in case["paths"] if path]
    if not paths:
        assert case["edges"] == []
        with pytest.raises(InputError, match="no path"):
            hl.grow(paths, order=case["k"])
        return
    rule = {"alpha": 1} if case.get("skip_prune") else {"tau": case["tau"]}
    network = hl.grow(paths, order=case["k"], min_support=case["min_support"], **rule)
    assert edges_of(network) == [tuple(edge) for edge in sorted(map(tuple, case["edges"]))]


@pytest.mark.parametrize("case", [c for c in CASES if c.get("in_out_deg")], ids=lambda case: case["name"])
def test_counts_and_divergences_agree_with_the_published_builder(case: dict) -> None:
    counts = hl.count_grams([path for path in case["paths"] if path], order=case["k"])
    found = grams_by_label(counts, case["k"])
    for label, (seen, followed) in case["in_out_deg"].items():
        if len(gram_of(label)) <= case["k"]:
            assert found[label][:2] == (seen, followed), label
    for label, (divergence, threshold) in case.get("kld_and_threshold", {}).items():
        assert found[label][2] == pytest.approx(divergence, abs=1e-12), label
        length = len(gram_of(label))
        limit = case["tau"] * (length - 1) / np.log2(1 + found[label][0])
        assert limit == pytest.approx(threshold, rel=1e-12), label


def grams_by_label(counts: hl.GramCounts, order: int) -> dict[str, tuple[int, int, float]]:
    """f, c and D of every gram of up to `order` entities."""
    trie, divergence = counts._trie, counts._divergences(order, 1)
    names = counts.vocabulary.names
    found, labels = {}, [[name] for name in names]
    for m in range(1, order + 1):
        level = trie[m - 1]
        for i, gram in enumerate(labels):
            d = float(divergence[m - 2].bits[i]) if m > 1 else 0.0
            found["|".join(gram)] = (int(level.count[i]), int(level.followed[i]), d)
        prefix = level.prefix(np.arange(len(trie[m])))
        labels = [[names[x], *labels[p]] for p, x in zip(prefix, trie[m].newest, strict=True)]
    return found


@pytest.mark.parametrize(
    ("order", "graph", "options"), [(1, "wiki1.txt", {}), (2, "wiki2.txt", {"tau": 10, "min_support": 10})]
)
def test_gives_the_graphs_of_the_paper(shared: Path, order: int, graph: str, options: dict) -> None:
    network = hl.grow(shared / "data" / "wikispeedia" / "paths.txt", order=order, **options)
    assert network == hl.load_network(shared / "data" / "paper_graphs" / graph)


# A small alphabet and short, repeated paths make ties, self-loops, tails and shared contexts common.
entities = st.sampled_from("ABCDE")
some_paths = st.lists(st.lists(entities, min_size=1, max_size=9), min_size=1, max_size=25)
orders = st.integers(1, 5)
taus = st.sampled_from([None, 0.0, 0.3, 0.5, 1.0, 2.0, 5.0])
supports = st.integers(1, 4)


@given(some_paths, orders, taus, supports, st.data())
@settings(max_examples=300, deadline=None)
def test_agrees_with_the_oracle(
    paths: list, order: int, tau: float, support: int, data: st.DataObject
) -> None:
    weights = data.draw(st.none() | st.lists(st.integers(1, 6), min_size=len(paths), max_size=len(paths)))
    rule = {"alpha": 1} if tau is None else {"tau": tau}
    network = hl.grow(Paths.from_lists(paths, weights), order, min_support=support, **rule)
    assert edges_of(network) == oracle.grow(paths, order, tau, support, weights)


@given(some_paths)
@settings(max_examples=60, deadline=None)
def test_first_order_is_the_transition_counts(paths: list) -> None:
    transitions = oracle.Counter((a, b) for path in paths for a, b in pairwise(path))
    assert edges_of(hl.grow(paths, order=1)) == sorted((a, b, n) for (a, b), n in transitions.items())


@given(some_paths, orders, taus, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_the_paths_does_not_matter(paths: list, order: int, tau: float, random: object) -> None:
    shuffled = list(paths)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert hl.grow(paths, order, tau) == hl.grow(shuffled, order, tau)


@given(some_paths, orders, st.integers(1, 7), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_chunks_and_workers_do_not_matter(paths: list, order: int, tokens: int, workers: int) -> None:
    whole = Paths.from_lists(paths)
    chopped = Paths(whole.codes, whole.offsets, whole.vocabulary)
    chopped.chunks = lambda: Paths.chunks(whole, tokens)  # type: ignore[method-assign]
    assert hl.grow(chopped, order, n_workers=workers) == hl.grow(whole, order)


@given(some_paths, orders, st.data())
@settings(max_examples=60, deadline=None)
def test_a_weight_is_a_repetition(paths: list, order: int, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(paths), max_size=len(paths)))
    repeated = [path for path, weight in zip(paths, weights, strict=True) for _ in range(weight)]
    assert hl.grow(Paths.from_lists(paths, weights), order) == hl.grow(repeated, order)


@given(some_paths, st.integers(2, 5), st.sampled_from([0.0, 0.5, 1.0]))
@settings(max_examples=60, deadline=None)
def test_every_kept_relative_has_a_neighbour_whose_probability_differs(
    paths: list, order: int, tau: float
) -> None:
    """Lemma 1 of the paper, for what the builder tests: a context against its immediate suffix."""
    after = oracle.followers(oracle.count(paths, order))
    network = hl.grow(paths, order, tau)
    statistics = network.statistics
    assert statistics is not None
    for i, node in enumerate(list(network.nodes)[network.n_entities :]):
        if statistics.by_extension[i]:
            continue
        mine, base = after[gram_of(node)], after[gram_of(node)[1:]]
        total, total_base = sum(mine.values()), sum(base.values())
        assert any(mine.get(x, 0) * total_base != n * total for x, n in base.items())


@given(some_paths, orders, taus)
@settings(max_examples=60, deadline=None)
def test_grams_that_do_not_fit_a_key_are_counted_the_same(paths: list, order: int, tau: float) -> None:
    whole = Paths.from_lists(paths)
    counter = chain.ChainCounter(order)
    for chunk in whole.chunks(5):
        counter.add(chunk, len(whole.vocabulary))
    counts = hl.GramCounts(counter.trie(len(whole.vocabulary)), whole.vocabulary)
    assert counts.grow(order, tau) == hl.grow(whole, order, tau)


def test_a_vocabulary_that_outgrows_the_key_midway_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    paths = [[f"n{x}" for x in rng.integers(0, 5 + i // 10, 6)] for i in range(400)]
    whole = Paths.from_lists(paths)
    assert count.NARROW.capacity(12) < len(whole.vocabulary)
    assert max(chunk.codes.max() for chunk in [next(whole.chunks(100))]) < count.NARROW.capacity(12)
    chopped = Paths(whole.codes, whole.offsets, whole.vocabulary)
    chopped.chunks = lambda: Paths.chunks(whole, 100)  # type: ignore[method-assign]
    assert edges_of(hl.grow(chopped, 12, 0.5)) == oracle.grow(paths, 12, 0.5)


def test_runs_merge_when_the_buffer_is_small() -> None:
    rng = np.random.default_rng(1)
    paths = Paths.from_lists([[str(x) for x in rng.integers(0, 9, 30)] for _ in range(200)])
    small, large = count.WindowCounter(3, buffer=64), count.WindowCounter(3)
    for chunk in paths.chunks(500):
        small.add(chunk, len(paths.vocabulary))
        large.add(chunk, len(paths.vocabulary))
    for ours, theirs in zip(small.windows(), large.windows(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_long_order_and_a_long_path() -> None:
    paths = [list("ABCDEFGHIJ") * 20]
    assert edges_of(hl.grow(paths, order=12, tau=0.1)) == oracle.grow(paths, 12, 0.1)


@pytest.mark.parametrize("order", [14, 15, 16, 20, 21, 31, 32, 63, 64, 100])
@pytest.mark.parametrize("alphabet", ["A", "AB", "ABCDE", "ABCDEFGHIJKLMNOPQ"])
def test_an_order_whose_grams_hardly_fit_a_key_or_do_not(order: int, alphabet: str) -> None:
    rng = np.random.default_rng(order)
    paths = [rng.choice(list(alphabet), 40).tolist() for _ in range(4)] + [["A"]]
    assert edges_of(hl.grow(paths, order, 0.5)) == oracle.grow(paths, order, 0.5)


def test_one_count_gives_networks_of_every_lower_order() -> None:
    paths = [list("ACD"), list("BCE"), list("ACDAB"), list("BCEBA")] * 4
    counts = hl.count_grams(paths, order=4)
    for order in (1, 2, 3, 4):
        for tau in (0.5, 2.0):
            assert counts.grow(order, tau) == hl.grow(paths, order, tau)


def test_entities_in_no_edge_are_in_no_network() -> None:
    assert list(hl.grow([["A", "B"], ["Z"]]).nodes) == ["A", "B"]


def test_counts_that_would_overflow_are_refused() -> None:
    with pytest.raises(InputError, match=r"the counts add up to more than 2\*\*62 paths"):
        Paths.from_lists([["A", "B"], ["A", "B"]], [2**62, 2**62])
    paths = Paths.from_lists([["A", "B", "A", "B"]], [2**62])
    with pytest.raises(InputError, match=r"counts of the paths add up to more than 2\*\*62 steps"):
        hl.grow(paths, 1)


def test_weights_stay_exact_beyond_floats() -> None:
    paths = Paths.from_lists([["A", "B"], ["A", "B"]], [2**60, 1])
    assert edges_of(hl.grow(paths, 1)) == [("A", "B", 2**60 + 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": 0}, "'order' parameter of count_grams must be a whole number, from 1"),
        ({"order": 1.5}, "'order' parameter"),
        ({"tau": -1}, "'tau' parameter of grow must be a number at least 0. Got -1"),
        ({"tau": float("nan")}, "'tau' parameter"),
        ({"min_support": 0}, "'min_support' parameter of grow"),
        ({"min_support": 2**62 + 1}, r"'min_support' parameter of grow must be at most 2\*\*62"),
        ({"n_workers": 0}, "'n_workers' parameter"),
        ({"alpha": 0}, "'alpha' parameter of grow must be a number greater than 0 and at most 1. Got 0"),
        ({"alpha": 0.1, "tau": 3}, "'alpha' .* another rule than 'tau': give one .* alpha=0.1 and tau=3"),
        ({"alpha": 0.1, "min_support": 3}, "another rule than 'min_support': .* alpha=0.1 and min_support=3"),
        ({"order": "far"}, "'order' parameter of grow must be a whole number or 'auto'. Got 'far'"),
        ({"order": "auto", "tau": 1}, "'order' parameter of grow can be 'auto' only where evidence decides"),
        ({"order": "auto", "alpha": 1}, "give an 'alpha' below 1"),
    ],
)
def test_parameters_out_of_range(options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        hl.grow([["A", "B"]], **options)


def test_counts_refuse_a_higher_order_than_was_counted() -> None:
    with pytest.raises(ParameterError, match=r"from 1 to 2\. Got 3"):
        hl.count_grams([["A", "B"]], order=2).grow(order=3)


def test_a_lower_support_asked_later_has_all_its_divergences() -> None:
    """What cannot be kept is left out, and computed when a later rule can keep it."""
    rng = np.random.default_rng(3)
    paths = [[f"e{i}" for i in rng.integers(0, 9, 6)] for _ in range(200)]
    one = hl.count_grams(paths, 3)
    for tau, support in ((0.1, 8), (0.1, 2), (1.0, 5), (0.5, 1)):
        assert one.grow(3, tau, support) == hl.count_grams(paths, 3).grow(3, tau, support)
