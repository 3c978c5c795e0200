"""Evaluation of models on classes of whole paths: a grid of (model, seed, fold), one record each.

In: paths with a class, names of models and a run folder. Out: records in that folder, each on the disk as
soon as it is known. Folds are stratified by class; every model is trained on the same paths and asked about
the same ones. What a model chooses (penalty, temperature, epochs) it chooses inside the training part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.experiments.artefacts import keep_node_answers
from honlearn.experiments.folds import stratified_folds
from honlearn.experiments.path_models import MODELS, SETTABLE, find_path_model, parameters_of
from honlearn.experiments.predictions import Predictions
from honlearn.experiments.runner import Watch, run_all
from honlearn.experiments.stopwatch import Moment, fit_times
from honlearn.paths.paths import Paths
from honlearn.results.artefacts import answers_path
from honlearn.results.calibration import SET_SCORES
from honlearn.results.metrics import area_under_roc
from honlearn.results.record import Configuration, DataDigests, Record, Sizes
from honlearn.results.records import digest_of, paths_digest
from honlearn.seeds import derive_seed
from honlearn.versions import versions

SCORES = (
    *("log_loss", "auroc", "micro_f1", "macro_f1", "accuracy", "ece", "ece_of_noise", "brier"),
    *SET_SCORES,
)
# The page draws each path that was tested; of more than these it would grow beyond what browsers show well.
MOST_KEPT = 20_000


@dataclass(frozen=True)
class PathJob:
    """One fit and one test: which model, with which settings, on which fold."""

    model: str
    settings: Mapping[str, Any]
    test: NDArray[np.int64]
    configuration: Configuration
    digest: str


@dataclass(frozen=True, eq=False)
class PathData:
    """Paths with their ids and classes; `unlabelled` are those that were left out, since they have none."""

    paths: Paths
    ids: Sequence[str]
    labels: Sequence[str]
    unlabelled: int = 0

    def __post_init__(self) -> None:
        if len(set(self.labels)) < 2:
            raise InputError("all paths are of one class; there is nothing to tell apart")


def plan_paths(
    data: PathData, models: Sequence[str], folds: int, seeds: Sequence[int], settings: Mapping[str, Any]
) -> list[PathJob]:
    """Return the jobs, model by model; `settings` are for the models that take them."""
    whole = paths_digest(data.paths)
    labels = digest_of(sorted(zip(data.ids, data.labels, strict=True)))
    tests = {seed: stratified_folds(data.ids, data.labels, folds, seed, "paths") for seed in seeds}
    jobs = []
    for model in dict.fromkeys(find_path_model(name) for name in models):
        own = settings if model in SETTABLE else {}
        for seed in seeds:
            for fold, test in enumerate(tests[seed]):
                asked = Configuration(
                    task="paths",
                    model=model,
                    input="paths",
                    seed=seed,
                    folds=f"stratified {folds}",
                    fold=fold,
                    parameters=parameters_of(model, own),
                    data=DataDigests(whole, labels, digest_of([data.ids[row] for row in test])),
                )
                jobs.append(PathJob(model, own, test, asked, digest_of(asked.to_json())))
    return jobs


def run_path_job(job: PathJob, data: PathData, artefacts_in: Path | None = None) -> Record:
    """Fit and test once, and return the record; with `artefacts_in` the predictions are kept there."""
    from honlearn.baselines.contract import threads

    labels, train = np.asarray(data.labels), np.setdiff1d(np.arange(len(data.ids)), job.test)
    asked = job.configuration
    estimator = MODELS[job.model](derive_seed(asked.seed, "fit", asked.fold), **job.settings)
    start = Moment.now()
    with threads(1, job.model):  # small products: more threads only wait for each other
        estimator.fit(data.paths.take(train), labels[train])
        fitted = Moment.now()
        proba = estimator.predict_proba(data.paths.take(job.test))
    done = Moment.now()
    classes = np.unique(labels)
    whole, values = _over_all(estimator, proba, classes)
    predictions = Predictions([data.ids[row] for row in job.test], classes, whole, None, values)
    truth = labels[job.test]
    if artefacts_in is not None:
        keep_node_answers(artefacts_in, job.digest, estimator, predictions, truth)
    found = predictions.scores(truth.tolist())
    found = {name: found[name] for name in SCORES if name in found}
    found["auroc"] = area_under_roc(np.searchsorted(classes, truth), whole)
    sizes = Sizes(
        train=len(train),
        test=len(job.test),
        counts={"classes": len(classes), "unseen_classes": len(classes) - len(estimator.classes_)},
        parameters=int(estimator.n_parameters_),
    )
    times = fit_times(start, fitted, done)
    return Record(job.digest, asked, found, sizes, times, versions())


def _over_all(
    estimator: Any, proba: NDArray[np.floating], classes: NDArray[Any]
) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
    """Return probabilities over all classes [n, C], and p-values of sets where the estimator has sets.

    A class that was never trained on has no probability and is in no set.
    """
    own = np.searchsorted(classes, estimator.classes_)
    whole = np.zeros((len(proba), len(classes)), np.float32)
    whole[:, own] = proba
    if not getattr(estimator, "has_sets", False):
        return whole, None
    values = np.zeros((len(proba), len(classes)))
    values[:, own] = estimator.calibration_.p_values(proba, class_conditional=False)
    return whole, values


@dataclass(frozen=True)
class PathWork:
    """What the runner does with a job on classes of paths."""

    data: PathData
    folder: Path
    keep_artefacts: bool = False

    def lacks(self, job: PathJob) -> bool:
        """Return whether predictions are asked for and not there."""
        return self.keep_artefacts and not answers_path(self.folder, job.digest).exists()

    def run(self, job: PathJob) -> Record:
        """Fit and test once, and return the record."""
        return run_path_job(job, self.data, self.folder if self.keep_artefacts else None)


def evaluate_paths(
    data: PathData,
    jobs: Sequence[PathJob],
    folder: str | Path,
    *,
    keep_artefacts: bool = False,
    processes: int = 1,
    executor: Any = None,
    watch: Watch | None = None,
) -> Iterator[tuple[PathJob, Record, bool]]:
    """Run the jobs that have no record in `folder`; yield each job, its record, and whether it ran now.

    Predictions are kept for the report where there are at most :data:`MOST_KEPT` paths.
    """
    work = PathWork(data, Path(folder).absolute(), keep_artefacts and len(data.ids) <= MOST_KEPT)
    yield from run_all(work, jobs, folder, processes=processes, executor=executor, watch=watch)
