"""What counting costs on an executor: the same file in one process, on local processes, on Ray and on Dask.

    python benchmarks/bench_executors.py [--preset air|thousandth] [--scale 0.01] [--file F] [--order 2]
                                         [--executor 1 --executor ray …] [--repeat 3] [--json FILE]

Workers are up and have counted a small file before the clock starts; what that took is `start`. CPU seconds
are those of this process and of all that it has started, peak memory that of the largest worker. The last
lines are the figures of the model of the cost in docs/scaling.md: each phase alone, in one process.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from inputs import OWN, PRESETS, path_file

from honlearn.executors import open_executor
from honlearn.hon.build import count_grams


def family() -> list[Any]:
    """Return this process and all that it has started."""
    import psutil

    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def cpu_seconds() -> float:
    """Return the CPU seconds of the family so far."""
    total = 0.0
    for process in family():
        try:
            times = process.cpu_times()
        except Exception:  # it ended meanwhile
            continue
        total += times.user + times.system
    return total


def peak_of(pid: int) -> float:
    """Return the peak memory of a process in megabytes, as Linux tells it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in lines if line.startswith("VmHWM")]
    return float(found[0]) / 1e3 if found else 0.0


def arrays_of(counts: Any) -> list[bytes]:
    """Return the counts as bytes."""
    levels = [array.tobytes() for level in counts.levels for array in vars(level).values()]
    return [*levels, counts.vocabulary.data.tobytes()]


def measure(spec: str, file: Path, small: Path, order: int, repeat: int) -> tuple[dict[str, Any], Any]:
    """Return a row of figures, the best of so many, and the counts."""
    begun = time.perf_counter()
    with open_executor(spec) as pool:
        where = None if spec == "1" else pool
        count_grams(str(small), order, executor=where)
        start = time.perf_counter() - begun
        rows = []
        for _ in range(repeat):
            wall, cpu = time.perf_counter(), cpu_seconds()
            counts = count_grams(str(file), order, executor=where)
            rows.append((time.perf_counter() - wall, cpu_seconds() - cpu))
        peak = max([peak_of(process.pid) for process in family()[1:]], default=peak_of(os.getpid()))
        workers = pool.n_workers
    row = {"executor": spec, "workers": workers, "start_s": round(start, 2), "peak_worker_mb": round(peak)}
    row |= {"wall_s": round(min(wall for wall, _ in rows), 2), "cpu_s": round(min(cpu for _, cpu in rows), 2)}
    return row, counts


def phases(file: Path, order: int, workers: int) -> dict[str, Any]:
    """Return what each phase of counting on so many workers takes, one after another in this process."""
    from honlearn.executors.here import Here

    class Wide(Here):
        """So many workers, all of them this process; it adds up the CPU time of each kind of task."""

        n_workers = workers

        def __init__(self) -> None:
            self.spent: dict[str, float] = {}
            self.sizes: list[int] = []
            self.steps: list[float] = []

        def submit(self, function: Any, *args: Any, pieces: int | None = None) -> Any:
            begun = time.process_time()
            found = super().submit(function, *args, pieces=pieces)
            name = function.__name__
            self.spent[name] = self.spent.get(name, 0.0) + time.process_time() - begun
            if name == "count_partition":
                self.sizes.append(found[0].value.size)
                self.steps.append(found[0].value.steps)
            return found

    pool, begun = Wide(), time.process_time()
    counts = count_grams(str(file), order, executor=pool)
    whole = time.process_time() - begun
    spent = {f"{name.strip('_')}_s": round(seconds, 3) for name, seconds in pool.spent.items()}
    return {
        "parts": len(pool.sizes),
        "steps": int(sum(pool.steps)),
        "entities": len(counts.vocabulary),
        "windows": len(counts.levels[-1]),
        "windows_of_parts": sum(pool.sizes),
        "shuffled_mb": round(16 * sum(pool.sizes) / 1e6, 1),
        **spent,
        "finish_s": round(whole - sum(pool.spent.values()), 3),
    }


def main(arguments: list[str] | None = None) -> list[dict[str, Any]]:
    parser = argparse.ArgumentParser(description="Benchmark of counting on executors")
    parser.add_argument("--preset", choices=sorted(PRESETS | OWN), default="air")
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE", 1)))
    parser.add_argument("--file", type=Path, help="a text file of paths, instead of a preset")
    parser.add_argument("--order", type=int, default=2)
    parser.add_argument("--executor", action="append", help="default: 1, 2, ray and dask")
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many is shown")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    file = options.file or path_file(options.preset, options.scale)
    small = path_file(options.preset, 0.0001)
    rows, known = [], None
    for spec in options.executor or ["1", "2", "ray", "dask"]:
        row, counts = measure(spec, file, small, options.order, options.repeat)
        found = arrays_of(counts)
        known = known or found
        row["equal"] = found == known
        rows.append(row)
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)
    rows.append(phases(file, options.order, 2))
    print("  ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return rows


if __name__ == "__main__":
    main()
