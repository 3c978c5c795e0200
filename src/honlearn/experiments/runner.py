"""The runner: jobs in, one record each out, on the disk as soon as it is known.

In: jobs with a digest of what decides their result, the work that turns a job into a record, and a run
folder. Out: the records, whatever the number of processes and however often the run was stopped: a job that
has its record is not run again. One job that fails does not stop the others; it is raised at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from honlearn.errors import HonlearnError, check_integer, listed
from honlearn.results.record import Configuration, Record
from honlearn.results.records import Records
from honlearn.writing.locks import locked_folder


class Job(Protocol):
    """What is asked for once: a configuration, and the digest of it under which the record is kept."""

    @property
    def configuration(self) -> Configuration:
        """Everything that decides the result."""

    @property
    def digest(self) -> str:
        """The digest of the configuration."""


JobT = TypeVar("JobT", bound=Job)


class Work(Protocol):
    """What turns a job into a record; it is sent to other processes, so it must pickle."""

    def run(self, job: Any) -> Record:
        """Return the record of a job; files that belong to it are written before this returns."""

    def lacks(self, job: Any) -> bool:
        """Return whether a job that has a record must run again, since a file of it is missing."""


class Watch:
    """Called with what happens during a run; this one does nothing."""

    def started(self, job: Job) -> None:
        """A job begins."""

    def failed(self, job: Job, error: Exception) -> None:
        """A job failed; the run goes on."""


class JobError(HonlearnError, RuntimeError):
    """A job failed in a way that nobody foresaw, or its process died."""


def name_of(job: Job) -> str:
    """Return a job in words: model, input, seed and fold."""
    asked = job.configuration
    return f"{asked.name} {asked.input} seed {asked.seed} fold {asked.fold}"


def threads_for(processes: int) -> int | None:
    """Return how many threads a job may use beside others; None, all cores, where it is alone."""
    if processes == 1:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // processes)


def run_all(
    work: Work,
    jobs: Sequence[JobT],
    folder: str | Path,
    *,
    processes: int = 1,
    watch: Watch | None = None,
) -> Iterator[tuple[JobT, Record, bool]]:
    """Run the jobs that have no record in `folder`; yield each job, its record, and whether it ran now.

    With several `processes` the jobs that were done before come first, then each as it finishes; the records
    are the same. They are started anew, not forked, so a script that calls this needs
    ``if __name__ == "__main__":``. A folder that another process runs jobs in is refused.
    """
    check_integer("run", "processes", processes, 1)
    with locked_folder(folder):
        yield from _run_all(work, jobs, folder, processes, watch)


def _run_all(
    work: Work, jobs: Sequence[JobT], folder: str | Path, processes: int, watch: Watch | None
) -> Iterator[tuple[JobT, Record, bool]]:
    records, watch, failures = Records(folder), watch or Watch(), list[tuple[Job, Exception]]()
    jobs = list({job.digest: job for job in jobs}.values())
    waiting = [job for job in jobs if job.digest not in records or work.lacks(job)]
    for job in jobs:
        if job.digest in records:
            records[job.digest].check_whole(f"{records.path}: {job.digest}")
    due = {job.digest for job in waiting}
    if processes > 1 and len(waiting) > 1:
        outcomes = _elsewhere(work, waiting, min(processes, len(waiting)), watch)
        yield from ((job, records[job.digest], False) for job in jobs if job.digest not in due)
    else:
        outcomes = _here(work, jobs, due, watch)
    for job, outcome in outcomes:
        if isinstance(outcome, Exception):
            watch.failed(job, outcome)
            failures.append((job, outcome))
            continue
        if outcome is not None:
            records.append(outcome)
        yield job, records[job.digest], outcome is not None
    if failures:
        place = {job.digest: number for number, job in enumerate(jobs)}
        raise _summed_up(sorted(failures, key=lambda failure: place[failure[0].digest]), len(jobs))


def _here(
    work: Work, jobs: Sequence[JobT], due: set[str], watch: Watch
) -> Iterator[tuple[JobT, Record | Exception | None]]:
    """Yield each job in turn with its outcome: None if it was done before."""
    for job in jobs:
        if job.digest not in due:
            yield job, None
            continue
        watch.started(job)
        try:
            outcome: Record | Exception = work.run(job)
        except Exception as error:
            outcome = error
        yield job, outcome


def _elsewhere(
    work: Work, jobs: Sequence[JobT], processes: int, watch: Watch
) -> Iterator[tuple[JobT, Record | Exception | None]]:
    from honlearn.experiments.processes import Pool

    with Pool(work, jobs, processes) as pool:
        yield from pool.run(watch)


def _summed_up(failures: Sequence[tuple[Job, Exception]], total: int) -> Exception:
    """Return what to raise: the first error, and which other jobs failed."""
    _, first = failures[0]
    if len(failures) == 1 or not isinstance(first, HonlearnError):
        return first
    others = listed((name_of(job) for job, _ in failures[1:]), 3)
    return type(first)(f"{first} (so failed {len(failures):,} of {total:,} jobs, also {others})")
