"""Data sets by a word: names, folders in every layout that is known, files, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.experiments.sources import find_source
from honlearn.hon.statistics import GrowParameters


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "paths.txt").write_text("A C D\nB C E\n" * 12)
    (tmp_path / "labels.csv").write_text("node,label\nB,y\nA,x\nelsewhere,x\n")
    return tmp_path


def test_a_folder_of_paths(folder: Path) -> None:
    source = find_source(str(folder))
    assert (source.name, source.published, source.title) == (folder.name, None, folder.name)
    # In the order of the file, on which the published folds depend; what the network lacks is left out.
    assert (source.nodes, source.labels) == (("B", "A"), ("y", "x"))
    assert source.has_memory is False
    eager = find_source(f"mine={folder}", parameters=GrowParameters(2, 0.1, 1))
    assert (eager.name, eager.has_memory) == ("mine", True)
    assert eager.grown(100.0, 1).n_conditional == 0
    assert eager.grown(0.1).n_conditional == 2
    assert find_source(f"air={folder}").published == "air"


def test_classes_of_another_column(folder: Path) -> None:
    (folder / "labels.csv").write_text("node,label,kind\nB,y,p\nA,x,q\n")
    assert find_source(str(folder), label_column="kind").labels == ("p", "q")
    with pytest.raises(FormatError, match=r"no column 'knd' after the first.*did you mean 'kind'"):
        find_source(str(folder), label_column="knd")
    with pytest.raises(InputError, match="--label-column kind: us_flights has classes of its own"):
        find_source("us_flights", label_column="kind")


def test_a_network_and_labels(folder: Path) -> None:
    import honlearn as hl

    hl.grow([["A", "C", "D"], ["B", "C", "E"]] * 5).save(folder / "net.hon")
    source = find_source(f"{folder}/net.hon+{folder}/labels.csv")
    assert (source.name, source.nodes, source.paths) == ("net", ("B", "A"), None)
    with pytest.raises(
        InputError, match=r"net: its network can be grown anew only from paths, and net.hon has none"
    ):
        source.grown(1.0)
    (folder / "labels.csv").write_text("node,label\nX,y\n")
    with pytest.raises(InputError, match=r"none of its nodes is in .*net.hon"):
        find_source(f"{folder}/net.hon+{folder}/labels.csv")


def test_the_bundled_flights() -> None:
    source = find_source("us_flights")
    assert (source.network.n_entities, len(source.nodes), source.network.n_nodes) == (175, 175, 607)


def test_published_graphs_and_where_they_are_looked_for(shared: Path) -> None:
    wiki = find_source("wiki", [shared / "data"])
    assert (wiki.published, wiki.network.n_nodes, wiki.network.n_edges) == ("wiki", 5_584, 84_806)
    assert wiki.nodes[:3] == ("0", "1", "2")
    air = find_source("air", [shared / "data" / "paper_graphs"])
    assert (air.network.n_entities, air.has_memory) == (416, False)
    games = find_source(f"wiki={shared}/data/wikispeedia")
    assert games.network == wiki.network


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("ship", InputError, "the paper's Ship cannot be had by its name; give its folder, ship=FOLDER"),
        ("wikki", MissingFileError, r"--data wikki: no such data set or folder; did you mean 'wiki'\?"),
        ("x=/nowhere/at/all", MissingFileError, "no such folder"),
        ("a b=/nowhere", InputError, "a name has letters, digits"),
    ],
)
def test_refusals(word: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        find_source(word)


def test_a_folder_without_labels(folder: Path) -> None:
    (folder / "labels.csv").unlink()
    with pytest.raises(InputError, match=r"it has no labels; add labels\.csv"):
        find_source(str(folder))
