"""Ray and Dask, two local workers each: count, train and evaluate on the bundled flights, as in one process.

    python scripts/cluster_demo.py [-o FOLDER] [--engine ray] [--engine dask]

The same commands run in one process and on each engine; the networks and the records are compared byte for
byte, times apart. `make cluster-demo` sets up what it needs.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WORKERS = 2
SMALL = ("n_learners=4", "widths=32", "max_epochs=15")


@contextmanager
def ray_cluster() -> Iterator[str]:
    """Start a local Ray and yield the word for it."""
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_UV_RUN_RUNTIME_ENV="0")
    import ray

    ray.init(
        num_cpus=WORKERS,
        object_store_memory=200 << 20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    try:
        yield "ray"
    finally:
        ray.shutdown()


@contextmanager
def dask_cluster() -> Iterator[str]:
    """Start a local Dask cluster and yield its address."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


ENGINES = {"ray": ray_cluster, "dask": dask_cluster}


def run(*words: object) -> None:
    """Show a command and run it here."""
    from honlearn.cli import main

    typed = [str(word) for word in words]
    print(f"$ honlearn {shlex.join(typed)}", flush=True)
    with suppress(SystemExit):
        main(typed)


def commands(flights: Path, folder: Path, executor: tuple[str, ...]) -> None:
    """Grow a network and evaluate two models on it."""
    network = folder / "air.hon"
    run("grow", flights / "paths.txt", "-o", network, "--order", 2, "--tau", 10, *executor)
    models = ("--model", "dge-bag", "--model", "majority", "--folds", 2)
    settings = ("--set", *(f"dge-bag:{setting}" for setting in SMALL))
    run("evaluate", network, flights / "labels.csv", "-o", folder / "run", *models, *settings, *executor)


def made(folder: Path) -> tuple[bytes, list[str]]:
    """Return the network and the records, without their times."""
    from honlearn.results.records import FILE

    records = []
    for line in (folder / "run" / FILE).read_text("utf-8").splitlines():
        record = json.loads(line)
        record.pop("times", None)
        records.append(json.dumps(record, sort_keys=True))
    return (folder / "air.hon").read_bytes(), sorted(records)


def demonstrate(output: Path, engines: list[str]) -> bool:
    """Run everything in one process and on each engine; return whether all are equal."""
    flights = output / "us_flights"
    run("data", "get", "us_flights", "-o", flights, "--force")
    print("\nIn one process", flush=True)
    (output / "one").mkdir()
    commands(flights, output / "one", ())
    expected, equal = made(output / "one"), True
    for engine in engines:
        print(f"\nOn {engine} with {WORKERS} workers", flush=True)
        (output / engine).mkdir()
        with ENGINES[engine]() as address:
            commands(flights, output / engine, ("--executor", address))
        same = made(output / engine) == expected
        print(f"{engine}: network and records {'equal' if same else 'DIFFER from'} those of one process")
        equal = equal and same
    return equal


def main(arguments: list[str] | None = None) -> int:
    """Run the demonstration; 0 if everything is equal."""
    parser = argparse.ArgumentParser(description="Counting and evaluating on Ray and Dask")
    parser.add_argument("-o", "--output", type=Path, help="folder for what is made; default: a temporary one")
    parser.add_argument("--engine", action="append", choices=sorted(ENGINES))
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=ResourceWarning)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="honlearn-demo-") as folder:
        output = options.output or Path(folder)
        output.mkdir(parents=True, exist_ok=True)
        equal = demonstrate(output, options.engine or ["ray", "dask"])
    print(f"Done in {time.perf_counter() - started:.0f} s.")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
