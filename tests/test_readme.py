"""README as a new user copies it: its Python runs as it stands, and prints what is shown."""

from __future__ import annotations

import re
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
