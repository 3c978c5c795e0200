"""An id in front of each path, or its count behind it, is told where it is read as an entity."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from honlearn.paths.source import read_paths

STEPS = [" ".join(path) for path in itertools.permutations("abcde", 3)][:40]


def written(folder: Path, lines: list[str]) -> Path:
    file = folder / "paths.txt"
    file.write_text("\n".join(lines))
    return file


def test_counts_that_nobody_named(tmp_path: Path) -> None:
    file = written(tmp_path, [f"{path} {i}" for i, path in enumerate(STEPS, 1)])
    with pytest.warns(UserWarning, match=r"paths.txt: each of .* ends in a whole number.*--trailing-count\)"):
        read_paths(file)
    assert len(read_paths(file, trailing_count=True).vocabulary) == 5


def test_ids_that_nobody_named(tmp_path: Path) -> None:
    file = written(tmp_path, [f"ship{i} {path}" for i, path in enumerate(STEPS)])
    with pytest.warns(UserWarning, match=r"begins with a field of its own.*--skip-columns 1\)"):
        read_paths(file)
    assert len(read_paths(file, skip_columns=1).vocabulary) == 5


@pytest.mark.parametrize(
    "lines",
    [
        STEPS,
        [f"{i % 7} {i % 5} {i % 3}" for i in range(40)],  # entities are numbers
        [f"{path} {i}" for i, path in enumerate(STEPS[:5])],  # too few lines to tell
        [f"{path} stop" for path in STEPS],
    ],
)
def test_paths_alone(tmp_path: Path, lines: list[str]) -> None:
    read_paths(written(tmp_path, lines))  # warnings are errors
