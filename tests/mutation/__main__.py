"""``make mutate ARGS="--module honlearn.conformal"``: faults in chosen modules, and which no test sees.

Exits with 1 where a mutant survives that :mod:`mutation.targets` does not explain.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter

from mutation.runner import run
from mutation.targets import EQUIVALENT, TARGETS


def main() -> int:
    """Run, print, and return the exit code."""
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__)
    parser.add_argument("--module", action="append", choices=list(TARGETS), help="repeatable (default: all)")
    parser.add_argument("--most", type=int, help="mutants of each module at most, spread over it")
    parser.add_argument("--mutant", type=int, help="run this mutant alone, of one module")
    given = parser.parse_args()
    unexplained = 0
    print(f"{'module':36}{'mutants':>8}{'killed':>8}{'timeout':>8}{'explained':>10}{'survived':>9}")
    for name in given.module or list(TARGETS):
        outcomes = list(run(TARGETS[name], given.most, given.mutant))
        states = Counter(one.state for one in outcomes)
        survivors = [one for one in outcomes if one.state == "survived"]
        known = EQUIVALENT.get(name, {})
        left = [
            one for one in survivors if (one.mutant.text, one.mutant.before, one.mutant.after) not in known
        ]
        unexplained += len(left)
        counts = (states["killed"], states["timeout"], len(survivors) - len(left), len(left))
        print(
            f"{name:36}{len(outcomes):>8}{counts[0]:>8}{counts[1]:>8}{counts[2]:>10}{counts[3]:>9}",
            flush=True,
        )
        for one in left:
            print(f"    mutant {one.number}, {one.mutant}", flush=True)
    return 1 if unexplained else 0


if __name__ == "__main__":
    # Failing examples of mutated code are nothing to try again.
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = folder
        sys.exit(main())
