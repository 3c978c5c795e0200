"""Networks written by workers: the edges of one process, in a folder of files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import honlearn as hl
from honlearn.cli import main
from honlearn.errors import FormatError, InputError, MissingFileError, ParameterError
from honlearn.executors.here import Here


class Wide(Here):
    """Three workers, all of them this process."""

    n_workers = 3


def paths() -> list[list[str]]:
    starts = np.random.default_rng(0).integers(0, 14, (900, 2)).tolist()
    return [[f"n{i}", f"ñ{j}", f"n{(i + j) % 14}", f"n{(i * j) % 5}"] for i, j in starts]


@pytest.mark.parametrize("rule", [{}, {"tau": 1.0, "min_support": 2}])
def test_the_edges_are_those_of_one_process(tmp_path: Path, rule: dict[str, float]) -> None:
    local = hl.grow(paths(), 3, **rule)  # type: ignore[arg-type]
    made = hl.grow_parts(paths(), tmp_path / "net.parquet", 3, executor=Wide(), **rule)  # type: ignore[arg-type]
    assert sorted(file.name for file in made.folder.iterdir()) == [f"part-0000{i}.parquet" for i in range(3)]
    assert all(pq.read_metadata(file).num_rows for file in made.folder.iterdir())
    found = hl.load_network(made.folder)
    assert found == hl.from_edges(*local.to_arrow().columns)
    assert (made.n_entities, made.n_nodes, made.n_edges) == (local.n_entities, local.n_nodes, local.n_edges)
    assert (made.weight, made.parameters) == (local.weights.sum(), local.parameters)


def test_in_one_process_and_on_two(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths()))
    one = hl.grow_parts(paths(), tmp_path / "one.parquet")
    two = hl.grow_parts(str(tmp_path / "paths.txt"), tmp_path / "two.parquet", executor=2)
    assert (one.n_files, two.n_files) == (1, 2)
    assert hl.load_network(one.folder) == hl.load_network(two.folder)


def test_what_cannot_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"net\.hon: parts are Parquet files; name a folder that ends in"):
        hl.grow_parts(paths(), tmp_path / "net.hon")
    (tmp_path / "net.parquet").mkdir()
    with pytest.raises(FormatError, match=r"net\.parquet: a folder without part-00000\.parquet"):
        hl.load_network(tmp_path / "net.parquet")
    hl.grow_parts(paths(), tmp_path / "net.parquet")
    with pytest.raises(InputError, match=r"net\.parquet: exists already; parts need a folder of their own"):
        hl.grow_parts(paths(), tmp_path / "net.parquet")
    with pytest.raises(MissingFileError, match="does not exist; make it first"):
        hl.grow_parts(paths(), tmp_path / "no" / "net.parquet")
    with pytest.raises(InputError, match="the list: no path at all"):
        hl.grow_parts([], tmp_path / "empty.parquet")
    with pytest.raises(ParameterError, match="'order' parameter of grow_parts"):
        hl.grow_parts(paths(), tmp_path / "other.parquet", 0)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths()))
    words = ["grow", str(tmp_path / "paths.txt"), "-o", str(tmp_path / "net.parquet"), "--parts"]

    def run(*more: str) -> int:
        with pytest.raises(SystemExit) as done:
            main([*words, *more])
        return int(done.value.code or 0)

    assert run() == 2
    assert "--parts has workers write a network of a given order; give --executor" in capsys.readouterr().err
    assert run("--executor", "2", "--order", "auto") == 2
    assert "give a number" in capsys.readouterr().err
    assert run("--executor", "2", "--counts", str(tmp_path / "c.counts")) == 2
    assert "leave out --counts" in capsys.readouterr().err
    assert run("--executor", "2", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    local = hl.grow(paths())
    assert (facts["files"], facts["edges"], facts["alpha"]) == (2, local.n_edges, 0.05)
    assert hl.load_network(tmp_path / "net.parquet") == hl.from_edges(*local.to_arrow().columns)
