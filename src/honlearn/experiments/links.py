"""Evaluation of models on links: a grid of (model, input, repetition), one record each.

In: a network, models with settings, a protocol and a run folder. Out: records in that folder, each on the
disk as soon as it is known. Every repetition holds out other pairs; all models and inputs are tested on the
same ones, and none is ever shown more than the network without them.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from honlearn.errors import InputError, ParameterError, check_choice, check_integer, listed
from honlearn.experiments.evaluate import INPUTS, Contender
from honlearn.experiments.link_metrics import HITS, link_scores
from honlearn.experiments.versions import versions
from honlearn.hon.network import HigherOrderNetwork
from honlearn.results.records import Records, digest_of, network_digest, plain
from honlearn.seeds import derive_seed

SCORES = ("auprc", "auroc", "mrr", *(f"hits_at_{k}" for k in HITS), "single_auprc", "gain", "disagreement")
Rebuild = Callable[[list[tuple[str, str]]], HigherOrderNetwork]


@dataclass(frozen=True)
class LinkProtocol:
    """How pairs are held out: the share of linked pairs, how often, whether order counts, the last edges.

    `rebuild` grows the network anew without the steps between given pairs (the stricter protocol); None
    takes the edges between relatives of test pairs out of the network that is there, as the paper does.
    """

    share: float = 0.1
    repetitions: int = 5
    directed: bool = True
    isolated: str = "exclude"
    rebuild: Rebuild | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The protocol in words, for records."""
        order = "directed" if self.directed else "undirected"
        return f"{self.share:g} {order} {self.isolated}{' rebuilt' if self.rebuild else ''}"


@dataclass(frozen=True)
class LinkJob:
    """One fit and one test: who, on which view of the network, in which repetition."""

    contender: Contender
    input: str
    repetition: int
    seed: int
    configuration: Mapping[str, Any]
    digest: str


class LinkData:
    """A network and the views of it that are compared: ``"gk"`` as it is, ``"g1"`` its first-order network.

    Splits are made once for each repetition and seed, on the network as it is.
    """

    def __init__(self, network: HigherOrderNetwork, protocol: LinkProtocol, which: str = "gk") -> None:
        check_choice("evaluate", "input", which, INPUTS)
        check_integer("evaluate", "repetitions", protocol.repetitions, 1)
        self.network, self.protocol = network, protocol
        both = ("gk", "g1") if network.n_conditional else ("gk",)
        self.inputs = both if which == "both" else (which,)
        self.split = lru_cache(maxsize=protocol.repetitions)(self._split)

    def _split(self, seed: int) -> Any:
        from honlearn.tasks.link_split import split_links

        protocol = self.protocol
        return split_links(self.network, protocol.share, seed, protocol.directed, protocol.isolated)

    def visible(self, name: str, seed: int) -> HigherOrderNetwork:
        """Return what a model may see of input `name`: nothing that links a test pair."""
        from honlearn.tasks.link_split import hide_pairs

        split = self.split(seed)
        if self.protocol.rebuild is not None:
            grown = self.protocol.rebuild(split.names)
            return grown if name == "gk" else grown.first_order()
        if name == "gk":
            return split.network  # type: ignore[no-any-return]
        first = self.network.first_order()
        codes = first.vocabulary.codes(end for pair in split.names for end in pair)
        return hide_pairs(first, codes.reshape(-1, 2))


def plan_links(data: LinkData, contenders: Sequence[Contender], seed: int) -> list[LinkJob]:
    """Return the jobs in the order in which they run: row by row, repetition by repetition."""
    names = [contender.entry.name for contender in contenders]
    if len(set(names)) < len(names):
        raise ParameterError(f"a model is named twice: {listed(names, 40)}; name each once")
    digest, protocol = network_digest(data.network), data.protocol
    jobs = []
    for contender in contenders:
        given = Contender(contender.entry, {**contender.settings, "directed": protocol.directed})
        parameters = given.configuration()
        for name in data.inputs:
            for repetition in range(protocol.repetitions):
                drawn = derive_seed(seed, "link repetition", repetition)
                configuration = {
                    "task": "links",
                    "model": contender.entry.name,
                    "input": name,
                    "seed": seed,
                    "folds": protocol.name,
                    "fold": repetition,
                    "parameters": parameters,
                    "data": {"network": digest, "test": digest_of(data.split(drawn).names)},
                }
                jobs.append(LinkJob(given, name, repetition, drawn, configuration, digest_of(configuration)))
    return jobs


def run_link_job(job: LinkJob, data: LinkData) -> dict[str, Any]:
    """Fit on what may be seen, test on the pairs held out, and return the record."""
    split = data.split(job.seed)
    network = data.visible(job.input, job.seed)
    lost = [pair for pair in split.names if not all(name in network.vocabulary for name in pair)]
    if lost:
        raise InputError(
            f"{len(lost):,} test pairs have an entity that the rebuilt network lacks, such as {lost[0]!r}"
        )
    seed = derive_seed(job.seed, "fit")
    estimator = job.contender.entry.make(network, **job.contender.settings, random_state=seed)
    wall, cpu = time.perf_counter(), time.process_time()
    estimator.fit(exclude=split.names)
    fitted, fitted_cpu = time.perf_counter(), time.process_time()
    linked = estimator.predict_proba(split.names)[:, 1]
    members = estimator.member_proba(split.names)[:, :, 1] if hasattr(estimator, "member_proba") else None
    done, done_cpu = time.perf_counter(), time.process_time()
    if not np.isfinite(linked).all():
        raise InputError(
            f"{type(estimator).__name__}: its probabilities are not finite, so the training diverged; "
            "lower learning_rate"
        )
    return {
        "digest": job.digest,
        "configuration": dict(job.configuration),
        "scores": link_scores(split.labels, linked, members),
        "sizes": {
            "train": 2 * (split.counts["positives"] - split.counts["tested"] - split.counts["reversed"]),
            "test": len(split.labels),
            **split.counts,
            "parameters": plain(getattr(estimator, "n_parameters_", None)),
        },
        "times": {
            "fit_seconds": round(fitted - wall, 4),
            "fit_cpu_seconds": round(fitted_cpu - cpu, 4),
            "predict_seconds": round(done - fitted, 4),
            "predict_cpu_seconds": round(done_cpu - fitted_cpu, 4),
            "finished": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        },
        "versions": versions(),
    }


def evaluate_links(
    data: LinkData, jobs: Sequence[LinkJob], folder: str | Path
) -> Iterator[tuple[LinkJob, dict[str, Any], bool]]:
    """Run the jobs that have no record in `folder`; yield each job, its record, and whether it ran now."""
    records = Records(folder)
    for job in jobs:
        runs = job.digest not in records
        if runs:
            records.append(run_link_job(job, data))
        yield job, records[job.digest], runs
