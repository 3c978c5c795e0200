"""Runs the cases of targets and counts what came out.

In: targets, a seed, and how many cases or how much time. Out: one :class:`Report` per target.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fuzz.server import Job

TESTS = Path(__file__).resolve().parents[1]
KEPT = TESTS.parent / ".fuzz"
# One thread each: a pool of threads does not survive a fork, and cases are tiny.
_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "ARROW_IO_THREADS",
)


@dataclass(frozen=True)
class Failure:
    """One case that ended as it may not."""

    target: str
    seed: int
    number: int
    what: str
    where: str
    detail: str

    @property
    def replay(self) -> str:
        """The command that runs this case again."""
        return f'make fuzz ARGS="--target {self.target} --seed {self.seed} --case {self.number}"'

    def __str__(self) -> str:
        place = f" at {self.where}" if self.where else ""
        return f"{self.target}: {self.what}{place}{': ' if self.detail else ''}{self.detail}"


@dataclass
class Report:
    """What came out of the cases of one target."""

    target: str
    refused: int = 0
    loaded: int = 0
    failures: list[Failure] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """Number of cases."""
        return self.refused + self.loaded + len(self.failures)

    def distinct(self) -> dict[tuple[str, str], list[Failure]]:
        """Return the failures by what and where: usually one defect each."""
        groups: dict[tuple[str, str], list[Failure]] = {}
        for failure in self.failures:
            groups.setdefault((failure.what, failure.where), []).append(failure)
        return groups

    def described(self) -> str:
        """Return the distinct failures as text, each with the command that replays one of them."""
        lines = []
        for same in self.distinct().values():
            lines += [f"{len(same):5} × {same[0]}", f"        {same[0].replay}"]
        return "\n".join(lines)


class Server:
    """A process that has imported everything and runs one target after another (:mod:`fuzz.server`)."""

    def __enter__(self) -> Server:
        searched = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **dict.fromkeys(_THREADS, "1"), "PYTHONPATH": os.pathsep.join(searched)}
        self._told = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.server"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._told,
            text=True,
        )
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.communicate()
        self._told.close()

    def run(
        self,
        target: str,
        seed: int,
        *,
        first: int = 0,
        last: int = 10**9,
        seconds: float = 1e9,
        keep: Path | None = KEPT,
    ) -> Report:
        """Run cases of one target in a process of its own."""
        job = Job(target, seed, first, last, seconds, "" if keep is None else str(keep))
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asdict(job)) + "\n")
        self._process.stdin.flush()
        report, ended = Report(target), None
        for line in self._process.stdout:
            told = json.loads(line)
            if "ended" in told:
                ended = told["ended"]
                break
            outcome, number = told.pop("outcome"), told.pop("number")
            if outcome == "failure":
                report.failures.append(Failure(target, seed, number, **told))
            else:
                setattr(report, outcome, getattr(report, outcome) + 1)
        if ended != 0:
            self._told.seek(0)
            raise RuntimeError(f"the server of {target} ended with {ended}:\n{self._told.read()[-4000:]}")
        return report


def run_targets(targets: list[str], seed: int, seconds: float, jobs: int) -> Iterator[Report]:
    """Yield the reports of several targets that run side by side, each with its share of the time."""
    share = seconds * min(jobs, len(targets)) / len(targets)

    def run(target: str) -> Report:
        try:
            with Server() as server:
                return server.run(target, seed, seconds=share)
        except RuntimeError as error:  # one target that cannot be run stops no other, and is no success
            return Report(target, failures=[Failure(target, seed, 0, "cannot be run", "", str(error))])

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(run, targets)
