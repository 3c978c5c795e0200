"""Compile the loops of the builder and of the default model once, so that the first command does not.

Run by scripts/setup.sh.

In: nothing. Out: machine code in numba's cache, beside the package. A failure is no reason to stop a set-up.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import honlearn as hl
from honlearn.cli import main


def warm_up() -> None:
    """Grow small networks from the kinds of files that are most common, by each rule; train and predict."""
    with tempfile.TemporaryDirectory() as folder:
        text, table, labels = (Path(folder, name) for name in ("paths.txt", "events.csv", "labels.csv"))
        text.write_text("A C D\nB C E\n" * 9)
        table.write_text("trip,time,place\n" + "".join(f"{i // 3},{i},{'ABC'[i % 3]}\n" for i in range(30)))
        labels.write_text("node,label\nA,x\nB,y\nC,x\nD,y\nE,x\n")
        network, model = f"{folder}/net.hon", f"{folder}/model"
        for rule in (["--tau", "1"], ["--order", "3"], []):
            run("grow", str(text), "-o", network, *rule)
        hl.grow(table, sequence="trip", order_by="time", entity="place")
        run("train", network, str(labels), "-o", model, "--set", "n_learners=2", "--set", "max_epochs=2")
        run("predict", model, "-o", f"{folder}/predictions.csv")


def run(*words: str) -> None:
    """Run a command of honlearn in this process."""
    try:
        main(list(words))
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"honlearn {words[0]} ended with {end.code}") from None


if __name__ == "__main__":
    try:
        warm_up()
    except Exception as error:
        print(f"warm-up left out: {error}", file=sys.stderr)
