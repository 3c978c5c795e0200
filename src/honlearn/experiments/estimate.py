"""What a run would do and how long it may take, before anything runs.

In: jobs and a run folder. Out: one value for each (model, input, setting): how many jobs, how many have their
record, and seconds for one job: from records of the same kind where there are any, else a rough guess from
the sizes of network and ensemble.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from honlearn.experiments.runner import Job
from honlearn.results.record import Configuration, Record

# Seconds for one learner, one epoch and a million numbers that pass along edges and through weights; measured
# with DGE-bag on Wiki and on the bundled flights on one core. A guess, within a factor of three or so.
_SECONDS_A_MILLION = 0.003
_SECONDS_AT_LEAST = 1.0
_EPOCHS = 40
# There are many more pairs than nodes, and each has two ends.
_LINKS = 5


@dataclass(frozen=True)
class Planned:
    """The jobs of a model on an input: `seconds` for one job, and on what that figure rests."""

    model: str
    input: str
    jobs: int
    done: int
    seconds: float
    basis: str
    setting: str = ""
    data: str = ""

    @property
    def left(self) -> float:
        """Seconds for the jobs that have no record."""
        return (self.jobs - self.done) * self.seconds


def planned(
    jobs: Sequence[Job],
    records: Iterable[Record],
    n_edges: Mapping[str, int],
    *,
    setting: str = "",
    data: str = "",
    search_seconds: Callable[[float], float] = lambda fit: 0.0,
) -> list[Planned]:
    """Return the grid, one value for each model, input and setting; `n_edges` are the edges of each input.

    `search_seconds` is what a search adds to each job, by the seconds that one fit takes.
    """
    known = list(records)
    there = {record.digest for record in known}
    groups: dict[tuple[str, str], list[Job]] = {}
    for job in jobs:
        asked = job.configuration
        groups.setdefault((asked.name, asked.input), []).append(job)
    found = []
    for (model, name), group in groups.items():
        done = sum(job.digest in there for job in group)
        seconds, basis = seconds_of(group[0].configuration, known, n_edges[name])
        seconds += search_seconds(seconds)
        found.append(Planned(model, name, len(group), done, seconds, basis, setting, data))
    return found


def seconds_of(asked: Configuration, records: Iterable[Record], edges: int) -> tuple[float, str]:
    """Return the seconds that one job may take, and whether that is from records or a guess."""
    alike: dict[bool, list[float]] = {True: [], False: []}
    for record in records:
        theirs, times = record.configuration, record.times
        if (theirs.name, theirs.task) == (asked.name, asked.task) and times.fit_seconds is not None:
            same = theirs.parameters == asked.parameters and theirs.input == asked.input
            alike[same].append(times.fit_seconds + (times.predict_seconds or 0.0))
    for kind in (True, False):
        if alike[kind]:
            return statistics.fmean(alike[kind]), f"(from {len(alike[kind])})"
    factor = _LINKS if asked.task == "links" else 1
    return factor * _guess(asked.parameters, edges), "(a guess)"


def _guess(parameters: Mapping[str, Any], edges: int) -> float:
    learners = parameters.get("n_learners") or 1
    epochs = min(parameters.get("max_epochs") or _EPOCHS, _EPOCHS)
    widths = parameters.get("widths") or [128, 128]
    width = sum(widths) if isinstance(widths, (list, tuple)) else int(widths)
    return max(_SECONDS_AT_LEAST, learners * epochs * edges * width / 1e6 * _SECONDS_A_MILLION)


def duration(seconds: float) -> str:
    """Return seconds, minutes or hours in a few letters.

    >>> duration(5), duration(600), duration(9000)
    ('5 s', '10 min', '2.5 h')
    """
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    return f"{round(whole / 60)} min" if whole < 6000 else f"{whole / 3600:.1f} h"
