"""Compile the builder's loops once, so that the first command does not: run by scripts/setup.sh.

In: nothing. Out: machine code in numba's cache, beside the package. A failure is no reason to stop a set-up.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import honlearn as hl
from honlearn.cli import main


def warm_up() -> None:
    """Grow small networks from the kinds of files that are most common, by each rule."""
    with tempfile.TemporaryDirectory() as folder:
        text, table = Path(folder, "paths.txt"), Path(folder, "events.csv")
        text.write_text("A C D\nB C E\n" * 9)
        table.write_text("trip,time,place\n" + "".join(f"{i // 3},{i},{'ABC'[i % 3]}\n" for i in range(30)))
        for rule in ([], ["--tau", "1"], ["--order", "3"]):
            try:
                main(["grow", str(text), "-o", str(Path(folder, "net.hon")), *rule])
            except SystemExit as end:
                if end.code:
                    raise
        hl.grow(table, sequence="trip", order_by="time", entity="place")


if __name__ == "__main__":
    try:
        warm_up()
    except Exception as error:
        print(f"warm-up left out: {error}", file=sys.stderr)
