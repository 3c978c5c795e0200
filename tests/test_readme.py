"""README as a new user copies it: its Python and its command run, and print what is shown."""

from __future__ import annotations

import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
MOST_LINES = 120


def _blocks(kind: str) -> list[str]:
    """Return the fenced blocks of a kind; one without a kind is what is typed or printed."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == kind]


def test_it_is_short() -> None:
    lines = README.read_text("utf-8").splitlines()
    assert len(lines) <= MOST_LINES


def test_files_that_it_names_are_there() -> None:
    for name in re.findall(r"\]\(([^)#:]+)\)", README.read_text("utf-8")):
        assert (README.parent / name).exists(), name


def test_its_python_runs_and_prints_what_is_shown(tmp_path: Path) -> None:
    (code,) = _blocks("python")
    shown = _blocks("")[-1].strip()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == shown
    made = {path.name for path in (tmp_path / "flights").iterdir()}
    assert made == {"predictions.csv", "model", "network.hon", "report.html"}
    assert (tmp_path / "flow.png").stat().st_size > 10_000


def test_its_command_prints_what_is_shown(tmp_path: Path) -> None:
    """The line after ``$`` on a small table, with --quick and two folds; "…" stands for anything."""
    draw = random.Random(1)
    rows = ["visitor,when,page"]
    for user in range(120):
        group = "ab"[user % 2]
        rows += [f"u{user},2024-01-01 10:0{step}:00,{group}{draw.randrange(8)}" for step in range(4)]
    (tmp_path / "clicks.csv").write_text("\n".join(rows) + "\n")
    labels = [f"{group}{i},{group}" for group in "ab" for i in range(6)]
    (tmp_path / "labels.csv").write_text("\n".join(["page,kind", *labels]) + "\n")
    (block,) = [text for text in _blocks("") if text.startswith("$ ")]
    line, _, shown = block.removeprefix("$ ").partition("\n")
    words = shlex.split(line)
    assert words[0] == "honlearn"
    done = subprocess.run(
        [sys.executable, "-m", "honlearn", *words[1:], "--quick", "--folds", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    pattern = ".*".join(re.escape(piece) for piece in shown.strip("\n").split("…"))
    assert re.search(pattern, done.stdout, re.DOTALL), done.stdout
    for name in ("report.html", "predictions.csv", "network.hon", "model"):
        assert name in shown
        assert (tmp_path / "out" / name).exists()
