"""Wikispeedia from small files in the publisher's format."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from honlearn.datasets import Dataset, wiki, wikispeedia
from honlearn.datasets.download import DownloadError
from honlearn.errors import FormatError, InputError, MissingFileError, ParameterError

FINISHED = """\
# FORMAT:   hashedIpAddress   timestamp   durationInSec   path   rating

6a3701d319fc3754\t1297740409\t166\t14th_century;15th_century;%C3%85land;14th_century\tNULL
3824310e536af032\t1344753412\t88\t14th_century;Europe;<;<;Africa\t3
415612e93584d30e\t1349298640\t138\t14th_century;Niger;<;Africa;<;Mali\tNULL
"""
UNFINISHED = """\
# FORMAT: hashedIpAddress   timestamp   durationInSec   path   target   type

2426091a53125110\t1297054935\t1804\tAsteroid;Europe\tViking\ttimeout
26141fd878806294\t1297055651\t1805\tLogic;<\tTelephone\trestart
"""
CATEGORIES = """\
# FORMAT:   article   category

%C3%85land\tsubject.Countries
%C3%85land\tsubject.Geography.European_Geography.European_Countries
14th_century\tsubject.History.General_history
Africa\tsubject.Geography.African_Geography
Asteroid\tsubject.Science.Physics.Space_Astronomy
Europe\tsubject.Countries
Logic\tsubject.Mathematics
Mali\tsubject.Music.Performers_and_composers
Unvisited\tsubject.IT.Computing_hardware_and_infrastructure
"""
FILES = {"paths_finished.tsv": FINISHED, "paths_unfinished.tsv": UNFINISHED, "categories.tsv": CATEGORIES}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "unpacked" / "wikispeedia_paths-and-graph"
    inner.mkdir(parents=True)
    for name, text in FILES.items():
        (inner / name).write_text(text, "utf-8")
    return inner.parent


def archive_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / wiki.URL.rsplit("/", 1)[-1]
    with tarfile.open(file, "w:gz") as archive:
        for name, text in FILES.items():
            member = tarfile.TarInfo(f"wikispeedia_paths-and-graph/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return file


def check(data: Dataset) -> None:
    assert list(data.paths) == [
        ("14th_century", "15th_century", "Åland", "14th_century"),
        ("14th_century", "Europe", "14th_century", "Europe", "Africa"),
        ("14th_century", "Niger", "14th_century", "Africa", "14th_century", "Mali"),
        ("Asteroid", "Europe"),
        ("Logic",),
    ]
    assert dict(data.labels) == {
        "14th_century": "History",
        "Africa": "Geography",
        "Asteroid": "Science",
        "Europe": "Countries",
        "Logic": "Science",
        "Mali": "Culture",
        "Åland": "Geography",
    }
    assert dict(data.tally) == {"back clicks": 5, "back clicks dropped": 1}


def test_a_folder_an_inner_folder_and_an_archive(folder: Path, tmp_path: Path) -> None:
    check(wikispeedia(folder))
    check(wikispeedia(folder / "wikispeedia_paths-and-graph"))
    check(wikispeedia(archive_in(tmp_path)))


def test_what_is_known_of_the_articles(folder: Path) -> None:
    nodes = wikispeedia(folder).nodes
    assert nodes is not None
    row = nodes.set_index("node").loc["Åland"]
    assert (row["name"], row["encoded"]) == ("Åland", "%C3%85land")
    assert row["category"] == "subject.Geography.European_Geography.European_Countries"
    assert nodes.set_index("node").loc["15th_century", ["name", "category"]].tolist() == ["15th century", ""]


def test_finished_games_only(folder: Path) -> None:
    data = wikispeedia(folder, unfinished=False)
    assert data.paths.total == 3
    assert "Asteroid" not in data.labels


def test_back_clicks_as_a_browser_shows_them(folder: Path) -> None:
    data = wikispeedia(folder, back="stack")
    assert data.paths[1] == ("14th_century", "Europe", "14th_century", "Africa")
    assert data.tally["back clicks dropped"] == 2
    with pytest.raises(
        ParameterError, match=r"'back' parameter of wikispeedia must be one of 'published', 'stack'"
    ):
        wikispeedia(folder, back="undo")


@pytest.mark.parametrize(
    ("clicks", "published"),
    [
        ("A B < C", "A B A C"),
        ("A B C < <", "A B C B C"),
        ("A B C < D <", "A B C B D B"),
        ("< A", "A"),
    ],
)
def test_the_published_rule(clicks: str, published: str) -> None:
    assert wiki.resolve_back_clicks(clicks.split())[0] == published.split()


@pytest.mark.parametrize(
    "top", ["Design_and_Technology", "Language_and_literature", "Business_Studies", "Art"]
)
def test_merged_subjects_are_no_classes(folder: Path, top: str) -> None:
    file = folder / "wikispeedia_paths-and-graph" / "categories.tsv"
    file.write_text(f"Logic\tsubject.Science\nLogic\tsubject.{top}.X\n")
    assert wikispeedia(folder).labels["Logic"] in {"Technology", "Culture", "Economics"}


def test_the_classes_of_the_reference(shared: Path) -> None:
    """Every class that the label rule can give to a merged subject is a class of the reference labels."""
    lines = (shared / "data" / "wikispeedia" / "labels.csv").read_text().splitlines()[1:]
    classes = {line.rpartition(",")[2] for line in lines}
    assert set(wiki._MERGED.values()) <= classes
    assert not set(wiki._MERGED) & classes


def test_the_cache_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HONLEARN_DATA", str(tmp_path))
    archive_in(tmp_path)
    check(wikispeedia())
    record = tmp_path / "wikispeedia_paths-and-graph.tar.gz.sha256"
    assert len(record.read_text().split()[0]) == 64
    with pytest.raises(FormatError, match="was asked for"):
        wikispeedia(sha256="0" * 64)


def test_without_a_network_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HONLEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(wiki, "URL", "http://127.0.0.1:9/wikispeedia_paths-and-graph.tar.gz")
    monkeypatch.setattr("honlearn.datasets.download._PAUSES", ())
    pattern = r"put it at .*wikispeedia_paths-and-graph\.tar\.gz, or pass the archive .*wikispeedia\(folder\)"
    with pytest.raises(DownloadError, match=pattern):
        wikispeedia(timeout=2)


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("paths_finished.tsv", "a\tb\n", FormatError, r"paths_finished\.tsv:1: 2 columns and no clicks"),
        ("paths_finished.tsv", "#\na\t1\t2\tA;;B\tNULL\n", FormatError, r"tsv:2: an empty article among"),
        ("categories.tsv", "Logic subject\n", FormatError, r"categories\.tsv:1: expected article, tab"),
        ("paths_finished.tsv", b"a\t1\t2\t\xff;B\t1\n", FormatError, r"paths_finished\.tsv:1: not UTF-8"),
        ("categories.tsv", None, MissingFileError, r"no categories\.tsv, only .*give the archive"),
    ],
)
def test_what_is_refused(
    folder: Path, name: str, text: str | bytes | None, error: type[Exception], message: str
) -> None:
    file = folder / "wikispeedia_paths-and-graph" / name
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(error, match=message):
        wikispeedia(folder)


def test_no_games_no_archive_and_half_an_archive(folder: Path, tmp_path: Path) -> None:
    for name in ("paths_finished.tsv", "paths_unfinished.tsv"):
        (folder / "wikispeedia_paths-and-graph" / name).write_text("# nothing\n")
    with pytest.raises(InputError, match="no game in"):
        wikispeedia(folder)
    with pytest.raises(MissingFileError, match="no such archive or folder"):
        wikispeedia(tmp_path / "none.tar.gz")
    whole = archive_in(tmp_path).read_bytes()
    (tmp_path / "half.tar.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match=r"half\.tar\.gz: damaged or not a tar archive .*download it again"):
        wikispeedia(tmp_path / "half.tar.gz")
