"""``--executor`` of grow and evaluate: the same network and records, and one line where it means nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import honlearn as hl


def honlearn(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "honlearn", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_grow_and_evaluate_on_two_processes(tmp_path: Path) -> None:
    paths = [["A", "C", "D"], ["B", "C", "E"], ["D", "B", "A"]] * 20
    (tmp_path / "paths.txt").write_text("".join(" ".join(path) + "\n" for path in paths))
    done = honlearn("grow", tmp_path / "paths.txt", "-o", tmp_path / "net.hon", "--executor", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert hl.load_network(tmp_path / "net.hon") == hl.grow(paths)
    words = ("--task", "next", "--folds", "2", "--order", "1", "--model", "popular", "--json")
    rows = []
    for name, where in (("one", ()), ("two", ("--executor", "2"))):
        done = honlearn("evaluate", tmp_path / "paths.txt", "-o", tmp_path / name, *words, *where)
        assert done.returncode == 0, done.stderr
        lines = (tmp_path / name / "records.jsonl").read_text().splitlines()
        rows.append(sorted(json.dumps(json.loads(line)["scores"]) for line in lines))
    assert rows[0] == rows[1]
    assert len(rows[0]) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--executor", "rai"], "must be a number of local processes, 'ray'"),
        (["--executor", "2", "--jobs", "3"], "give one of the two"),
    ],
    ids=["unknown", "both"],
)
def test_what_means_no_executor_is_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    net, labels = tmp_path / "net.hon", tmp_path / "labels.csv"
    hl.grow([["A", "B"]]).save(net)
    labels.write_text("node,label\nA,x\nB,y\n")
    done = honlearn("evaluate", net, labels, "-o", tmp_path / "run", "--model", "gcn", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert message in done.stderr
