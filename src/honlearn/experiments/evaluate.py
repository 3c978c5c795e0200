"""Evaluation of models on nodes: a grid of (model, input, seed, fold), one record each.

In: a network, labelled nodes, models with settings, folds and seeds, and a run folder. Out: records in that
folder, each on the disk as soon as it is known, so that a run that was killed goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError, check_choice, listed, other_spellings
from honlearn.experiments.artefacts import keep_inputs, keep_node_answers
from honlearn.experiments.folds import Folds
from honlearn.experiments.predictions import Predictions
from honlearn.experiments.registry import EXECUTION, STRUCTURE, Entry
from honlearn.experiments.runner import Watch, run_all, threads_for
from honlearn.experiments.stopwatch import Moment, fit_times
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.labels import none_known
from honlearn.paths.paths import Paths
from honlearn.results.artefacts import answers_path
from honlearn.results.record import (
    ChosenComponent,
    ChosenNetwork,
    Configuration,
    DataDigests,
    Record,
    Sizes,
)
from honlearn.results.records import digest_of, network_digest, plain
from honlearn.seeds import derive_seed
from honlearn.versions import versions
from honlearn.writing.atomic import atomic_binary

if TYPE_CHECKING:
    import pandas

# The network as it is, its first-order network, and what a model chooses from counts of grams.
GROWN, AUTO = ("gk", "g1"), "auto"
INPUTS = (*GROWN, "both", AUTO, "all")
# Choosing takes about as long as so many fits.
_RACE = 4
PREDICTIONS = "predictions"


@dataclass(frozen=True)
class ModelSpec:
    """A model that is evaluated: an entry of the registry and settings of its keywords."""

    entry: Entry
    settings: Mapping[str, Any] = field(default_factory=dict)

    def configuration(self) -> dict[str, Any]:
        """Return every parameter that decides the result, as plain values."""
        given = self.entry.parameters(self.settings)
        return {k: plain(v) for k, v in given.items() if k not in (*EXECUTION, "random_state")}

    def on(self, name: str) -> ModelSpec:
        """Return the model for one input among several: what fixes a choice is for the one that chooses."""
        if name == AUTO:
            return self
        return ModelSpec(self.entry, {k: v for k, v in self.settings.items() if k not in STRUCTURE})

    def make(
        self,
        network: HigherOrderNetwork | GramCounts,
        seed: int,
        threads: int | None = None,
        paths: Paths | None = None,
    ) -> Any:
        """Return an unfitted estimator; it shows no bar and uses `threads`, unless set otherwise.

        `paths`, where there are any, go to a model that reads them.
        """
        known, execution = self.entry.keywords(), {"n_threads": threads, "verbose": False, "paths": paths}
        given = {key: value for key, value in execution.items() if key in known and value is not None}
        return self.entry.make(network, **{**given, **self.settings}, random_state=seed)


@dataclass(frozen=True)
class NodeData:
    """Labelled nodes in the order of their file, and the networks that are compared on them."""

    nodes: tuple[str, ...]
    labels: tuple[str, ...]
    inputs: Mapping[str, HigherOrderNetwork | GramCounts]
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        network: HigherOrderNetwork | GramCounts,
        nodes: Sequence[str],
        labels: Sequence[str],
        which: str = "gk",
        counts: GramCounts | None = None,
        labels_file: Path | None = None,
    ) -> NodeData:
        """Take the labelled nodes that the network and the counts have, whichever inputs are compared.

        `which` is ``"gk"``, the network as it is, ``"g1"``, its first-order network, ``"auto"``, the counts,
        from which a model grows the network that it finds best, ``"both"`` (gk and g1) or ``"all"``. A
        first-order network is ``"g1"``, whichever of the two is asked for. Counts alone are ``"auto"``. An
        error names the column of `labels_file` that holds the nodes.
        """
        check_choice("evaluate", "input", which, INPUTS)
        inputs = {AUTO: network} if isinstance(network, GramCounts) else _inputs(network, which, counts)
        holders = [network, *inputs.values(), *([] if counts is None else [counts])]
        there = [all(node in one.vocabulary for one in holders) for node in nodes]
        kept = [(n, label) for n, label, known in zip(nodes, labels, there, strict=True) if known]
        missing = tuple(node for node, known in zip(nodes, there, strict=True) if not known)
        if not kept:
            raise none_known(nodes, network.vocabulary.names, labels_file)
        return cls(tuple(n for n, _ in kept), tuple(label for _, label in kept), inputs, missing)

    @property
    def missing_spellings(self) -> str:
        """A hint where entities have the names of missing nodes in another spelling; else nothing."""
        return other_spellings(self.missing, next(iter(self.inputs.values())).vocabulary.names)

    @property
    def n_edges(self) -> dict[str, int]:
        """The edges of each input, by which the time of a fit is guessed; a choice is as if it had more."""
        return {
            name: _RACE * source.grow(min(2, source.order), 1.0).n_edges
            if isinstance(source, GramCounts)
            else source.n_edges
            for name, source in self.inputs.items()
        }


def named_inputs(network: HigherOrderNetwork, names: Sequence[str]) -> tuple[str, ...]:
    """Return what the inputs are called: a network without memory is its own first-order one, ``"g1"``."""
    if network.n_conditional:
        return tuple(names)
    return tuple(dict.fromkeys("g1" if name == "gk" else name for name in names))


def _inputs(
    network: HigherOrderNetwork, which: str, counts: GramCounts | None
) -> dict[str, HigherOrderNetwork | GramCounts]:
    names = {"both": GROWN, "all": (*GROWN, AUTO)}.get(which, (which,))
    names = named_inputs(network, names)
    if AUTO in names and counts is None:
        raise InputError(
            f"input {which!r}: a network is chosen from counts of paths, and none were given; name the paths "
            "with --paths, or pass count_grams(paths, order=3)"
        )
    found: dict[str, HigherOrderNetwork | GramCounts] = {}
    for name in names:
        if name == AUTO:
            assert counts is not None
            found[name] = counts
        else:
            found[name] = network if name == "gk" else network.first_order()
    return found


@dataclass(frozen=True)
class Job:
    """One fit and one test: who, on what, with which seed, and the nodes of either part."""

    spec: ModelSpec
    network: HigherOrderNetwork | GramCounts
    seed: int
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    configuration: Configuration
    digest: str


def distinct_names(specs: Sequence[ModelSpec]) -> list[str]:
    """Return the names of the models; raise where one is named twice."""
    names = [spec.entry.name for spec in specs]
    if len(set(names)) < len(names):
        raise ParameterError(f"a model is named twice: {listed(names, 40)}; name each once")
    return names


def plan(data: NodeData, specs: Sequence[ModelSpec], folds: Folds, seeds: Sequence[int]) -> list[Job]:
    """Return the jobs in the order in which they run: model by model, seed by seed, fold by fold.

    A model that cannot choose its network has none on the input ``"auto"``.
    """
    if len(set(data.labels)) < 2:
        raise InputError(f"all labelled nodes are of the class {data.labels[0]!r}; two classes are needed")
    names = distinct_names(specs)
    splits = {seed: folds.tests(data.nodes, data.labels, seed) for seed in seeds}
    digests = {name: network_digest(network) for name, network in data.inputs.items()}
    labels = digest_of(sorted(zip(data.nodes, data.labels, strict=True)))
    if AUTO in data.inputs and not any(spec.entry.chooses_network for spec in specs):
        raise ParameterError(
            f"input {AUTO!r}: none of {listed(names, 40)} can choose its network; add a dge model"
        )
    jobs = []
    for given in specs:
        for name, network in data.inputs.items():
            if name == AUTO and not given.entry.chooses_network:
                continue
            spec = given.on(name) if AUTO in data.inputs else given
            parameters = spec.configuration()
            for seed in seeds:
                for fold, test in enumerate(splits[seed]):
                    train = np.setdiff1d(np.arange(len(data.nodes)), test)
                    tested = digest_of(sorted(data.nodes[i] for i in test))
                    configuration = Configuration(
                        task="nodes",
                        model=spec.entry.name,
                        input=name,
                        seed=seed,
                        folds=folds.kind if folds.kind == "published" else f"{folds.kind} {folds.count}",
                        fold=fold,
                        parameters=parameters,
                        data=DataDigests(digests[name], labels, tested),
                    )
                    # The same for all models, so that they are compared on equal terms.
                    fit_seed = derive_seed(seed, "fit", fold)
                    digest = digest_of(configuration.to_json())
                    jobs.append(Job(spec, network, fit_seed, train, test, configuration, digest))
    return jobs


def run_job(
    job: Job, data: NodeData, artefacts_in: str | Path | None = None, threads: int | None = None
) -> tuple[Record, pandas.DataFrame]:
    """Fit and test once; return the record and the predictions on the test nodes.

    With `artefacts_in` a run folder, what the report shows of this fit is kept there.
    """
    nodes, labels = np.asarray(data.nodes, dtype=object), np.asarray(data.labels)
    estimator = job.spec.make(job.network, job.seed, threads)
    start = Moment.now()
    estimator.fit(nodes[job.train].tolist(), labels[job.train])
    fitted = Moment.now()
    predictions = Predictions.of(estimator, nodes[job.test].tolist(), np.unique(labels).tolist())
    done = Moment.now()
    truth, parameters = labels[job.test], job.configuration.parameters
    if artefacts_in is not None:
        keep_node_answers(artefacts_in, job.digest, estimator, predictions, truth)
    classes = len(predictions.classes)
    sizes = Sizes(
        train=len(job.train),
        test=len(job.test),
        counts={"classes": classes, "unseen_classes": classes - len(estimator.classes_)},
        parameters=plain(getattr(estimator, "n_parameters_", None)),
        chosen=_chosen(estimator) if isinstance(job.network, GramCounts) else None,
        edge_power=estimator.edge_power_ if parameters.get("edge_power") == AUTO else None,
        kernel_share=getattr(estimator, "kernel_share_", None) or None,
        components=_components(estimator) if parameters.get("learner") == AUTO else (),
    )
    times = fit_times(start, fitted, done)
    found = predictions.scores(truth.tolist())
    record = Record(job.digest, job.configuration, found, sizes, times, versions())
    table = predictions.table().rename(columns={"label": "predicted"})
    table.insert(1, "label", truth)
    asked = job.configuration
    table.insert(0, "model", asked.model)
    table.insert(1, "input", asked.input)
    table.insert(2, "seed", asked.seed)
    table.insert(3, "fold", asked.fold)
    return record, table


def _chosen(estimator: Any) -> ChosenNetwork:
    """Return what network a fit has chosen."""
    network, grown = estimator.network_, estimator.network_.parameters
    tau = None if grown.order == 1 else grown.tau
    return ChosenNetwork(grown.order, tau, grown.min_support, network.n_nodes)


def _components(estimator: Any) -> tuple[ChosenComponent, ...]:
    """Return the learners that a fit has chosen; shares sum to 1 with that of the kernel."""
    table = estimator.members_
    return tuple(
        ChosenComponent(
            str(part["learner"].iloc[0]),
            float(part["edge_power"].iloc[0]),
            int(estimator.components_[int(number)].model.network.max_order),
            len(part),
            float(part["weight"].sum()),
        )
        for number, part in table.groupby("component", sort=True)
    )


@dataclass(frozen=True)
class NodeWork:
    """What the runner does with a job on nodes: the record, and the files beside it that are asked for.

    With `need_answers` a job whose answers (see :mod:`honlearn.results.artefacts`) are not there runs again.
    """

    data: NodeData
    folder: Path
    keep_predictions: bool = False
    keep_artefacts: bool = False
    need_answers: bool = False
    threads: int | None = None

    def part(self, job: Job) -> Path:
        """Return the file of a job's predictions."""
        return self.folder / PREDICTIONS / f"{job.digest}.parquet"

    def lacks(self, job: Job) -> bool:
        """Return whether a file of a job is asked for and not there."""
        if self.need_answers and not answers_path(self.folder, job.digest).exists():
            return True
        return self.keep_predictions and not self.part(job).exists()

    def run(self, job: Job) -> Record:
        """Fit and test once, keep what is asked for, and return the record."""
        kept = self.folder if self.keep_artefacts or self.need_answers else None
        record, table = run_job(job, self.data, kept, self.threads)
        if self.keep_predictions:
            self.part(job).parent.mkdir(exist_ok=True)
            with atomic_binary(self.part(job)) as file:
                table.to_parquet(file, index=False)
        return record


def evaluate(
    data: NodeData,
    jobs: Sequence[Job],
    folder: str | Path,
    *,
    keep_predictions: bool = False,
    keep_artefacts: bool = False,
    processes: int = 1,
    executor: Any = None,
    watch: Watch | None = None,
) -> Iterator[tuple[Job, Record, bool]]:
    """Run the jobs that have no record in `folder` yet; yield each job, its record, and whether it ran now.

    With `keep_predictions` the predictions on each test part are in ``predictions/<digest>.parquet``, and
    at the end all of them in ``predictions.parquet``; a job without its file is run again. With
    `keep_artefacts` what the report shows is kept. `processes`, `executor` and `watch` are those of
    :func:`honlearn.experiments.runner.run_all`.
    """
    threads = threads_for(processes, executor)
    work = NodeWork(data, Path(folder).absolute(), keep_predictions, keep_artefacts, threads=threads)
    if keep_artefacts:
        keep_inputs(folder, data.inputs.values(), data.nodes, data.labels)
    yield from run_all(work, jobs, folder, processes=processes, executor=executor, watch=watch)
    if keep_predictions:
        _gather(work, jobs, Path(folder) / f"{PREDICTIONS}.parquet")


def _gather(work: NodeWork, jobs: Sequence[Job], target: Path) -> None:
    import pandas as pd

    tables = [pd.read_parquet(work.part(job)) for job in jobs]
    with atomic_binary(target) as file:
        pd.concat(tables, ignore_index=True).to_parquet(file, index=False)
