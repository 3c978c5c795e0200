"""How fast and in how much memory a network is built from text, against what any Python program would pay.

    python benchmarks/bench_grow.py [--scale 0.01] [--json FILE]

Each row is a process of its own: CPU seconds (user + system, start-up included) and peak memory as the
operating system counts them. `split and number` is what plain Python takes to split the same file and give each
name a number: the floor of any builder without compiled reading. `oracle` is the dictionary builder of the tests,
on a small part of the input.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from inputs import ROOT, path_file

GROW = "import sys, honlearn as hl; hl.grow(hl.stream_paths(sys.argv[1]), order=int(sys.argv[2]))"
NUMBER = """
import sys
numbers = {}
for line in open(sys.argv[1]):
    path = [numbers.setdefault(name, len(numbers)) for name in line.split()]
"""
ORACLE = f"""
import sys; sys.path.insert(0, {str(ROOT / "tests" / "hon")!r})
import oracle
oracle.grow([line.split() for line in open(sys.argv[1])], int(sys.argv[2]))
"""
READ = "import sys\nwith open(sys.argv[1], 'rb', 0) as f:\n    while f.read(1 << 20): pass"


def measure(program: str, *arguments: object) -> tuple[float, float]:
    """Return CPU seconds and peak megabytes of a Python program."""
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"a benchmark program failed: {program[:60]}…")
    per_unit = 1e6 if sys.platform == "darwin" else 1e3
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / per_unit


def main(arguments: list[str] | None = None) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(description="Benchmark of the network builder")
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE", 1)))
    parser.add_argument("--repeat", type=int, default=3, help="the best of so many is shown")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []

    def add(data: str, what: str, program: str, *words: object, times: int = options.repeat) -> float:
        results = [measure(program, *words) for _ in range(times)]
        cpu, memory = min(results)
        rows.append({"data": data, "what": what, "cpu_s": round(cpu, 2), "peak_mb": round(memory)})
        return cpu

    print(f"{'data':<22}{'what':<22}{'CPU s':>8}{'peak MB':>9}   ratio")
    for preset in ("air", "mag"):
        file = path_file(preset, options.scale)
        measure(GROW, file, 2)  # compiles once, when the machine code is not there yet
        measure(GROW, file, 3)
        add(file.stem, "read the bytes", READ, file)
        plain = add(file.stem, "split and number", NUMBER, file, times=1)
        for order in (2, 3):
            cpu = add(file.stem, f"grow k={order}", GROW, file, order)
            rows[-1]["ratio"] = f"{plain / cpu:.1f}x faster than split and number"
        small = path_file(preset, options.scale * 0.01)
        oracle = add(small.stem, "oracle k=2", ORACLE, small, 2, times=1)
        cpu = add(small.stem, "grow k=2", GROW, small, 2)
        rows[-1]["ratio"] = f"{oracle / cpu:.1f}x faster than the oracle, start-up included"
        for row in rows:
            if not row.pop("shown", False):
                print(
                    f"{row['data']:<22}{row['what']:<22}{row['cpu_s']:>8}{row['peak_mb']:>9}   {row.get('ratio', '')}"
                )
        rows = [{**row, "shown": True} for row in rows]
    rows = [{k: v for k, v in row.items() if k != "shown"} for row in rows]
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return rows


if __name__ == "__main__":
    main()
