"""Load: many fits, many predictions, many jobs with kills between them, and a report of many entities.

    python benchmarks/load.py [--scale 1] [--only fits,predictions,jobs,report] [--json FILE]

`fits` are 200 fits in one process and the growth of its memory over the last three quarters of them;
`predictions` are 100,000 entities asked for in batches of ten. `jobs` is an evaluation of 1,000 jobs whose
process is killed three times at random moments and started again; its records are compared with those of a
run that nobody killed. `report` is the page of 20,000 entities: its CPU time and size, and how long a browser
takes until it is drawn. Sizes are times the scale; each part is a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import honlearn as hl

FOLDER = Path(__file__).resolve().parent
FITS, PREDICTIONS, JOBS, KILLS, ENTITIES = 200, 100_000, 1_000, 3, 20_000
PARTS = ("fits", "predictions", "jobs", "report")
FOLDS, BATCH, SEED = 5, 10, 0


def small_data() -> Any:
    return hl.datasets.synthetic(2, n_nodes=60, n_hubs=4, n_destinations=3)


def small_fit(made: Any, seed: int) -> Any:
    training = hl.Training(max_epochs=3, patience=2)
    learner = hl.learners.SAGE(widths=(8, 8))
    given = {"n_learners": 4, "training": training, "n_threads": 1, "random_state": seed}
    model = hl.DGEClassifier(hl.grow(made.paths), learner, **given)
    return model.fit(list(made.labels), list(made.labels.values()))


def resident_mb() -> float:
    from honlearn.ensemble.memory import resident_memory

    gc.collect()
    return resident_memory() / 1e6


def fits(scale: float) -> dict[str, Any]:
    """Fit again and again, and return the memory after a quarter of the fits and after all of them."""
    count, made = max(int(FITS * scale), 8), small_data()
    memory, started = [], time.process_time()
    for seed in range(count):
        small_fit(made, seed).predict_proba(list(made.labels))
        if seed % max(count // 40, 1) == 0 or seed == count - 1:
            memory.append((seed, resident_mb()))
    late = [(n, mb) for n, mb in memory if n >= count // 4]
    slope = np.polyfit([n for n, _ in late], [mb for _, mb in late], 1)[0]
    return {
        "what": f"{count:,} fits in one process",
        "cpu_s": round(time.process_time() - started, 1),
        "first_mb": round(memory[0][1], 1),
        "quarter_mb": round(late[0][1], 1),
        "last_mb": round(late[-1][1], 1),
        "kb_per_fit": round(1000 * float(slope), 1),
    }


def predictions(scale: float) -> dict[str, Any]:
    """Ask for entities in small batches; every batch has to be what the whole table says."""
    count, made = max(int(PREDICTIONS * scale), 100), small_data()
    model, names = small_fit(made, SEED), list(made.labels)
    whole, random = model.predict_proba(names), np.random.default_rng(SEED)
    first, started = resident_mb(), time.process_time()
    for _ in range(count // BATCH):
        asked = random.integers(0, len(names), BATCH)
        if not np.array_equal(model.predict_proba([names[i] for i in asked]), whole[asked]):
            raise SystemExit("a small batch is predicted otherwise than the whole table")
    seconds = time.process_time() - started
    return {
        "what": f"{count:,} predictions in batches of {BATCH}",
        "cpu_s": round(seconds, 1),
        "per_s": round(count / seconds),
        "first_mb": round(first, 1),
        "last_mb": round(resident_mb(), 1),
    }


def jobs(scale: float) -> dict[str, Any]:
    """Evaluate twice, once with kills; return how often it was killed and what the records have in common."""
    seeds, made = max(int(JOBS * scale) // FOLDS, 4), small_data()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hl.grow(made.paths).save(folder / "net.hon")
        rows = "".join(f"{node},{label}\n" for node, label in made.labels.items())
        (folder / "labels.csv").write_text("node,label\n" + rows)
        words = [sys.executable, "-m", "honlearn", "evaluate", "net.hon", "labels.csv", "--model", "majority",
                 "--folds", str(FOLDS), "--seeds", str(seeds), "--no-artefacts", "-o"]  # fmt: skip
        started = time.monotonic()
        subprocess.run([*words, "whole"], cwd=folder, check=True, capture_output=True)
        seconds = time.monotonic() - started
        random, kills = np.random.default_rng(SEED), []
        while len(kills) < KILLS:
            with subprocess.Popen(
                [*words, "killed"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as process:
                _wait_for_records(
                    process, folder / "killed", int(random.integers(1, seeds * FOLDS // (2 * KILLS)))
                )
                process.send_signal(signal.SIGKILL)
            kills.append(_lines(folder / "killed"))
        subprocess.run([*words, "killed"], cwd=folder, check=True, capture_output=True)
        whole, killed = _records(folder / "whole"), _records(folder / "killed")
    return {
        "what": f"{len(whole):,} jobs with {KILLS} kills",
        "wall_s": round(seconds, 1),
        "records_at_kills": kills,
        "same_records": whole == killed,
    }


def _lines(folder: Path) -> int:
    file = folder / "records.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _wait_for_records(process: subprocess.Popen[bytes], folder: Path, more: int) -> None:
    """Wait until a run has at least so many records more than it had, or has ended."""
    before = _lines(folder)
    while process.poll() is None and _lines(folder) < before + more:
        time.sleep(0.005)


def _records(folder: Path) -> list[str]:
    from honlearn.results.record import Times
    from honlearn.results.records import Records

    kept = [replace(record, times=Times()).to_json() for record in Records(folder)]
    return sorted(json.dumps(record, sort_keys=True) for record in kept)


def report(scale: float) -> dict[str, Any]:
    """Write the page of a made-up run, and open it where there is a browser."""
    sys.path.insert(0, str(FOLDER.parent / "tests" / "reporting"))
    from report_cases import large_network, write_run

    from honlearn.reporting.build import write_report

    entities = max(int(ENTITIES * scale), 50)
    network = large_network(entities, 3 * entities)
    labels = {name: f"class {i % 11}" for i, name in enumerate(network.vocabulary.names)}
    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder, "run"), network, labels, learners=16, folds=5)
        started = time.process_time()
        page = write_report(run, Path(folder, "report.html"))
        seconds = time.process_time() - started
        return {
            "what": f"report of {entities:,} entities, {3 * entities:,} contexts",
            "cpu_s": round(seconds, 1),
            "mb": round(page.stat().st_size / 1e6, 1),
            "opens_s": _opened(page),
        }


def _opened(page: Path) -> float | None:
    """Return the seconds from the request to a page that is drawn; None without a browser."""
    try:
        from playwright.sync_api import sync_playwright

        from conftest import FLAGS, _chromium
    except ImportError:
        return None
    if (path := _chromium()) is None:
        return None
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        started = time.monotonic()
        tab.goto(page.as_uri())
        tab.wait_for_selector("html[data-drawn=true]", state="attached")
        seconds = time.monotonic() - started
        browser.close()
    return round(seconds, 2)


def apart(part: str, scale: float) -> dict[str, Any]:
    """Run one part in a process of its own, whose memory and time are its own."""
    code = "import json, load, sys; print(json.dumps(getattr(load, sys.argv[1])(float(sys.argv[2]))))"
    path = os.pathsep.join([str(FOLDER), str(Path(hl.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    out = subprocess.run(
        [sys.executable, "-c", code, part, str(scale)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return dict(json.loads(out.stdout.splitlines()[-1]))


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    """Run the parts, print a row for each, and return the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    rows = []
    for part in given.only.split(","):
        rows.append(apart(part, given.scale))
        print(", ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


if __name__ == "__main__":
    main()
