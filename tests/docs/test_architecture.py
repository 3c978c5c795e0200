"""ARCHITECTURE.md: the files that it names are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACES = (ROOT, ROOT / "src" / "honlearn", ROOT / "tests" / "mutation")
# Files of a user's folder, not of the repository.
MADE = {"training.json", "README.md", "records.jsonl"}


def test_files_that_the_architecture_names_are_there() -> None:
    named = 0
    for line in (ROOT / "ARCHITECTURE.md").read_text("utf-8").splitlines():
        # A row may name a folder once and then files in it.
        words = re.findall(r"`([\w./-]+)`", line)
        inside = [place / word for word in words if word.endswith("/") for place in PLACES]
        for word in words:
            if word.endswith((".py", ".md", ".sh", ".toml", ".js", ".csv", ".j2")):
                named += 1
                assert any((place / word).is_file() for place in (*PLACES, *inside)) or word in MADE, word
    assert named > 200
