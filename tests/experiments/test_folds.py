from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from honlearn.errors import FormatError, InputError, MissingFileError, ParameterError
from honlearn.experiments.folds import Folds, published_folds, rare_classes, read_folds, stratified_folds
from honlearn.hon.formats import load_network
from honlearn.labels import read_labels

NODES = [f"n{i}" for i in range(30)]
LABELS = ["a"] * 15 + ["b"] * 10 + ["c"] * 5


def named(folds: list[np.ndarray], nodes: list[str]) -> list[set[str]]:
    return [{nodes[i] for i in fold} for fold in folds]


def test_stratified_folds_are_a_partition_with_equal_shares() -> None:
    folds = stratified_folds(NODES, LABELS, 5, 3)
    assert sorted(np.concatenate(folds).tolist()) == list(range(30))
    for fold in folds:
        assert Counter(LABELS[i] for i in fold) == {"a": 3, "b": 2, "c": 1}


@given(st.permutations(range(30)), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_does_not_matter(order: list[int], seed: int) -> None:
    shuffled = [NODES[i] for i in order]
    again = stratified_folds(shuffled, [LABELS[i] for i in order], 5, seed)
    assert named(again, shuffled) == named(stratified_folds(NODES, LABELS, 5, seed), NODES)


def test_the_seed_decides() -> None:
    first, again, other = (named(stratified_folds(NODES, LABELS, 5, seed), NODES) for seed in (0, 0, 1))
    assert first == again != other


def test_rare_classes_are_spread_without_a_warning() -> None:
    labels = ["a"] * 26 + ["b"] * 3 + ["c"]
    folds = stratified_folds(NODES, labels, 5, 0)
    assert sorted(Counter(labels[i] for i in fold)["b"] for fold in folds) == [0, 0, 1, 1, 1]
    assert list(rare_classes(labels, 5).items()) == [("c", 1), ("b", 3)]
    assert rare_classes(labels, 2) == {"c": 1}
    # Equally rare ones by name, in whatever order they appear.
    assert list(rare_classes(["z", "y", "y", "x", "x", "w"], 3)) == ["w", "z", "x", "y"]


def test_too_many_folds() -> None:
    with pytest.raises(InputError, match=r"all 3 labelled nodes have a class of their own.*groups first"):
        stratified_folds(["a", "b", "c"], ["1.5", "2.5", "0.1"], 2, 0)
    with pytest.raises(InputError, match="16 folds, but the largest class has 15 labelled nodes"):
        stratified_folds(NODES, LABELS, 16, 0)
    with pytest.raises(InputError, match="2 folds, but the largest class has 0 labelled rows"):
        stratified_folds([], [], 2, 0, "rows")
    with pytest.raises(ParameterError, match=r"'count' parameter of Folds .* at least 2. Got 1"):
        Folds("stratified", 1)
    with pytest.raises(ParameterError, match=r"'kind' parameter of Folds .* Got 'random'"):
        Folds("random")


def test_as_many_folds_as_the_largest_class_has_members() -> None:
    folds = stratified_folds(NODES, LABELS, 15, 0)
    assert [Counter(LABELS[i] for i in fold)["a"] for fold in folds] == [1] * 15


def test_there_are_five_folds_unless_asked_for() -> None:
    assert Folds() == Folds("stratified", 5)
    assert len(Folds().tests(NODES, LABELS, 0)) == 5


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_that_generators_do_not_take(seed: int) -> None:
    with pytest.raises(
        ParameterError, match=rf"'seed' parameter .* from 0 to 4294967295\. Got {seed} instead"
    ):
        stratified_folds(NODES, LABELS, 5, seed)


@pytest.mark.parametrize(("data", "network"), [("wiki", "wiki2"), ("wiki", "wiki1"), ("air", "air1")])
def test_published_folds_are_the_papers(shared: Path, data: str, network: str) -> None:
    hon = load_network(shared / "data" / "paper_graphs" / f"{network}.txt")
    rows = zip(*read_labels(shared / "data" / "paper_graphs" / f"{data}_labels.csv"), strict=True)
    nodes, labels = (
        list(column) for column in zip(*(r for r in rows if r[0] in hon.vocabulary), strict=True)
    )
    expected = json.loads((shared / "paper" / f"published_folds_{data}.json").read_text())
    assert named(published_folds(nodes, labels), nodes) == [set(fold) for fold in expected]
    assert (
        Folds("published").tests(nodes, labels, seed=123)[0].tolist()
        == published_folds(nodes, labels)[0].tolist()
    )
    given_names = read_folds(shared / "paper" / f"published_folds_{data}.json")
    assert named(given_names.tests(nodes, labels, 0), nodes) == [set(fold) for fold in expected]


def test_published_folds_stratify_by_the_labels_in_file_order() -> None:
    # Sorted as text, n10 comes before n2: the k-th name in that order is dealt the k-th label of the file.
    order = sorted(range(30), key=lambda i: NODES[i])
    folds = published_folds(NODES, LABELS)
    place = {node: k for k, node in enumerate(order)}
    for fold in folds:
        assert Counter(LABELS[place[i]] for i in fold) == {"a": 3, "b": 2, "c": 1}
    assert any(Counter(LABELS[i] for i in fold) != {"a": 3, "b": 2, "c": 1} for fold in folds)


def test_published_folds_are_those_of_seed_seven() -> None:
    # The published program: StratifiedKFold(5, shuffle=True, random_state=7) over names sorted as text.
    by_name = np.array(sorted(NODES))
    split = StratifiedKFold(5, shuffle=True, random_state=7).split(by_name, LABELS)
    assert named(published_folds(NODES, LABELS), NODES) == [set(by_name[test]) for _, test in split]
    assert named(Folds("published").tests(NODES, LABELS, 0), NODES) == named(
        published_folds(NODES, LABELS), NODES
    )


def test_folds_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "folds.json"
    path.write_text('[["n3", "n1"], ["n2"]]')
    folds = read_folds(path)
    assert (folds.kind, folds.count) == ("file", 2)
    assert [fold.tolist() for fold in folds.tests(NODES, LABELS, 0)] == [[1, 3], [2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[1, 2", "not valid JSON"),
        ('{"a": 1}', "not folds; expected a JSON list"),
        ("[]", "not folds"),
        ("[[]]", "not folds"),
        ('[["a"], [null]]', "not folds"),
        ('[["a", "b"], ["a"]]', "'a' tested more than once"),
    ],
)
def test_files_that_are_no_folds(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "folds.json").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_folds(tmp_path / "folds.json")


def test_folds_that_do_not_fit_the_data(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such file; name a JSON list"):
        read_folds(tmp_path / "none.json")
    with pytest.raises(InputError, match="name 1 nodes that are not labelled nodes of the network: 'x'"):
        Folds("file", 1, (("n1", "x"),)).tests(NODES, LABELS, 0)
    assert Folds("file", 1, (tuple(NODES[1:]),)).tests(NODES, LABELS, 0)[0].tolist() == list(range(1, 30))
    with pytest.raises(InputError, match="none is left to train on"):
        Folds("file", 1, (tuple(NODES),)).tests(NODES, LABELS, 0)
