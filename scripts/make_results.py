"""Write docs/results.md from the folders of runs that `honlearn evaluate` and `honlearn reproduce` have made.

    python scripts/make_results.py runs/wiki wiki=runs/wiki-links runs/flights -o docs/results.md

A folder may hold several runs. NAME=FOLDER says whose data a run is about, where the run does not say it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from honlearn.errors import HonlearnError
from honlearn.pages.results_page import make_page


def main() -> None:
    """Read the words of the command line and write the page."""
    parser = argparse.ArgumentParser(description="Write the page of results from run folders.")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder of a run, or NAME=FOLDER")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/results.md"))
    words = parser.parse_args()
    try:
        files = make_page(words.runs, words.output)
    except HonlearnError as error:
        sys.exit(f"make_results: {error}")
    print(*files, sep="\n")


if __name__ == "__main__":
    main()
