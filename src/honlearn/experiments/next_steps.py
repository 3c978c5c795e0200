"""Evaluation of models on the next step: a grid of (model, order, fold), one record each.

In: paths, names of models, a highest order and a run folder. Out: records in that folder, each on the disk as
soon as it is known. Paths are divided into folds by a seed, or at a moment into earlier ones to learn from
and later ones to test on; every model is trained on the same paths and asked about the same steps: top-1 and
top-5 accuracy, mean reciprocal rank, bits per step, all and by position. Models that know where paths end
are also asked for sets of next steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, InputError, check_integer
from honlearn.experiments.next_models import (
    BY_ORDER,
    LONGEST_LIST,
    MODELS,
    WITH_SETS,
    StepScores,
    find_next_model,
)
from honlearn.experiments.runner import Watch, run_all
from honlearn.experiments.stopwatch import Moment, fit_times
from honlearn.hon.steps.memory import divided, gain_of_parts, weighted
from honlearn.paths.paths import Paths
from honlearn.results.artefacts import Memory, read_memory, write_memory
from honlearn.results.calibration import LEVELS, SET_SCORES
from honlearn.results.record import Configuration, DataDigests, Record, Sizes
from honlearn.results.records import digest_of, paths_digest
from honlearn.seeds import derive_seed
from honlearn.versions import versions

POSITIONS = (1, 2, 3, 4)
"""How many entities came before: 1, 2, 3, and 4 or more."""
SCORES = (
    "bits",
    "top1",
    "top5",
    "mrr",
    *(f"{name}_after_{n}" for n in POSITIONS for name in ("bits", "top1")),
    *SET_SCORES,
)


@dataclass(frozen=True)
class NextJob:
    """One fit and one test: which model, of which order, on which fold."""

    model: str
    order: int
    fold: int
    configuration: Configuration
    digest: str


class NextData:
    """Paths, and how often each row is held out in each fold: `held`, int64 [folds, rows].

    `division` names how they were divided, as records have it.
    """

    def __init__(self, paths: Paths, held: NDArray[np.int64], division: str, seed: int = 0) -> None:
        asked = paths.lengths > 1
        if not asked.any():
            raise InputError("no path has two entities, so there is no next step to ask for")
        if not held[:, asked].any(1).all():
            raise InputError(
                "a test part has no path with two entities, so there is no next step to ask for; give fewer "
                "folds or another time, or drop short paths (min_length=2)"
            )
        self.paths, self.held, self.division, self.seed = paths, held, division, seed

    @classmethod
    def by_path(cls, paths: Paths, folds: int = 5, seed: int = 0) -> NextData:
        """Return folds by chance; each path is tested once."""
        folds = check_integer("evaluate", "folds", folds, 2)
        if paths.total < folds:
            raise InputError(f"{paths.total:,} paths cannot be divided into {folds} folds; give fewer")
        held = divided(paths, folds, derive_seed(seed, "next", "folds"))
        return cls(paths, held, f"{folds} by path", seed)

    @classmethod
    def by_time(cls, paths: Paths, early: NDArray[np.bool_], moment: str, seed: int = 0) -> NextData:
        """Return one fold: paths that began before `moment` (`early`, bool [n]) are trained on."""
        if early.all() or not early.any():
            side = "before" if early.all() else "at or after"
            raise InputError(
                f"all {paths.total:,} paths began {side} {moment} (--split-at), so there is none to "
                f"{'test on' if early.all() else 'learn from'}; give another time"
            )
        times = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
        return cls(paths, np.where(early, 0, times)[None], f"at {moment}", seed)

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return len(self.held)

    def parts(self, fold: int) -> tuple[Paths, Paths]:
        """Return the training and the test paths of a fold."""
        times = np.ones(len(self.paths), np.int64) if self.paths.counts is None else self.paths.counts
        return weighted(self.paths, times - self.held[fold]), weighted(self.paths, self.held[fold])

    def digest(self) -> str:
        """Return the digest of the paths."""
        return paths_digest(self.paths)


def plan_next(data: NextData, models: Sequence[str], order: int) -> list[NextJob]:
    """Return the jobs, model by model; `back-off` and `network` are tried with orders 1 … `order`."""
    order = check_integer("evaluate", "order", order, 1)
    whole, jobs = data.digest(), []
    for model in dict.fromkeys(find_next_model(name) for name in models):
        for k in range(1, order + 1) if model in BY_ORDER else (0,):
            for fold in range(data.folds):
                asked = Configuration(
                    task="next",
                    model=model,
                    input=f"order {k}" if k else "paths",
                    seed=data.seed,
                    folds=data.division,
                    fold=fold,
                    parameters={"order": k} if k else {},
                    data=DataDigests(whole, test=digest_of(data.held[fold].tolist())),
                )
                jobs.append(NextJob(model, k, fold, asked, digest_of(asked.to_json())))
    return jobs


def measured(scores: StepScores, weight: NDArray[np.int64]) -> dict[str, float | None]:
    """Return the means over steps, each `weight` times, of all and by position."""
    found: dict[str, float | None] = {
        "bits": _mean(scores.bits, weight),
        "top1": _mean(scores.rank == 1, weight),
        "top5": _mean((scores.rank > 0) & (scores.rank <= 5), weight),
        "mrr": _mean(np.where(scores.rank > 0, 1.0 / np.maximum(scores.rank, 1), 0.0), weight),
    }
    last = POSITIONS[-1]
    for n in POSITIONS:
        own = scores.position >= n if n == last else scores.position == n
        found[f"bits_after_{n}"] = _mean(scores.bits[own], weight[own])
        found[f"top1_after_{n}"] = _mean(scores.rank[own] == 1, weight[own])
    return found


def _mean(values: NDArray[np.float64] | NDArray[np.bool_], weight: NDArray[np.int64]) -> float | None:
    return float(values.astype(np.float64) @ weight / weight.sum()) if weight.sum() else None


def run_next_job(job: NextJob, data: NextData) -> Record:
    """Fit and ask once, and return the record."""
    train, test = data.parts(job.fold)
    start = Moment.now()
    scores = MODELS[job.model](train, test, job.order, derive_seed(data.seed, "next", job.fold))
    times = fit_times(start, Moment.now())
    if not np.isfinite(scores.bits).all():
        raise InputError(f"{job.model}: a step has no finite probability; the training diverged")
    assert test.counts is not None
    # A model may see the first entities of a very long path only; steps are told apart by their position.
    steps = np.repeat(np.maximum(test.lengths - 1, 0), test.counts).sum()
    weight = _weights(test, scores)
    sizes = Sizes(
        train=train.total, test=test.total, counts={"steps": int(steps), "longest_list": LONGEST_LIST}
    )
    found = measured(scores, weight) | measured_sets(job, train, test, data.seed)
    return Record(job.digest, job.configuration, found, sizes, times, versions())


def measured_sets(job: NextJob, train: Paths, test: Paths, seed: int) -> dict[str, float | None]:
    """Return coverage (mean over test paths) and mean size of sets of next steps, END among the outcomes.

    Of the smoothed models alone: the model of a set is that of nine tenths of the training paths, and the
    others calibrate it (:class:`honlearn.hon.steps.sets.StepSets`). Others have none, and so has a training
    part of too few paths.
    """
    from honlearn.hon.steps.sets import PARTS, StepSets

    if job.model not in WITH_SETS or train.total < PARTS:
        return {}
    sets = StepSets.of(train, max(job.order, 1), seed=derive_seed(seed, "next", "sets", job.fold))
    found: dict[str, float | None] = {}
    for level in LEVELS:
        one = sets.coverage(test, (100 - level) / 100)
        found |= {f"coverage_{level}": one.paths, f"set_size_{level}": one.size}
    return found


def _weights(test: Paths, scores: StepScores) -> NDArray[np.int64]:
    """Return how often each step asked about was seen; a new path begins wherever the position is 1."""
    assert test.counts is not None
    longer = np.flatnonzero(test.lengths > 1)
    path = np.cumsum(scores.position == 1) - 1
    return np.asarray(test.counts[longer][path], np.int64)


@dataclass(frozen=True)
class NextWork:
    """What the runner does with a job on next steps."""

    data: NextData

    def lacks(self, job: NextJob) -> bool:
        """Return False: a record is all there is."""
        return False

    def run(self, job: NextJob) -> Record:
        """Fit and ask once, and return the record."""
        return run_next_job(job, self.data)


def evaluate_next(
    data: NextData,
    jobs: Sequence[NextJob],
    folder: str | Path,
    *,
    processes: int = 1,
    executor: Any = None,
    watch: Watch | None = None,
) -> Iterator[tuple[NextJob, Record, bool]]:
    """Run the jobs that have no record in `folder`; yield each job, its record, and whether it ran now."""
    yield from run_all(NextWork(data), jobs, folder, processes=processes, executor=executor, watch=watch)


def keep_memory(data: NextData, order: int, folder: str | Path) -> Memory:
    """Return how much memory helps up to `order` on the test parts, and keep it beside the records.

    What the folder has of the same paths, parts and order is not computed again.
    """
    digest = data.digest()
    try:
        known = read_memory(folder, digest)
    except FormatError:  # damaged: written anew
        known = None
    if known and (known.division, known.seed, len(known.rows)) == (data.division, data.seed, order):
        return known
    gain = gain_of_parts(data.paths, data.held, order)
    rows = [{key: value for key, value in vars(row).items() if value == value} for row in gain.orders]
    memory = Memory(data.division, data.seed, gain.sentence(), rows)
    write_memory(folder, digest, memory)
    return memory
