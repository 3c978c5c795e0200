"""Building a network from text, against what any program would pay and against counting in Polars and DuckDB.

In: a scale. Out: rows and growth curves. Each row is a process of its own: CPU seconds (user + system,
start-up included) and peak memory. The limits are reading the bytes, ``wc -w`` (finding the words) and what
plain Python takes to split the same file and number its names. Polars and DuckDB count the windows of three
entities, which is part of what the builder does: they find no contexts and make no network.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from inputs import path_file
from measuring import Curve, Row, compared, exponent, measure, measure_command

OURS = "honlearn, k = 2"
GROW = "import sys, honlearn as hl; hl.grow(hl.stream_paths(sys.argv[1]), order=int(sys.argv[2]), tau=1.0)"
NUMBER = """
import sys
numbers = {}
for line in open(sys.argv[1]):
    path = [numbers.setdefault(name, len(numbers)) for name in line.split()]
"""
READ = "import sys\nwith open(sys.argv[1], 'rb', 0) as f:\n    while f.read(1 << 20): pass"
POLARS = """
import sys, polars as pl
lines = pl.scan_csv(sys.argv[1], has_header=False, separator="\\x01", quote_char=None, new_columns=["a"],
                    schema_overrides=[pl.String])
steps = lines.with_row_index("path").with_columns(pl.col("a").str.split(" ")).explode("a")
steps = steps.with_columns(pl.col("a").cast(pl.Categorical))
steps = steps.with_columns(b=pl.col("a").shift(-1), c=pl.col("a").shift(-2), last=pl.col("path").shift(-2))
steps = steps.filter(pl.col("path") == pl.col("last"))
print(len(steps.group_by("a", "b", "c").len().collect()))
"""
DUCKDB = """
import sys, duckdb
print(duckdb.sql(f'''
    with paths as (select string_split(line, ' ') as p from read_csv('{sys.argv[1]}', header=false,
                   delim='\\x01', quote='', columns={{'line': 'VARCHAR'}})),
         places as (select p, unnest(range(1, len(p) - 1)) as i from paths)
    select count(*) from (select p[i] as a, p[i + 1] as b, p[i + 2] as c, count(*) from places group by all)
''').fetchall()[0][0])
"""
OTHERS = {"polars": ("Polars, windows counted", POLARS), "duckdb": ("DuckDB, windows counted", DUCKDB)}


def building(scale: float, repeat: int, preset: str = "air") -> list[Row]:
    """Return the rows of one preset; the best of so many measurements each."""
    file, small = path_file(preset, scale), path_file(preset, 0)
    part, rows = f"building, {file.stem}", list[Row]()
    programs = {
        "reading the bytes": ("limit", READ, ()),
        OURS: ("ours", GROW, (2,)),
        "honlearn, k = 3": ("ours", GROW, (3,)),
        **{what: ("other", program, ()) for name, (what, program) in OTHERS.items() if _is_there(name)},
        "Python: split and number": ("other", NUMBER, ()),
    }
    for what, (kind, program, words) in programs.items():
        measure(program, small, *words)  # compiles, when the machine code is not there yet
        start = min(measure(program, small, *words) for _ in range(repeat))[0]
        cpu, memory = min(measure(program, file, *words) for _ in range(repeat))
        beyond = round(max(cpu - start, 0.001), 3)
        rows.append(Row(part, what, kind, round(cpu, 3), peak_mb=round(memory), beyond=beyond))
    if shutil.which("wc"):
        cpu, memory = min(measure_command(["wc", "-w", str(file)]) for _ in range(repeat))
        rows.insert(1, Row(part, "wc -w", "limit", round(cpu, 3), peak_mb=round(memory)))
    return compared(rows, OURS)


def _is_there(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def growth(scale: float, preset: str = "air") -> list[Curve]:
    """Return how CPU time and peak memory grow with the number of paths, k = 2.

    Time is that of the call alone: start-up is longer than small files take, and differs more.
    """
    import honlearn as hl

    files = [path_file(preset, scale * share) for share in (0.125, 0.25, 0.5, 1)]
    sizes = [float(sum(1 for _ in file.open("rb"))) for file in files]
    peaks = [measure(GROW, file, 2)[1] for file in files]
    times = []
    for file in files[:1] + files:
        started = time.process_time()
        hl.grow(hl.stream_paths(str(file)), order=2, tau=1.0)
        times.append(round(time.process_time() - started, 4))
    times = times[1:]
    return [
        Curve("building without start-up", "paths", tuple(sizes), tuple(times), "s", exponent(sizes, times)),
        Curve("peak memory of building", "paths", tuple(sizes), tuple(peaks), "MB", exponent(sizes, peaks)),
    ]
