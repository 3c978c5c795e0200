"""Write docs/ablations.md from the folders RUNS/DATA/IDEA of runs that `honlearn evaluate` has made.

    python scripts/make_ablations.py runs/ablations -o docs/ablations.md --notes notes.md

`--notes` is a Markdown file whose text goes below the tables: what was tried and left out, and why.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from honlearn.errors import HonlearnError
from honlearn.pages.ablation_page import make_page


def main() -> None:
    """Read the words of the command line and write the page."""
    parser = argparse.ArgumentParser(description="Write the page of ablations from run folders.")
    parser.add_argument("runs", type=Path, metavar="RUNS", help="folder with a folder for each data set")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/ablations.md"))
    parser.add_argument("--notes", type=Path, help="Markdown that goes below the tables")
    words = parser.parse_args()
    try:
        make_page(words.runs, words.output, words.notes.read_text("utf-8") if words.notes else "")
    except HonlearnError as error:
        sys.exit(f"make_ablations: {error}")
    print(words.output)


if __name__ == "__main__":
    main()
