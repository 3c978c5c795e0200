"""What counting costs on an executor: the same file in one process, on local processes, on Ray and on Dask.

    python benchmarks/bench_executors.py [--preset air|thousandth] [--scale 0.01] [--file F] [--order 2]
                                         [--executor 1 --executor ray …] [--repeat 3] [--json FILE]
                                         [--workers 2] [--apart]

Workers are up and have counted a small file before the clock starts; what that took is `start`. CPU seconds
are those of this process and of all that it has started (each by itself, too), peak memory that of the
largest worker. The last lines are the figures of the model of the cost in docs/scaling.md: each phase alone,
in one process, first of counting, then of growing a network (by GrowHON's rule, and by evidence) that is
finished on the workers. With ``--apart`` the executors grow such a network, too, instead of counting.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from inputs import OWN, PRESETS, path_file

from honlearn.executors import open_executor
from honlearn.executors.here import Here
from honlearn.hon import grow_on
from honlearn.hon.build import count_grams, grow
from honlearn.hon.network import HigherOrderNetwork


def family() -> list[Any]:
    """Return this process and all that it has started."""
    import psutil

    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def cpu_seconds() -> dict[int, float]:
    """Return the CPU seconds of each process of the family so far."""
    found = {}
    for process in family():
        try:
            times = process.cpu_times()
        except Exception:  # it ended meanwhile
            continue
        found[process.pid] = times.user + times.system
    return found


def peak_of(pid: int) -> float:
    """Return the peak memory of a process in megabytes, as Linux tells it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return float(found[0]) / 1e3 if found else 0.0


def arrays_of(counts: Any) -> list[bytes]:
    """Return all bytes of counts or of a network."""
    if isinstance(counts, HigherOrderNetwork):
        return [array.tobytes() for array in (counts.indptr, counts.indices, counts.weights, counts.grams)]
    """Return the counts as bytes."""
    levels = [array.tobytes() for level in counts.levels for array in vars(level).values()]
    return [*levels, counts.vocabulary.data.tobytes()]


def measure(spec: str, file: Path, small: Path, options: Any) -> tuple[dict[str, Any], Any]:
    """Return a row of figures, the best of so many, and the counts or the network."""
    work, warm = (work_of(one, options.order, options.apart) for one in (file, small))
    begun = time.perf_counter()
    with open_executor(spec) as pool:
        where = None if spec == "1" else pool
        warm(where)
        start = time.perf_counter() - begun
        rows = []
        for _ in range(options.repeat):
            wall, before = time.perf_counter(), cpu_seconds()
            found = work(where)
            seconds, after = time.perf_counter() - wall, cpu_seconds()
            rows.append((seconds, [total - before.get(pid, 0.0) for pid, total in after.items()]))
        peak = max([peak_of(process.pid) for process in family()[1:]], default=peak_of(os.getpid()))
        workers = pool.n_workers
    row = {"executor": spec, "workers": workers, "start_s": round(start, 2), "peak_worker_mb": round(peak)}
    least = min((each for _, each in rows), key=sum)
    row |= {"wall_s": round(min(wall for wall, _ in rows), 2), "cpu_s": round(sum(least), 2)}
    row["cpu_of_each_s"] = [round(one, 2) for one in least]
    return row, found


class Timed(Here):
    """So many workers, all of them this process; it adds up CPU time and bytes of each kind of task."""

    def __init__(self, workers: int) -> None:
        self.n_workers = workers
        self.spent: dict[str, float] = {}
        self.sent: dict[str, int] = {}
        self.sizes: list[int] = []
        self.steps: list[float] = []
        self.gathered = 0

    def submit(self, function: Any, *args: Any, pieces: int | None = None) -> Any:
        """Run a task, and note what it took and made."""
        begun = time.process_time()
        found = super().submit(function, *args, pieces=pieces)
        name = function.__name__.strip("_")
        self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - begun
        values = [handle.value for handle in (found if pieces is not None else [found])]
        self.sent[name] = self.sent.get(name, 0) + bytes_in(values)
        if name == "count_partition":
            self.sizes.append(values[0].size)
            self.steps.append(values[0].steps)
        return found

    def get(self, handle: Any) -> Any:
        """Return a value, and note its size."""
        value = super().get(handle)
        self.gathered += bytes_in(value)
        return value


def bytes_in(value: Any) -> int:
    """Return the bytes of the arrays in a value."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, dict):
        return sum(map(bytes_in, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(bytes_in, value))
    return sum(map(bytes_in, vars(value).values())) if hasattr(value, "__dict__") else 0


def phases(workers: int, work: Callable[[Any], Any], title: str) -> dict[str, Any]:
    """Return what each phase of `work` on so many workers takes, one after another in this process."""
    pool, begun = Timed(workers), time.process_time()
    work(pool)
    whole = time.process_time() - begun
    sent = {f"{name}_mb": round(size / 1e6, 1) for name, size in pool.sent.items() if size > 100_000}
    return {
        "phases": title,
        "parts": len(pool.sizes),
        "steps": int(sum(pool.steps)),
        "windows_of_parts": sum(pool.sizes),
        **{f"{name}_s": round(seconds, 3) for name, seconds in pool.spent.items()},
        "here_s": round(whole - sum(pool.spent.values()), 3),
        **sent,
        "gathered_mb": round(pool.gathered / 1e6, 1),
    }


def work_of(file: Path, order: int, apart: bool, **rule: Any) -> Callable[[Any], Any]:
    """Return what is measured: counting, or growing a network that is finished on the workers."""

    def count(pool: Any) -> Any:
        return count_grams(str(file), order, executor=pool)

    def finish(pool: Any) -> Any:
        before = grow_on.LEAST_FINISHED_APART, grow_on.LEAST_TESTED_APART
        grow_on.LEAST_FINISHED_APART = grow_on.LEAST_TESTED_APART = 0
        try:
            return grow(str(file), order, executor=pool, **rule)
        finally:
            grow_on.LEAST_FINISHED_APART, grow_on.LEAST_TESTED_APART = before

    return finish if apart else count


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description="Benchmark of counting on executors")
    parser.add_argument("--preset", choices=sorted(PRESETS | OWN), default="air")
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE", 1)))
    parser.add_argument("--file", type=Path, help="a text file of paths, instead of a preset")
    parser.add_argument("--order", type=int, default=2)
    parser.add_argument("--executor", action="append", help="default: 1, 2, ray and dask")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many is shown")
    parser.add_argument("--workers", type=int, default=2, help="of the phases that are measured one by one")
    parser.add_argument("--apart", action="store_true", help="grow a network on the workers")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    file = options.file or path_file(options.preset, options.scale)
    small = path_file(options.preset, 0.0001)
    rows, known = [], None
    for spec in options.executor or ["1", "2", "ray", "dask"]:
        row, made = measure(spec, file, small, options)
        found = arrays_of(made)
        known = known or found
        row["equal"] = found == known
        rows.append(row)
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    told = {"counting": None, "growing by tau": {"tau": 1.0, "min_support": 2}, "growing by evidence": {}}
    for title, rule in told.items():
        work = work_of(file, options.order, rule is not None, **(rule or {}))
        rows.append(phases(options.workers, work, title))
        print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return rows


if __name__ == "__main__":
    main()
