"""Streams, text through the common door, and what importing the readers costs."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import honlearn as hl
from honlearn.errors import HonlearnError, ParameterError
from honlearn.paths import PathStream, as_source


def test_a_stream_is_read_again_from_its_start(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("A B\nB C D\n")
    stream = hl.stream_paths(file)
    with pytest.raises(HonlearnError, match="vocabulary is complete only after"):
        _ = stream.vocabulary
    for _ in range(2):
        (chunk,) = stream.chunks()
        assert chunk.codes.tolist() == [0, 1, 1, 2, 3]
        assert chunk.counts is None
        assert stream.vocabulary.names == ("A", "B", "C", "D")


def test_text_and_ngrams_with_filters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A A B\nC\n")
    (tmp_path / "b.txt").write_text("B A\n")
    (tmp_path / "c.ngram").write_text("A,B,5\nC,D,1\n")
    found = hl.read_paths(str(tmp_path / "*.txt"), drop_repeats=True, min_length=2)
    assert list(found) == [("A", "B"), ("B", "A")]
    grams = hl.read_paths(tmp_path / "c.ngram", trailing_count=True)
    assert list(grams) == [("A", "B"), ("C", "D")]
    assert grams.counts is not None
    assert grams.counts.tolist() == [5, 1]


def test_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.txt").write_text("A B\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert list(hl.read_paths("~/p.txt")) == list(hl.read_paths("~/*.txt")) == [("A", "B")]


def test_as_source_takes_everything() -> None:
    paths = hl.read_paths([["A", "B"]])
    assert as_source(paths) is paths
    stream = as_source([["A", "B"]])
    assert isinstance(stream, PathStream)
    assert as_source(stream) is stream
    with pytest.raises(ParameterError, match="give them to stream_paths instead"):
        as_source(stream, min_length=2)
    table = pd.DataFrame({"s": [1, 1], "e": ["A", "B"]})
    (chunk,) = as_source(table, sequence="s", entity="e").chunks()
    assert chunk.codes.tolist() == [0, 1]


def test_an_empty_chunk_is_no_path(tmp_path: Path) -> None:
    paths = hl.read_paths([["A"]] * 3 + [["A", "B"]])
    chunks = list(as_source(paths, min_length=2).chunks())
    assert [np.diff(chunk.offsets).tolist() for chunk in chunks] == [[2]]


class Screen(io.StringIO):
    terminal = False

    def isatty(self) -> bool:
        return self.terminal


def test_a_bar_only_when_asked_or_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "e.csv"
    file.write_text("s,e\n" + "1,A\n" * 10)
    monkeypatch.setenv("TERM", "xterm")
    for terminal, show, drawn in ((False, None, False), (True, None, True), (True, False, False)):
        screen = Screen()
        screen.terminal = terminal
        monkeypatch.setattr(sys, "stderr", screen)
        hl.read_paths(file, sequence="s", entity="e", progress=show)
        assert ("reading e.csv" in screen.getvalue()) is drawn


def test_importing_the_readers_is_light() -> None:
    code = (
        "import sys, honlearn.paths, honlearn.paths.options, honlearn.cli.reader_options;"
        "print([m for m in ('numba', 'pyarrow', 'pandas', 'polars', 'torch') if m in sys.modules]);"
        "honlearn.paths.read_paths([['A', 'B']]);"
        "print([m for m in ('pyarrow', 'pandas', 'polars', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"]


def test_unknown_name_in_the_package() -> None:
    import honlearn.paths

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = honlearn.paths.nothing
    assert "read_paths" in dir(honlearn.paths)
