"""``make fuzz ARGS="--minutes 10 --seed 7 --target hon"``: damaged files for every reader, and a table.

Exits with 1 where anything but a HonlearnError came out.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from fuzz.runner import KEPT, Server, run_targets
from fuzz.targets import TARGETS


def main() -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="time for all targets together (default 5)"
    )
    parser.add_argument("--seed", type=int, default=None, help="decides the damage (default: the clock)")
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="repeatable (default: all)")
    parser.add_argument("--case", type=int, help="run this case alone, of one target")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="targets side by side")
    given = parser.parse_args()
    seed = int(time.time()) if given.seed is None else given.seed
    chosen = given.target or list(TARGETS)
    if given.case is not None:
        if len(chosen) != 1:
            parser.error("--case needs one --target")
        with Server() as server:
            running = iter([server.run(chosen[0], seed, first=given.case, last=given.case + 1)])
    else:
        running = run_targets(chosen, seed, 60 * given.minutes, given.jobs)
    print(f"{'target':18}{'cases':>9}{'refused':>9}{'loaded':>9}{'failures':>9}{'distinct':>9}   seed {seed}")
    reports = []
    for one in running:
        reports.append(one)
        counts = (one.cases, one.refused, one.loaded, len(one.failures), len(one.distinct()))
        print(f"{one.target:18}" + "".join(f"{count:>9,}" for count in counts), flush=True)
    failed = [one for one in reports if one.failures]
    for one in failed:
        print(f"\n{one.described()}")
    if failed:
        print(f"\nThe damaged files are in {KEPT}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
