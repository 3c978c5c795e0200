"""Filters on chunks, against the plain Python that they replace."""

from __future__ import annotations

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import InputError
from honlearn.paths import ReaderOptions
from honlearn.paths.filters import PathFilter

PATHS = st.lists(st.lists(st.sampled_from("ABCD"), max_size=8), min_size=1, max_size=12)


def plainly(path: list[str], drop_repeats: bool, first_only: bool) -> list[str]:
    if drop_repeats:
        path = [name for name, _ in groupby(path)]
    return list(dict.fromkeys(path)) if first_only else path


@settings(deadline=None)  # the first example compiles
@given(PATHS, st.booleans(), st.booleans(), st.integers(1, 4))
def test_filters_against_plain_python(
    paths: list[list[str]], drop_repeats: bool, first_only: bool, min_length: int
) -> None:
    expected = [
        (tuple(short), row + 1)
        for row, path in enumerate(paths)
        if len(short := plainly(path, drop_repeats, first_only)) >= min_length
    ]
    stream = hl.stream_paths(
        paths,
        counts=range(1, len(paths) + 1),
        drop_repeats=drop_repeats,
        first_only=first_only,
        min_length=min_length,
    )
    if not expected:
        with pytest.raises(InputError, match="no path at all"):
            list(stream.chunks())
        return
    chunks = list(stream.chunks())
    names = stream.vocabulary.names
    found = [
        (tuple(names[c] for c in chunk.codes[a:b]), int(chunk.counts[i]))
        for chunk in chunks
        for i, (a, b) in enumerate(zip(chunk.offsets[:-1], chunk.offsets[1:], strict=True))
        if chunk.counts is not None
    ]
    assert found == expected
    assert stream.dropped == len(paths) - len(expected)


def test_first_only_starts_anew_in_each_path_and_chunk() -> None:
    keep = PathFilter(ReaderOptions(first_only=True))
    chunk = next(hl.read_paths([["A", "B", "A"], ["A", "A"]]).chunks())
    for _ in range(2):
        assert keep(chunk).codes.tolist() == [0, 1, 0]


def test_paths_are_filtered_again_without_names_that_are_gone() -> None:
    paths = hl.read_paths([["X"], ["A", "B", "A"]])
    assert hl.read_paths(paths) is paths
    again = hl.read_paths(paths, first_only=True, min_length=2)
    assert list(again) == [("A", "B")]
    assert again.vocabulary.names == ("A", "B")
