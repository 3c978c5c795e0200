"""Data sets as folders: reading the layout, writing it whole, never over what is there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from honlearn.datasets import Dataset, load_folder, save_folder, synthetic, us_flights
from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.paths.paths import Paths


def small(**parts: object) -> Dataset:
    paths = Paths.from_lists([["A", "C", "D"], ["B", "C", "Ünï"]], counts=[3, 1])
    return Dataset(name="toy", paths=paths, labels={"A": "1", "B": "02"}, **parts)  # type: ignore[arg-type]


def observed(paths: Paths) -> Counter[tuple[str, ...]]:
    counts = [1] * len(paths) if paths.counts is None else paths.counts.tolist()
    seen: Counter[tuple[str, ...]] = Counter()
    for path, count in zip(paths, counts, strict=True):
        seen[path] += count
    return seen


@pytest.mark.parametrize(
    ("name", "paths", "entities", "classes", "columns"),
    [
        ("us_flights_aa", 286_810, 175, 11, ["node", "state"]),
        ("db1b_2018q1", 185_871, 382, 11, ["node", "state", "city_market_id"]),
        ("wikispeedia", 76_193, 4_182, 10, ["node", "name"]),
        ("ud_english_ewt", 33_614, 2_930, 9, None),
        ("eshop_clothing", 24_026, 217, 4, ["node", "category", "colour", "page"]),
    ],
)
def test_the_reference_folders(
    shared: Path, name: str, paths: int, entities: int, classes: int, columns: list[str] | None
) -> None:
    data = load_folder(shared / "data" / name)
    assert (data.name, data.paths.total, len(data.paths.vocabulary)) == (name, paths, entities)
    assert len(data.classes) == classes
    assert all(type(node) is str for node in data.labels)
    assert (None if data.nodes is None else list(data.nodes.columns)) == columns


def test_there_and_back(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"node": ["A", "B"], "name": ["a, b", ""], "size": [1.5, None]})
    data = small(nodes=nodes, description="two paths", licence="none", source="here")
    written = save_folder(data, tmp_path / "deep" / "toy")
    assert [file.name for file in written] == ["paths.txt", "labels.csv", "nodes.csv", "about.json"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["toy"]
    back = load_folder(tmp_path / "deep" / "toy")
    assert observed(back.paths) == observed(data.paths)
    assert dict(back.labels) == {"A": "1", "B": "02"}
    assert (back.name, back.description, back.licence, back.source) == ("toy", "two paths", "none", "here")
    assert back.nodes is not None
    assert list(back.nodes["name"]) == ["a, b", ""]
    assert back.nodes["size"].tolist()[0] == 1.5
    assert back.nodes["size"].isna().tolist() == [False, True]


@pytest.mark.parametrize("make", [us_flights, lambda: synthetic(n_nodes=8, noise=0.1)])
def test_whole_data_sets_survive(make, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    data = make()
    save_folder(data, tmp_path / "data")
    back = load_folder(tmp_path / "data")
    assert observed(back.paths) == observed(data.paths)
    assert back.labels == data.labels


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("mine")
    (tmp_path / "nodes.csv").write_text("of another data set")
    (tmp_path / "notes.txt").write_text("keep")
    with pytest.raises(
        InputError, match=r"already has labels\.csv, nodes\.csv; choose another folder or pass"
    ):
        save_folder(small(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv", "nodes.csv", "notes.txt"]
    save_folder(small(), tmp_path, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "about.json",
        "labels.csv",
        "notes.txt",
        "paths.txt",
    ]
    assert load_folder(tmp_path).labels == small().labels


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    data = Dataset("spaces", Paths.from_lists([["New York", "Boston"]]))
    with pytest.raises(InputError, match=r"'New York' has white space"):
        save_folder(data, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder"):
        save_folder(small(), tmp_path / "file")


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="nowhere: no such folder"):
        load_folder(tmp_path / "nowhere")
    (tmp_path / "trips.txt").write_text("A B\n")
    with pytest.raises(MissingFileError, match=r"no paths\.txt .* which holds trips\.txt"):
        load_folder(tmp_path)
    (tmp_path / "paths.txt").write_text("A B\n")
    assert load_folder(tmp_path).labels == {}
    (tmp_path / "about.json").write_text("[1")
    with pytest.raises(FormatError, match=r"about\.json: not valid JSON"):
        load_folder(tmp_path)
    (tmp_path / "about.json").unlink()
    (tmp_path / "nodes.csv").write_text("node,name\nA\n")
    with pytest.raises(FormatError, match=r"nodes\.csv:2: 1 columns where the header has 2"):
        load_folder(tmp_path)
    (tmp_path / "nodes.csv").write_text("node,x,x\nA,1,2\n")
    with pytest.raises(FormatError, match=r"nodes\.csv: more than one column is called 'x'; rename one"):
        load_folder(tmp_path)
