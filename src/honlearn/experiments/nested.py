"""Nested search: settings are chosen on a validation part inside each training part, then tested once.

In: jobs on nodes or links, and what may be chosen. Out: records like any other; their configuration holds how
it was searched, their ``search`` what was chosen. Nothing of a test part is seen before the last fit: of
nodes a fifth of the training part validates; of links, pairs that are hidden from the visible network anew.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from honlearn.experiments.evaluate import Job, ModelSpec, NodeWork
from honlearn.experiments.folds import MOST_SEED, stratified_folds
from honlearn.experiments.link_metrics import link_scores
from honlearn.experiments.links import LinkJob, LinkWork
from honlearn.experiments.predictions import Predictions
from honlearn.experiments.search import Budget, SearchResult, search
from honlearn.experiments.spaces import Space
from honlearn.paths.pairs import cut_paths
from honlearn.results.record import Configuration, Record
from honlearn.results.records import digest_of
from honlearn.seeds import derive_seed
from honlearn.tasks.link_split import split_links
from honlearn.tasks.visible_links import VisibleLinks

VALIDATION_PARTS = 5
SEARCHES = "searches"


@dataclass(frozen=True)
class SearchedJob:
    """A job whose settings are searched first; its own configuration holds how, not what comes out."""

    job: Job | LinkJob
    space: Space
    budget: Budget
    configuration: Configuration
    digest: str

    @classmethod
    def of(cls, job: Job | LinkJob, space: Space, budget: Budget) -> SearchedJob:
        """Add a search to a job."""
        how = {
            "protocol": "nested",
            "space": space.described(),
            "minutes": budget.minutes,
            "trials": budget.trials,
        }
        configuration = replace(job.configuration, search=how)
        return cls(job, space, budget, configuration, digest_of(configuration.to_json()))

    def spec(self, point: Mapping[str, Any] | None) -> ModelSpec:
        """Return the model with the settings of a point; what the user has set stays."""
        given = self.job.spec
        if point is None:
            return given
        return ModelSpec(given.entry, {**self.space.settings(given.entry, point), **given.settings})


@dataclass(frozen=True)
class NestedWork:
    """Does what `work` does, with a search before it for the jobs that ask for one."""

    work: NodeWork | LinkWork
    folder: Path

    def lacks(self, job: Any) -> bool:
        """Return whether a file of a job is asked for and not there."""
        return self.work.lacks(job)

    def run(self, job: Any) -> Record:
        """Search inside the training part, fit with the best settings, test, and return the record."""
        if not isinstance(job, SearchedJob):
            return self.work.run(job)
        cpu = time.process_time()
        found = self._search(job)
        spent = time.process_time() - cpu
        chosen = job.spec(found.point)
        final = replace(job.job, spec=chosen, configuration=job.configuration, digest=job.digest)
        record = self.work.run(final)  # type: ignore[arg-type]
        outcome = {**found.described(), "parameters": chosen.configuration()}
        times = replace(record.times, search_seconds=outcome["seconds"], search_cpu_seconds=round(spent, 4))
        return replace(record, search=outcome, times=times)

    def _search(self, job: SearchedJob) -> SearchResult:
        inner, seed = job.job, derive_seed(job.job.seed, "search")
        rate = _NodeRating(self.work, inner, job) if isinstance(inner, Job) else _LinkRating(self.work, job)
        return search(rate, job.space, job.budget, seed, self.folder / SEARCHES / job.digest)


class _NodeRating:
    """Scores settings on a fifth of the training nodes; equal micro F1 is decided by the log loss."""

    def __init__(self, work: Any, inner: Job, job: SearchedJob) -> None:
        self.job, self.network, self.threads = job, inner.network, work.threads
        self.seed = derive_seed(inner.seed, "search fit")
        self.nodes = np.asarray(work.data.nodes, dtype=object)[inner.train]
        self.labels = np.asarray(work.data.labels)[inner.train]
        parts = stratified_folds(
            self.nodes.tolist(), self.labels.tolist(), VALIDATION_PARTS, self.seed % MOST_SEED
        )
        self.held = parts[0]
        self.kept = np.setdiff1d(np.arange(len(self.nodes)), self.held)

    def __call__(self, point: Mapping[str, Any] | None) -> float:
        estimator = self.job.spec(point).make(self.network, self.seed, self.threads)
        estimator.fit(self.nodes[self.kept].tolist(), self.labels[self.kept])
        held, classes = self.nodes[self.held].tolist(), np.unique(self.labels).tolist()
        scores = Predictions.of(estimator, held, classes).scores(self.labels[self.held].tolist())
        return float(scores["micro_f1"] - 1e-6 * scores["log_loss"])


class _LinkRating:
    """Scores settings on pairs hidden from what is visible of the network."""

    def __init__(self, work: Any, job: SearchedJob) -> None:
        inner, protocol = job.job, work.data.protocol
        assert isinstance(inner, LinkJob)
        self.job, self.threads, self.seed = job, work.threads, derive_seed(inner.seed, "search fit")
        outer: VisibleLinks = work.data.visible(inner.input, inner.seed)
        self.split = split_links(
            outer.network,
            protocol.share,
            self.seed,
            protocol.directed,
            protocol.isolated,
            protocol=protocol.hides,
        )
        visits = protocol.hides != "paper"
        self.paths = None if outer.paths is None else cut_paths(outer.paths, self.split.names, visits)
        self.out = [*work.data.split(inner.seed).names, *self.split.names]

    def __call__(self, point: Mapping[str, Any] | None) -> float:
        estimator = self.job.spec(point).make(self.split.network, self.seed, self.threads, self.paths)
        estimator.fit(exclude=self.out)
        linked = estimator.predict_proba(self.split.names)[:, 1]
        return float(link_scores(self.split.labels, linked)["auprc"])
