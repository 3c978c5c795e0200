"""Evaluation of models on links: a grid of (model, input, repetition), one record each.

In: a network, models with settings, a protocol and a run folder. Out: records in that folder, each on the
disk as soon as it is known. Every repetition holds out other pairs; all models and inputs are tested on the
same ones, and none is ever shown more than the network without them.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from honlearn.errors import InputError, ParameterError, check_choice, check_integer, listed
from honlearn.experiments.artefacts import keep_data, keep_link_answers
from honlearn.experiments.evaluate import GROWN, ModelSpec, named_inputs
from honlearn.experiments.link_metrics import HITS, link_scores
from honlearn.experiments.runner import Watch, run_all, threads_for
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import GrowParameters
from honlearn.paths.paths import Paths
from honlearn.results.record import Configuration, DataDigests, Record, Sizes, Times
from honlearn.results.records import digest_of, network_digest, plain
from honlearn.seeds import derive_seed
from honlearn.versions import versions

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
class GrownAnew:
    """Grows a network anew from its paths, without the steps between given pairs."""

    paths: Paths
    parameters: GrowParameters

    def __call__(self, pairs: list[tuple[str, str]]) -> HigherOrderNetwork:
        """Return the network of the paths that are cut wherever they step between the ends of a pair."""
        from honlearn.hon.build import grow
        from honlearn.paths.pairs import cut_paths

        asked = self.parameters
        cut = cut_paths(self.paths, pairs)
        return grow(cut, order=asked.order, tau=asked.tau, min_support=asked.min_support)


@dataclass(frozen=True)
class LinkJob:
    """One fit and one test: who, on which view of the network, in which repetition."""

    spec: ModelSpec
    input: str
    repetition: int
    seed: int
    configuration: Configuration
    digest: str


class LinkData:
    """A network and the views of it that are compared: ``"gk"`` as it is, ``"g1"`` its first-order network.

    A network without memory is ``"g1"`` alone. Splits are made once for each repetition and seed, on the
    network as it is.
    """

    def __init__(self, network: HigherOrderNetwork, protocol: LinkProtocol, which: str = "gk") -> None:
        check_choice("evaluate", "input", which, (*GROWN, "both"))
        check_integer("evaluate", "repetitions", protocol.repetitions, 1)
        self.network, self.protocol = network, protocol
        self.inputs = named_inputs(network, GROWN if which == "both" else (which,))
        self.split = lru_cache(maxsize=protocol.repetitions)(self._split)

    def __getstate__(self) -> dict[str, Any]:
        # Another process makes its splits itself, from the same seeds.
        return {key: value for key, value in self.__dict__.items() if key != "split"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.split = lru_cache(maxsize=self.protocol.repetitions)(self._split)

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


def plan_links(data: LinkData, specs: Sequence[ModelSpec], seed: int) -> list[LinkJob]:
    """Return the jobs in the order in which they run: row by row, repetition by repetition."""
    names = [spec.entry.name for spec in specs]
    if len(set(names)) < len(names):
        raise ParameterError(f"a model is named twice: {listed(names, 40)}; name each once")
    digest, protocol = network_digest(data.network), data.protocol
    jobs = []
    for spec in specs:
        given = ModelSpec(spec.entry, {**spec.settings, "directed": protocol.directed})
        parameters = given.configuration()
        for name in data.inputs:
            for repetition in range(protocol.repetitions):
                drawn = derive_seed(seed, "link repetition", repetition)
                configuration = Configuration(
                    task="links",
                    model=spec.entry.name,
                    input=name,
                    seed=seed,
                    folds=protocol.name,
                    fold=repetition,
                    parameters=parameters,
                    data=DataDigests(digest, test=digest_of(data.split(drawn).names)),
                )
                own = digest_of(configuration.to_json())
                jobs.append(LinkJob(given, name, repetition, drawn, configuration, own))
    return jobs


def run_link_job(
    job: LinkJob, data: LinkData, artefacts_in: str | Path | None = None, threads: int | None = None
) -> Record:
    """Fit on what may be seen, test on the pairs held out, and return the record.

    With `artefacts_in` a run folder, what the report shows of this fit is kept there.
    """
    split = data.split(job.seed)
    network = data.visible(job.input, job.seed)
    lost = [pair for pair in split.names if not all(name in network.vocabulary for name in pair)]
    if lost:
        raise InputError(
            f"{len(lost):,} test pairs have an entity that the rebuilt network lacks, such as {lost[0]!r}"
        )
    estimator = job.spec.make(network, derive_seed(job.seed, "fit"), threads)
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
    if artefacts_in is not None:
        tested = (split.names, split.labels, linked, members)
        # New links are asked for once a row; other repetitions would only repeat them.
        whole = data.network if job.repetition == 0 else None
        keep_link_answers(artefacts_in, job.digest, estimator, tested, whole)
    counts = split.counts
    sizes = Sizes(
        train=2 * (counts["positives"] - counts["tested"] - counts["reversed"]),
        test=len(split.labels),
        counts=counts,
        parameters=plain(getattr(estimator, "n_parameters_", None)),
    )
    times = Times(
        fit_seconds=round(fitted - wall, 4),
        fit_cpu_seconds=round(fitted_cpu - cpu, 4),
        predict_seconds=round(done - fitted, 4),
        predict_cpu_seconds=round(done_cpu - fitted_cpu, 4),
        finished=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    )
    scores = link_scores(split.labels, linked, members)
    return Record(job.digest, job.configuration, scores, sizes, times, versions())


@dataclass(frozen=True)
class LinkWork:
    """What the runner does with a job on links; with `artefacts_in` what the report shows is kept there."""

    data: LinkData
    artefacts_in: Path | None = None
    threads: int | None = None

    def lacks(self, job: LinkJob) -> bool:
        """Return False: a record of links is all there is."""
        return False

    def run(self, job: LinkJob) -> Record:
        """Fit and test once, and return the record."""
        return run_link_job(job, self.data, self.artefacts_in, self.threads)


def evaluate_links(
    data: LinkData,
    jobs: Sequence[LinkJob],
    folder: str | Path,
    *,
    keep_artefacts: bool = False,
    processes: int = 1,
    watch: Watch | None = None,
) -> Iterator[tuple[LinkJob, Record, bool]]:
    """Run the jobs that have no record in `folder`; yield each job, its record, and whether it ran now."""
    work = LinkWork(data, Path(folder) if keep_artefacts else None, threads_for(processes))
    if keep_artefacts:
        keep_data(folder, data.network)
    yield from run_all(work, jobs, folder, processes=processes, watch=watch)
