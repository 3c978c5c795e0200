from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from network_cases import FIGURE, Edges, edge_lists, names, network

from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.hon.formats import FORMATS, growhon, load_network, save

READABLE = [suffix for suffix, form in FORMATS.items() if form.readable]
# The same file is written again for each example, as users do.
one_folder = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("suffix", READABLE)
@one_folder
@given(edges=edge_lists(names()))
def test_any_name_survives_the_round_trip(tmp_path: Path, suffix: str, edges: Edges) -> None:
    hon = network(edges)
    hon.save(tmp_path / f"net{suffix}")
    back = load_network(tmp_path / f"net{suffix}")
    assert back == hon
    assert list(back.nodes) == list(hon.nodes)
    assert back.weights.dtype == hon.weights.dtype


@pytest.mark.parametrize(("suffix", "reader"), [(".graphml", nx.read_graphml), (".gexf", nx.read_gexf)])
@one_folder
@given(edges=edge_lists(names(xml=True)))
def test_networkx_reads_the_xml_formats(tmp_path: Path, suffix: str, reader: Any, edges: Edges) -> None:
    hon = network(edges)
    hon.save(tmp_path / f"net{suffix}")
    graph = reader(tmp_path / f"net{suffix}")
    assert graph.is_directed()
    assert {(a, b): w for a, b, w in graph.edges(data="weight")} == edges
    wanted = dict(hon.to_networkx().nodes(data=True))
    assert {n: {k: d[k] for k in ("base", "order")} for n, d in graph.nodes(data=True)} == wanted


@pytest.mark.parametrize("suffix", [".graphml", ".gexf"])
def test_xml_refuses_what_it_cannot_hold(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(InputError, match=re.escape(r"the entity 'a\x00' has U+0000, which XML cannot hold")):
        network({("a\x00", "b"): 1}).save(tmp_path / f"net{suffix}")
    assert not list(tmp_path.iterdir())


def test_infomap_states(tmp_path: Path) -> None:
    network({**FIGURE, ("E", 'a "b"\nc'): 1}).save(tmp_path / "net.net")
    assert (tmp_path / "net.net").read_text().splitlines() == [
        "*Vertices 6",
        '1 "A"',
        '2 "B"',
        '3 "C"',
        '4 "D"',
        '5 "E"',
        '6 "a "b"%0Ac"',
        "*States",
        '1 1 "A"',
        '2 2 "B"',
        '3 3 "C"',
        '4 4 "D"',
        '5 5 "E"',
        '6 6 "a "b"%0Ac"',
        '7 3 "C|A"',
        '8 3 "C|B"',
        "*Links",
        "1 7 3",
        "2 8 1",
        "3 4 3",
        "3 5 1",
        "5 6 1",
        "7 4 3",
        "8 5 1",
    ]


def test_text_is_written_as_growhon_writes_it(tmp_path: Path) -> None:
    network({**FIGURE, ("E", '"50%20'): 2}).save(tmp_path / "net.txt")
    lines = (tmp_path / "net.txt").read_text().splitlines()
    assert lines == ["A C|A 3", "B C|B 1", "C D 3", "C E 1", 'E "50%20 2', "C|A D 3", "C|B E 1"]


def test_text_with_white_space_in_an_id_says_so_in_its_first_line(tmp_path: Path) -> None:
    hon = network({("New York", "100%"): 2})
    hon.save(tmp_path / "net.txt")
    assert (tmp_path / "net.txt").read_text() == f"{growhon.MARK}\nNew%20York 100%25 2\n"
    assert load_network(tmp_path / "net.txt") == hon


@pytest.mark.parametrize(
    "text", ["A C|A 3\nC|A D 2\n", "A\tC|A\t3\r\nC|A\tD\t2", "\ufeffA C|A 3\n\nC|A D 2.0\n\n"]
)
def test_text_from_elsewhere(tmp_path: Path, text: str) -> None:
    (tmp_path / "net.txt").write_bytes(text.encode())
    assert load_network(tmp_path / "net.txt") == network({("A", "C|A"): 3, ("C|A", "D"): 2})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "A B 1\nB C\n",
            "net.txt:2: expected 3 fields (source, target, weight) separated by one space, got 2",
        ),
        ("A B 1\n\nB C 1 x\n", "net.txt:3: expected 3 fields"),
        ("A\tB\t1\nB C 1\n", "separated by one tab, got 1"),
        ("A B 1\n\nB C x\n", "net.txt:3: weight 'x' is not a number"),
        ("A B 1\n\n\nB C -3\n", "net.txt:4: weight -3; an edge's weight is a finite number above 0"),
        ("A B 1\nB C 0\n", "net.txt:2: weight 0"),
        ("A B 1\nB C nan\n", "net.txt:2: weight nan"),
        ("A B 1\nB C 1\nA B 2\n", "net.txt:3: the edge 'A' → 'B' is there twice; give each edge once"),
        ("A B 1\nB  1\n", "net.txt:2: an empty id"),
        (" B 1\n", "net.txt:1: an empty id"),
        ("A B 1\nB A||B 1\n", "net.txt:2: the label 'A||B' has an empty part"),
        ("", "net.txt: no edge in the file"),
        ("\n\n", "net.txt: no edge in the file"),
        (f"{growhon.MARK}\n", "net.txt: no edge in the file"),
        (f"{growhon.MARK}\nA B 1\nB C 0\n", "net.txt:3: weight 0"),
        (f"{growhon.MARK}\nA B 1\nB%FF C 2\n", "net.txt:3: the label 'B%FF' cannot be decoded"),
        (f"{growhon.MARK}\nA B 1\nB C%7CA 2\n", "net.txt:3: the label 'C%7CA' cannot be decoded"),
    ],
)
def test_bad_text_gets_its_line_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "net.txt").write_text(text)
    with pytest.raises(FormatError, match=re.escape(message)):
        load_network(tmp_path / "net.txt")


def test_text_that_is_not_utf8_gets_its_line_named(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_bytes(b"A B 1\n\xff C 1\n")
    with pytest.raises(FormatError, match=r"net.txt:2: not UTF-8"):
        load_network(tmp_path / "net.txt")


def test_parquet_from_elsewhere(tmp_path: Path) -> None:
    table = pa.table({"when": [1, 2], "weight": [3.0, 2.0], "target": ["C|A", "D"], "source": ["A", "C|A"]})
    pq.write_table(table, tmp_path / "net.parquet")
    assert load_network(tmp_path / "net.parquet") == network({("A", "C|A"): 3, ("C|A", "D"): 2})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"source": ["A"], "targets": ["B"], "weight": [1]},
            "no column 'target'; there are source, targets, weight;",
        ),
        ({"source": ["A", "B"], "target": ["B", "C"], "weight": [1, -1]}, "net.parquet: row 2: weight -1"),
        ({"source": ["A", None], "target": ["B", "C"], "weight": [1, 1]}, "net.parquet: row 2: no source"),
        ({"source": ["A"], "target": ["B"], "weight": ["1"]}, "weights are numbers above 0"),
    ],
)
def test_bad_parquet_is_refused(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "net.parquet")
    with pytest.raises(FormatError, match=re.escape(message)):
        load_network(tmp_path / "net.parquet")


def test_truncated_parquet_is_refused(tmp_path: Path) -> None:
    network(FIGURE).save(tmp_path / "net.parquet")
    whole = (tmp_path / "net.parquet").read_bytes()
    (tmp_path / "net.parquet").write_bytes(whole[:-20])
    with pytest.raises(FormatError, match="not a whole Parquet file"):
        load_network(tmp_path / "net.parquet")


def test_files_and_formats_that_are_not_there(tmp_path: Path) -> None:
    hon = network(FIGURE)
    hon.save(tmp_path / "air.hon")
    with pytest.raises(MissingFileError, match=r"ari.hon: no such file; did you mean 'air.hon'\?"):
        load_network(tmp_path / "ari.hon")
    with pytest.raises(MissingFileError, match=r"folder .*nowhere does not exist"):
        hon.save(tmp_path / "nowhere" / "net.hon")
    with pytest.raises(InputError, match=r"'.parquett' names no network format; .*did you mean '.parquet'\?"):
        hon.save(tmp_path / "net.parquett")
    with pytest.raises(InputError, match="no extension names no network format"):
        load_network(tmp_path / "net")
    with pytest.raises(
        InputError, match=r"GEXF, for Gephi is written only; networks are read from .hon, .txt"
    ):
        load_network(tmp_path / "net.gexf")
    (tmp_path / "folder.hon").mkdir()
    for act in (lambda: hon.save(tmp_path / "folder.hon"), lambda: load_network(tmp_path / "folder.hon")):
        with pytest.raises(InputError, match="is a folder; name a file"):
            act()
    with pytest.raises(InputError, match="save needs a HigherOrderNetwork, got list"):
        save([], tmp_path / "net.hon")  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", list(FORMATS))
def test_a_writer_that_fails_leaves_what_was_there(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"net{suffix}"
    target.write_bytes(b"before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(InputError, match="cannot be written: No space left on device"):
            network(FIGURE).save(target)
    assert target.read_bytes() == b"before"
    assert [p.name for p in tmp_path.iterdir()] == [target.name]


def test_files_get_ordinary_permissions_and_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "link.hon").symlink_to(tmp_path / "real.hon")
    network(FIGURE).save(tmp_path / "link.hon")
    assert (tmp_path / "link.hon").is_symlink()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "real.hon")}
    assert len(modes) == 1


def test_a_large_network_is_written_in_pieces(tmp_path: Path) -> None:
    """More edges than one piece of a writer holds."""
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, 600, (150_000, 2)), axis=0).astype(str)
    hon = network({(a, b): i + 1 for i, (a, b) in enumerate(pairs.tolist())})
    assert hon.n_edges > 2**16
    for suffix, reader in ((".gexf", nx.read_gexf), (".graphml", nx.read_graphml)):
        hon.save(tmp_path / f"net{suffix}")
        assert reader(tmp_path / f"net{suffix}").size(weight="weight") == hon.weights.sum()
    hon.save(tmp_path / "net.net")
    assert (tmp_path / "net.net").read_text().count("\n") == 3 + 2 * hon.n_nodes + hon.n_edges
    hon.save(tmp_path / "net.txt")
    assert load_network(tmp_path / "net.txt") == hon


def test_published_text_comes_back_line_for_line(shared: Path, tmp_path: Path) -> None:
    source = shared / "data/paper_graphs/wiki2.txt"
    load_network(source).save(tmp_path / "net.txt")
    assert sorted((tmp_path / "net.txt").read_text().splitlines()) == sorted(source.read_text().splitlines())
