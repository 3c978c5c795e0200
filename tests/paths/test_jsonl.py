"""JSON lines: objects as events or paths, arrays as paths, and errors that name the line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError

EVENTS: dict[str, Any] = {"sequence": "s", "entity": "e"}


def write(path: Path, *lines: object) -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", "utf-8")
    return path


def test_arrays_are_paths(tmp_path: Path) -> None:
    file = write(tmp_path / "p.jsonl", ["A", "B|".strip("|"), 7], "", ["hüb", "A b"], "  ", [], [7.0, True])
    there = [("A", "B", "7"), ("hüb", "A b"), ("7", "true")]
    assert list(hl.read_paths(file)) == there
    for suffix, packed in (
        (".gz", gzip.compress),
        (".zst", lambda raw: pa.compress(raw, "zstd", asbytes=True)),
    ):
        other = tmp_path / f"p.ndjson{suffix}"
        other.write_bytes(packed(file.read_bytes()))
        assert list(hl.read_paths(other)) == there
    assert list(hl.read_paths([file, file])) == there * 2
    bom = tmp_path / "bom.jsonl"
    bom.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert list(hl.read_paths(bom)) == there


def test_objects_as_events(tmp_path: Path) -> None:
    rows = [{"s": 1, "e": "C", "n": 2**63 + 1}, {"s": "2", "e": "A", "n": 0.5, "more": {"x": []}}]
    rows += [
        {"s": 1, "e": "A", "n": 2**63},
        {"n": 0.25, "s": 2, "e": 5},
        {"s": 1.0, "e": "A", "n": 2**63 - 1},
    ]
    file = write(tmp_path / "e.jsonl", *rows)
    assert list(hl.read_paths(file, **EVENTS)) == [("C", "A", "A"), ("A", "5")]
    assert list(hl.read_paths(file, **EVENTS, order_by="n")) == [("A", "A", "C"), ("5", "A")]
    assert list(hl.read_paths(file, **EVENTS, order_by="n", max_gap=0.2)) == [
        ("A",),
        ("A",),
        ("C",),
        ("5",),
        ("A",),
    ]


@pytest.mark.parametrize("zone", ["", "Z", "+02:00"])
def test_times(tmp_path: Path, zone: str) -> None:
    times = [f"2024-05-31T1{i}:00:00.5{zone}" for i in (3, 1, 2, 9)]
    file = write(tmp_path / "e.jsonl", *({"s": 1, "e": "CABD"[i], "t": t} for i, t in enumerate(times)))
    assert list(hl.read_paths(file, **EVENTS, order_by="t", max_gap="2h")) == [("A", "B", "C"), ("D",)]


def test_objects_as_paths(tmp_path: Path) -> None:
    file = write(
        tmp_path / "p.jsonl", {"p": ["A", "B"], "n": 3}, {"p": "A C", "n": "2"}, {"n": 1.0, "p": [1, 2]}
    )
    paths = hl.read_paths(file, path_column="p", count_column="n")
    assert list(paths) == [("A", "B"), ("A", "C"), ("1", "2")]
    assert paths.total == 6


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=("Cs",), exclude_characters="|"), min_size=1), min_size=1
        ),
        min_size=1,
    ),
    st.booleans(),
)
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, paths: list[list[str]], ascii: bool
) -> None:
    file = tmp_path_factory.mktemp("jsonl") / "p.jsonl"
    file.write_text(
        "".join(json.dumps(path, ensure_ascii=ascii) + "\n" for path in paths), "utf-8", newline=""
    )
    assert list(hl.read_paths(file)) == [tuple(path) for path in paths]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('["A"', r":4: not valid JSON \(Expecting ',' delimiter\); each line is one object or one array"),
        ("[1] [2]", r":4: not valid JSON \(Extra data\)"),
        ("[NaN]", r":4: not valid JSON \(NaN is not a number of JSON\)"),
        ("[" * 100_000, r":4: not valid JSON \(nested too deep\)"),
        ("[" + "9" * 5000 + "]", r":4: not valid JSON \(Exceeds the limit"),
        ('{"s": 1}', r":4: the line is an object, not an array, as the first line is"),
        ('["A", ["B"]]', r":4: a name is text or a whole number; got an array"),
        ('["A", 1.5]', r":4: 1\.5 is no id"),
        ('["A", 1e400]', r":4: 1e400 is no id"),
        ('["A", ""]', r":4: empty entity id.*--on-empty skip"),
        ('["A", null]', r":4: empty entity id"),
        ('["A", "B|C"]', r":4: entity id 'B\|C' contains"),
        (r'["A", "\ud800"]', r":4: text with half of a surrogate pair"),
        ('["' + "x" * 200_000 + '"]', r":4: a line of more than 100,000 bytes"),
        ('["' + "x" * 2000 + '"]', r":4: entity id of 2,000 bytes"),
        ('["\udcff"]', r":4: not UTF-8 text"),
    ],
)
def test_arrays_refused(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_bytes(f'["A"]\n\n["B"]\n{line}\n["C"]\n'.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"p\.jsonl" + message):
        hl.read_paths(file, max_line=100_000, max_name=1000)


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ([1], EVENTS, r":3: the line is an array, not an object with columns"),
        ("null", EVENTS, r":3: the line is null, not an object"),
        ({"s": 1}, EVENTS, r":3: empty entity id \(column 'e'\)"),
        ({"s": 1, "e": {}}, EVENTS, r":3: a name is text or a whole number; got an object"),
        (
            {"s": 1, "e": "A", "t": "soon"},
            {**EVENTS, "order_by": "t"},
            r":3: 'soon' \(column 't'\); an order is",
        ),
        ({"s": 1, "e": "A", "t": 7}, {**EVENTS, "order_by": "t"}, r":3: '7' \(column 't'\); an order is"),
        ({"s": 1, "e": "A", "n": "x"}, {**EVENTS, "order_by": "n"}, r":3: 'x' \(column 'n'\); an order is"),
        ({"s": 1, "e": "A"}, {**EVENTS, "order_by": "n"}, r":3: empty order \(column 'n'\)"),
        ({"p": 3}, {"path_column": "p"}, r":3: a path is a list of names, or text to be split; got a number"),
        ({"p": ["A"], "n": 0}, {"path_column": "p", "count_column": "n"}, r":3: count '0'"),
        ({"p": ["A"]}, {"path_column": "p", "count_column": "n"}, r":3: count ''"),
        ({"s": 1, "e": "A"}, {**EVENTS, "entity": "E"}, r": no column 'E' \(entity\).*did you mean 'e'"),
        ({"s": 1, "e": "A"}, {}, r": which columns hold the paths\?.*there are s, e, t, n, p"),
    ],
)
def test_objects_refused(tmp_path: Path, row: object, options: dict[str, Any], message: str) -> None:
    first = {"s": 1, "e": "A", "t": "2024-01-01T00:00:00Z", "n": 1, "p": ["A", "B"]}
    with pytest.raises(InputError, match=r"e\.jsonl" + message):
        hl.read_paths(write(tmp_path / "e.jsonl", first, "", row), **options)


def test_empty(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"e\.jsonl: the file is empty; it needs one JSON value per line"):
        hl.read_paths(write(tmp_path / "e.jsonl", ""))
    with pytest.raises(InputError, match="no path at all"):
        hl.read_paths(write(tmp_path / "e.jsonl", []))


def test_skipped_where_told(tmp_path: Path) -> None:
    file = write(tmp_path / "e.jsonl", {"s": 1, "e": "A"}, {"s": 1}, {"e": "X"}, {"s": 1, "e": "B"})
    assert list(hl.read_paths(file, **EVENTS, on_empty="skip")) == [("A", "B")]
    file = write(tmp_path / "p.jsonl", ["A", None, "B"], ["", "C"])
    assert list(hl.read_paths(file, on_empty="skip")) == [("A", "B"), ("C",)]
