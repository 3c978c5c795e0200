"""What a run shows while it runs: lines on standard error, or on a terminal a table that lives.

In: jobs as they start, finish or fail. Out: what runs, what is done with which scores, how long the rest may
take; and, before a run, the grid with an estimate.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import typer

from honlearn.errors import first_line
from honlearn.experiments.estimate import Planned, duration
from honlearn.experiments.runner import Job, Watch, name_of
from honlearn.results.record import Record

SHOWN = {"micro_f1": "micro F1", "log_loss": "log loss"}
LINKS_SHOWN = {"auprc": "AUPRC", "auroc": "AUROC"}
DEGREE_SHOWN = {"degree_auprc": "AUPRC (degree-corrected)", "degree_auroc": "AUROC (degree-corrected)"}
BOTH_SHOWN = {"degree_auprc": "AUPRC (degree-corrected)", "auprc": "AUPRC (uniform)"}


class Reporter(Watch):
    """Prints line by line what is done and how long the rest may take."""

    def __init__(self, total: int, part: str = "fold", shown: Mapping[str, str] = SHOWN) -> None:
        self.total, self.done, self.ran, self.found = total, 0, 0, 0
        self.part, self.shown = part, shown
        self.began = time.perf_counter()

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def completed(self, job: Job, record: Record, ran: bool) -> None:
        """A job is done: found from before, or run now."""
        self.done += 1
        if not ran:
            self.found += 1
            return
        if self.found and not self.ran:
            self.print_line(f"{self.found} of {self.total} were done before")
        self.ran += 1
        self.finished(job, record)

    def finished(self, job: Job, record: Record) -> None:
        """Print the scores of a job that ran now."""
        known = {key: name for key, name in self.shown.items() if record.scores.get(key) is not None}
        scores = ", ".join(f"{name} {record.score(key):.3f}" for key, name in known.items()) or "done"
        left = self.left()
        self.print_line(
            f"{self.done}/{self.total} {self.named(job)}: {scores}, {record.times.fit_seconds or 0.0:.1f} s"
            + (f", about {duration(left)} left" if left else "")
        )

    def failed(self, job: Job, error: Exception) -> None:
        """Print that a job failed and that the others go on."""
        self.done += 1
        self.ran += 1
        if self.total > 1:
            reason = first_line(error)
            self.print_line(f"{self.done}/{self.total} {self.named(job)} failed: {reason}")

    def left(self) -> float:
        """Return how many seconds the rest may take, by the pace so far."""
        return (time.perf_counter() - self.began) / max(self.ran, 1) * (self.total - self.done)

    def named(self, job: Job) -> str:
        """Return a job in words, its fold by the name that the task has for it."""
        return name_of(job).replace(" fold ", f" {self.part} ")

    def print_line(self, text: str) -> None:
        """Print a line to standard error."""
        typer.echo(text, err=True)


class LiveReporter(Reporter):
    """The same on a terminal: what runs now and since when, in a table that is drawn anew."""

    def __init__(self, total: int, part: str = "fold", shown: Mapping[str, str] = SHOWN) -> None:
        super().__init__(total, part, shown)
        from rich.console import Console
        from rich.live import Live

        self.running: dict[str, tuple[str, float]] = {}
        self.console = Console(stderr=True, highlight=False)
        self.live = Live(
            console=self.console, get_renderable=self.table, refresh_per_second=2, transient=True
        )

    def __enter__(self) -> LiveReporter:
        self.live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.stop()

    def started(self, job: Job) -> None:
        """A job begins."""
        self.running[job.digest] = (self.named(job), time.perf_counter())

    def finished(self, job: Job, record: Record) -> None:
        """Take the job from the table and print its scores above."""
        self.running.pop(job.digest, None)
        super().finished(job, record)

    def failed(self, job: Job, error: Exception) -> None:
        """Take the job from the table and print why it failed."""
        self.running.pop(job.digest, None)
        super().failed(job, error)

    def print_line(self, text: str) -> None:
        """Print a line above the table."""
        self.console.print(text, markup=False, soft_wrap=True)

    def table(self) -> Any:
        """Return the table as of now."""
        from rich import box
        from rich.table import Table

        left = f", about {duration(self.left())} left" if self.ran else ""
        table = Table(box=box.SIMPLE, pad_edge=False, title=f"{self.done} of {self.total} done{left}")
        table.add_column("running", no_wrap=True)
        table.add_column("for", justify="right", no_wrap=True)
        for name, since in self.running.values():
            table.add_row(name, duration(time.perf_counter() - since))
        return table


def reporter(total: int, part: str = "fold", shown: Mapping[str, str] = SHOWN) -> Reporter:
    """Return who reports a run: a live table where standard error is a terminal, else lines."""
    from honlearn.progress import is_shown

    return (LiveReporter if is_shown(None) else Reporter)(total, part, shown)


def print_plan(planned: Sequence[Planned], processes: int) -> None:
    """Print the grid of a run and what it may take."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    for name in ("data", "model", "input", "setting", "jobs", "done", "per job", "to do"):
        table.add_column(name, justify="right" if name in ("jobs", "done", "per job", "to do") else "left")
    for one in planned:
        cells = (one.data, one.model, one.input, one.setting, str(one.jobs), str(one.done))
        table.add_row(*cells, f"{duration(one.seconds)} {one.basis}", duration(one.left))
    Console(highlight=False).print(table)
    typer.echo(total_line(planned, processes))


def total_line(planned: Iterable[Planned], processes: int) -> str:
    """Return what is left to do in one line."""
    every = list(planned)
    jobs, done = sum(one.jobs for one in every), sum(one.done for one in every)
    left = sum(one.left for one in every) / processes
    beside = f" on {processes} processes" if processes > 1 else ""
    return f"{jobs:,} jobs, {done:,} done before; about {duration(left)} to go{beside}. Nothing was run."
