"""How fast and in how much memory a network is built from text, against what any Python program would pay.

    python benchmarks/bench_grow.py [--scale 0.01] [--preset air] [--json FILE]

Each row is a process of its own: CPU seconds (user + system, start-up included) and peak memory as the
operating system counts them. `split and number` is what plain Python takes to split the same file and give
each name a number: the floor of any builder without compiled reading. `oracle` is the dictionary builder of
the tests, on a hundredth of the input.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from inputs import PRESETS, ROOT, path_file

GROW = "import sys, honlearn as hl; hl.grow(hl.stream_paths(sys.argv[1]), order=int(sys.argv[2]), tau=1.0)"
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
    parser.add_argument("--preset", choices=sorted(PRESETS), action="append")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    rows: list[dict[str, object]] = []

    def add(file: Path, what: str, program: str, *words: object, once: bool = False, than: str = "") -> float:
        """Measure a program on a file; `than` compares it with the row of that name."""
        cpu, memory = min(measure(program, file, *words) for _ in range(1 if once else options.repeat))
        row = {"data": file.stem, "what": what, "cpu_s": round(cpu, 2), "peak_mb": round(memory)}
        if than:
            slow = next(r for r in rows if r["data"] == file.stem and r["what"] == than)
            row["ratio"] = f"{float(str(slow['cpu_s'])) / cpu:.1f}x faster than {than}"
        rows.append(row)
        print("{data:<20}{what:<20}{cpu_s:>8}{peak_mb:>9}   ".format(**row), row.get("ratio", ""), flush=True)
        return cpu

    print(f"{'data':<20}{'what':<20}{'CPU s':>8}{'peak MB':>9}")
    for preset in options.preset or sorted(PRESETS):
        file, small = path_file(preset, options.scale), path_file(preset, options.scale * 0.01)
        for order in (2, 3):
            measure(GROW, small, order)  # compiles, when the machine code is not there yet
        add(file, "read the bytes", READ)
        add(file, "split and number", NUMBER)
        add(file, "grow k=2", GROW, 2, than="split and number")
        add(file, "grow k=3", GROW, 3, than="split and number")
        add(small, "oracle k=2", ORACLE, 2, once=True)
        add(small, "grow k=2", GROW, 2, than="oracle k=2")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return rows


if __name__ == "__main__":
    main()
