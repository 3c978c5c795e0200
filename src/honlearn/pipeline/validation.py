"""Does memory help, and how good are the predictions? Folds of the labelled nodes, with and without memory.

In: a model, labelled nodes, the counts or network that it learns from, and the first-order network. Out:
:class:`Validation`. Everything that is chosen is chosen again inside each training part, so no test node
takes part in a choice. Records go to a run folder, and a validation that was stopped goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from honlearn.errors import InputError
from honlearn.experiments.evaluate import Job, ModelSpec, NodeData, evaluate, plan
from honlearn.experiments.folds import Folds
from honlearn.experiments.runner import Watch
from honlearn.results.metrics import LEAST_PAIRS, mean_and_deviation
from honlearn.results.record import Record
from honlearn.results.summary import compare, summarise, write_summary

FIRST_ORDER = "g1"


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over folds, and the value of each fold."""

    mean: float
    deviation: float
    values: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.mean:.2f} ± {self.deviation:.2f}"


@dataclass(frozen=True)
class Validation:
    """Scores on nodes that a fit has not seen.

    Parameters
    ----------
    score : micro F1 of the model.
    first_order : micro F1 of the same model on the first-order network; None where there is no memory.
    p_value : of the difference, by the corrected resampled t-test; None with fewer than five folds.
    majority : share of the largest class, which is what a constant prediction gets.
    coverage : share of test nodes whose set has the true class, for sets of 90 %; None without sets.
    folds : how many.
    """

    score: Spread
    first_order: Spread | None
    p_value: float | None
    majority: float
    coverage: float | None
    folds: int

    @property
    def memory_helps(self) -> bool | None:
        """Whether the difference is significant: True for better, False for worse, None for neither."""
        if self.first_order is None or self.p_value is None or self.p_value >= 0.05:
            return None
        return self.score.mean > self.first_order.mean


def check_classes(labels: Sequence[str]) -> None:
    """Raise unless there are two classes."""
    if len(set(labels)) < 2:
        raise InputError(f"all labelled nodes are of the class {labels[0]!r}; two classes are needed")


def folds_for(labels: Sequence[str], wanted: int) -> int:
    """Return how many folds there can be: two test nodes in each at least, one of the largest class."""
    check_classes(labels)
    return max(2, min(wanted, len(labels) // 2, max(Counter(labels).values())))


def validate(
    data: NodeData,
    jobs: Sequence[Job],
    folder: Path,
    about: dict[str, object],
    processes: int,
    watch: Watch,
) -> Validation:
    """Run the jobs of :func:`plan_validation` and return what they show."""
    done = evaluate(data, jobs, folder, keep_artefacts=True, processes=processes, watch=watch)
    records = [record for _, record, _ in done]
    place = {job.digest: number for number, job in enumerate(jobs)}
    records.sort(key=lambda record: place[record.digest])
    write_summary(folder, summarise(records), about)
    return _validation(data, records)


def plan_validation(data: NodeData, spec: ModelSpec, folds: int, seed: int) -> list[Job]:
    """Return the fits of a validation: each fold with memory and without."""
    return list(plan(data, [spec], Folds("stratified", folds), [seed]))


def _validation(data: NodeData, records: Sequence[Record]) -> Validation:
    first = [record for record in records if record.configuration.input == FIRST_ORDER]
    ours = [record for record in records if record.configuration.input != FIRST_ORDER] or first
    covered = [value for record in ours if (value := record.scores.get("coverage_90")) is not None]
    both = bool(first) and ours is not first
    return Validation(
        _spread(ours),
        _spread(first) if both else None,
        compare(ours, first, "micro_f1") if both and len(ours) >= LEAST_PAIRS else None,
        max(Counter(data.labels).values()) / len(data.labels),
        fmean(covered) if covered else None,
        len({record.configuration.fold for record in ours}),
    )


def _spread(records: Sequence[Record]) -> Spread:
    values = [record.score("micro_f1") for record in records]
    mean, deviation = mean_and_deviation(values)
    return Spread(mean, deviation or 0.0, tuple(values))
