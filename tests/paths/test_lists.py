"""Python sequences → paths."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.paths import lists
from honlearn.paths.lists import paths_from_lists


def test_names_are_numbered_by_first_appearance() -> None:
    paths = paths_from_lists([["b", "a"], ("a", "c", "b")], counts=[3, 1])
    assert paths.vocabulary.names == ("b", "a", "c")
    assert paths.codes.tolist() == [0, 1, 1, 2, 0]
    assert paths.offsets.tolist() == [0, 2, 5]
    assert paths.counts is not None
    assert paths.counts.tolist() == [3, 1]


def test_any_objects_go_by_their_text() -> None:
    paths = hl.read_paths([[1, "1", np.int64(1)], np.array([2, 1]), (x for x in "ab")])
    assert list(paths) == [("1", "1", "1"), ("2", "1"), ("a", "b")]


def test_names_that_only_look_missing_stay() -> None:
    assert list(hl.read_paths([["None", "nan"], ["<NA>"]])) == [("None", "nan"), ("<NA>",)]


@settings(deadline=None)
@given(st.lists(st.lists(st.text("abcü →", min_size=1, max_size=3), min_size=1), min_size=1))
def test_round_trip(given_paths: list[list[str]]) -> None:
    assert [list(path) for path in hl.read_paths(given_paths)] == given_paths


def test_chunk_size_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [[f"n{(i * j) % 7}" for j in range(1 + i % 4)] for i in range(50)]
    whole = hl.read_paths(rows, counts=range(1, 51))
    monkeypatch.setattr(lists, "_PATHS_A_CHUNK", 3)
    pieces = hl.read_paths(iter(rows), counts=range(1, 51))
    assert list(whole) == list(pieces) == [tuple(row) for row in rows]
    assert whole.vocabulary == pieces.vocabulary
    np.testing.assert_array_equal(whole.counts, pieces.counts)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (["A B", "C"], r"path 0 is a string, 'A B'; wrap it as a list of names, as in \['A', 'B'\]"),
        ([["A"], "B C"], "path 1 is a string"),
        ([["A"], {"B"}], "path 1 is of type set; a path is a list, tuple or array"),
        ([["A"], 7], "path 1 is of type int"),
        ([["A"], ["B", None]], r"path 1, position 1: empty entity id \(None\)"),
        ([["A", ""]], r"path 0, position 1: empty entity id \(''\)"),
        ([["A", float("nan")]], r"path 0, position 1: empty entity id \(nan\)"),
        ([[pd.NaT]], "path 0, position 0: empty entity id"),
        ([["A"], ["A", "b|c"]], "path 1, position 1: entity id 'b|c' contains '|'"),
        ([["A", "\ud800"]], "path 0, position 1: entity id .* is not UTF-8"),
        ([], "no path at all; the source is empty"),
        ([[], []], "the list: no path at all; all were empty"),
    ],
)
def test_bad_paths(bad: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hl.read_paths(bad)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1], "more paths than the 1 counts"),
        ([1, 2, 3], "2 paths but 3 counts"),
        ([1, 0], "path 1: count 0; a count is a whole number, at least 1"),
        ([-2, 1], "path 0: count -2"),
        ([1, 2.5], "path 1: count 2.5"),
        ([1, float("nan")], "path 1: count nan"),
        (["x", "y"], "counts must be one whole number per path"),
        ([[1], [2]], "counts must be one whole number per path; got a table"),
    ],
)
def test_bad_counts(counts: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hl.read_paths([["A"], ["B"]], counts=counts)


def test_missing_items_are_skipped_on_request() -> None:
    paths = hl.read_paths([["A", None, "B"], [""], ["C", float("nan")]], on_empty="skip", counts=[1, 2, 3])
    assert list(paths) == [("A", "B"), ("C",)]
    assert paths.counts is not None
    assert paths.counts.tolist() == [1, 3]


@pytest.mark.parametrize("source", [7, {"A": 1}, {"A"}, b"A B"])
def test_no_source(source: object) -> None:
    with pytest.raises(InputError, match="cannot read paths from an object of type"):
        hl.read_paths(source)


def test_a_graph_is_no_paths() -> None:
    networkx = pytest.importorskip("networkx")
    with pytest.raises(InputError, match=r"a graph of NetworkX holds no paths; hl.from_networkx\(graph\)"):
        hl.read_paths(networkx.path_graph(3))


@pytest.mark.parametrize("name", ["A" * 5000, "~nobody-of-this-name/x", "A\0B"])
def test_texts_that_name_no_file_are_paths_that_were_not_split(name: str) -> None:
    with pytest.raises(InputError, match=r"path 0 is a string, .*; wrap it as a list of names"):
        hl.read_paths([name, "B"])


def test_column_options_do_not_fit_lists() -> None:
    with pytest.raises(ParameterError, match="sequence, entity: for files and tables only; lists take"):
        hl.read_paths([["A"]], sequence="s", entity="e")


def test_an_iterator_is_read_once() -> None:
    def source() -> Iterator[list[str]]:
        yield ["A", "B"]

    stream = hl.stream_paths(source())
    assert [chunk.codes.tolist() for chunk in stream.chunks()] == [[0, 1]]
    with pytest.raises(InputError, match="the iterator can be read only once"):
        list(stream.chunks())
