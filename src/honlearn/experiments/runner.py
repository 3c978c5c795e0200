"""The runner: jobs in, one record each out, on the disk as soon as it is known.

In: jobs with a digest of what decides their result, the work that turns a job into a record, and a run
folder. Out: the records, whatever the executor and however often the run was stopped: a job that has its
record is not run again. One job that fails does not stop the others; it is raised at the end.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from honlearn.errors import HonlearnError, ParameterError, check_integer, listed
from honlearn.executors import WorkerDiedError, is_here, open_executor, read_spec, threads_on
from honlearn.results.networks import network_name
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

    def completed(self, job: Job, record: Record, ran: bool) -> None:
        """A job is done: it ran now, or its record is from before."""

    def failed(self, job: Job, error: Exception) -> None:
        """A job failed; the run goes on."""


class JobError(HonlearnError, RuntimeError):
    """A job failed in a way that nobody foresaw, or its process died."""


def name_of(job: Job) -> str:
    """Return a job in words: model, network, seed and fold."""
    asked = job.configuration
    return f"{asked.name} {network_name(asked.input)} seed {asked.seed} fold {asked.fold}"


def executor_for(processes: int, executor: Any) -> Any:
    """Return where jobs run: on so many local processes, or on an executor; both at once are an error."""
    check_integer("run", "processes", processes, 1)
    if executor is None:
        return processes
    if processes != 1:
        raise ParameterError(
            f"processes={processes} (--jobs) and executor={executor!r} (--executor): give one of the two"
        )
    return read_spec(executor)


def threads_for(processes: int, executor: Any = None) -> int | None:
    """Return how many threads a job may use beside others; None, all cores, where it is alone."""
    return threads_on(executor_for(processes, executor))


def run_all(
    work: Work,
    jobs: Sequence[JobT],
    folder: str | Path,
    *,
    processes: int = 1,
    executor: Any = None,
    watch: Watch | None = None,
) -> Iterator[tuple[JobT, Record, bool]]:
    """Run the jobs that have no record in `folder`; yield each job, its record, and whether it ran now.

    With several `processes`, or an `executor` (:mod:`honlearn.executors`), the jobs that were done before
    come first, then each as it finishes; the records are the same. Workers on other machines must see the
    folder. A folder that another process runs jobs in is refused.
    """
    where = executor_for(processes, executor)
    with locked_folder(folder):
        yield from _run_all(work, jobs, folder, where, watch)


def _run_all(
    work: Work, jobs: Sequence[JobT], folder: str | Path, where: Any, watch: Watch | None
) -> Iterator[tuple[JobT, Record, bool]]:
    records, watch, failures = Records(folder), watch or Watch(), list[tuple[Job, Exception]]()
    jobs = list({job.digest: job for job in jobs}.values())
    waiting = [job for job in jobs if job.digest not in records or work.lacks(job)]
    for job in jobs:
        if job.digest in records:
            records[job.digest].check_whole(f"{records.path}: {job.digest}")
    due = {job.digest for job in waiting}
    alone = is_here(where) or (isinstance(where, int) and len(waiting) < 2)
    if not alone:
        where = min(where, len(waiting)) if isinstance(where, int) else where
        outcomes = _elsewhere(work, waiting, where, watch)
        for job in jobs:
            if job.digest not in due:
                watch.completed(job, records[job.digest], False)
                yield job, records[job.digest], False
    else:
        outcomes = _here(work, jobs, due, watch)
    for job, outcome in outcomes:
        if isinstance(outcome, Exception):
            watch.failed(job, outcome)
            failures.append((job, outcome))
            continue
        if outcome is not None:
            records.append(outcome)
        watch.completed(job, records[job.digest], outcome is not None)
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
    work: Work, jobs: Sequence[JobT], where: Any, watch: Watch
) -> Iterator[tuple[JobT, Record | Exception | None]]:
    """Yield each job with its outcome, as they finish on an executor."""
    if not jobs:
        return
    with open_executor(where) as pool:
        # Jobs of one run share their networks, so all of them are sent together, once to each worker.
        shared = pool.share((work, list(jobs)))
        calls = [(shared, place) for place in range(len(jobs))]
        for place, outcome in pool.outcomes(_outcome, calls, lambda place: watch.started(jobs[place])):
            job = jobs[place]
            if isinstance(outcome, WorkerDiedError):
                advice = "run again with fewer at once; what is done stays done"
                outcome = JobError(f"{name_of(job)}: {outcome}; {advice}")
            yield job, outcome
        pool.release([shared])


def _outcome(shared: tuple[Work, Sequence[Job]], place: int) -> Record | Exception:
    work, jobs = shared
    try:
        return work.run(jobs[place])
    except HonlearnError as error:
        return error
    except Exception as error:
        lines = "".join(traceback.format_exception(error))
        return JobError(f"{name_of(jobs[place])}: {type(error).__name__}: {error}\n{lines}")


def _summed_up(failures: Sequence[tuple[Job, Exception]], total: int) -> Exception:
    """Return what to raise: the first error, and which other jobs failed."""
    _, first = failures[0]
    if len(failures) == 1 or not isinstance(first, HonlearnError):
        return first
    others = listed((name_of(job) for job, _ in failures[1:]), 3)
    return type(first)(f"{first} (so failed {len(failures):,} of {total:,} jobs, also {others})")
