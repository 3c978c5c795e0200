"""Models measured for a table or figure: each on an input of a data set, with its records under a protocol.

In: rows, a data set, and how to measure: folds, seeds, the protocol by which settings are chosen, processes.
Out: for each row its records, kept in one run folder for each data set. A row that cannot be measured here
(no such model, no higher-order network) has a reason instead, and no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from honlearn.errors import HonlearnError, ParameterError, check_choice
from honlearn.experiments.artefacts import keep_inputs
from honlearn.experiments.estimate import Planned, planned
from honlearn.experiments.evaluate import AUTO, Job, ModelSpec, NodeData, NodeWork, plan
from honlearn.experiments.folds import Folds
from honlearn.experiments.link_data import LinkData, LinkProtocol
from honlearn.experiments.links import LinkJob, LinkWork, keep_tests, plan_links
from honlearn.experiments.nested import NestedWork, SearchedJob
from honlearn.experiments.registry import Entry, find_model
from honlearn.experiments.runner import JobError, run_all, threads_for
from honlearn.experiments.search import Budget
from honlearn.experiments.selection import best_on_test, points
from honlearn.experiments.sources import Source
from honlearn.experiments.spaces import Space, own_space, paper_space
from honlearn.hon.build import DEFAULT_MAX_ORDER, count_grams
from honlearn.results.artefacts import write_network
from honlearn.results.metrics import mean_and_deviation
from honlearn.results.record import Record
from honlearn.results.records import Records

PROTOCOLS = ("nested", "paper", "fixed")
SCORE = {"nodes": "micro_f1", "links": "auprc"}
_NO_MEMORY = "the network is of first order"
_TRY_LESS = "with a smaller --tau or --min-support its paths may grow more"
SettingsOf = Callable[[Entry], Mapping[str, Any]]


@dataclass(frozen=True)
class TableRow:
    """A row of a table or a point of a figure: who, on what, and what else is set."""

    model: str
    input: str
    layers: int | None = None
    column: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Measured:
    """The records of a row, and under the paper's protocol what choosing on the test parts adds."""

    records: Sequence[Record] = ()
    reason: str = ""
    optimism: float | None = None
    tried: int = 1

    def scores(self, name: str) -> list[float]:
        """Return a score of each record."""
        return [record.score(name) for record in self.records]

    def spread(self, name: str) -> tuple[float, float | None]:
        """Return mean and deviation (n − 1) of a score; the deviation is None for a single record."""
        return mean_and_deviation(self.scores(name))


PAPER_LEARNER = "sage"


def nothing_given(entry: Entry) -> dict[str, Any]:
    """Return no settings: whatever the model, the user has set nothing."""
    return {}


@dataclass(frozen=True)
class Plan:
    """How to measure, the same for all rows and data sets; `given` returns what the user sets for a model.

    With `auto` ensembles also choose their networks, in the tables that have such rows.
    """

    folds: Folds = field(default_factory=Folds)
    seeds: tuple[int, ...] = (0,)
    protocol: str = "nested"
    budget: Budget = field(default_factory=Budget)
    spaces: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    repetitions: int = 5
    first_folds: int | None = None
    processes: int = 1
    executor: Any = None
    given: SettingsOf = nothing_given
    auto: bool = False
    watching: Callable[[int, str], AbstractContextManager[Any]] = lambda total, task: nullcontext()

    def __post_init__(self) -> None:
        check_choice("reproduce", "protocol", self.protocol, PROTOCOLS)

    def space(self, entry: Entry, settings: Mapping[str, Any]) -> Space:
        """Return what may be searched for a model beyond `settings`."""
        if entry.name in self.spaces:
            return own_space(entry, self.spaces[entry.name], settings)
        return paper_space(entry, settings)


# How the paper's models read pairs: two ends and nothing else, with unlinked pairs drawn uniformly.
PAPER_PAIRS: Mapping[str, Any] = {
    "operator": "concat+hadamard",
    "pair_folds": 0,
    "pair_counts": False,
    "pair_common": 0,
    "negatives": "uniform",
    "input_dropout": 0.4,
}


class Bench:
    """Measures rows of one task on one data set, in one run folder."""

    def __init__(self, source: Source, folder: Path, how: Plan, task: str = "nodes") -> None:
        self.source, self.folder, self.how, self.task = source, folder, how, task
        self._nodes: dict[str, NodeData] = {}
        self._links: LinkData | None = None

    # --- what is asked ---------------------------------------------------------------------------------

    def reason(self, row: TableRow) -> str:
        """Return why a row cannot be measured here, or nothing."""
        if row.input == "gk" and not self.source.has_memory:
            return _NO_MEMORY if self.source.paths is None else f"{_NO_MEMORY}; {_TRY_LESS}"
        try:
            entry = find_model(row.model, self.task)
        except ParameterError:
            return f"no model {row.model} for {self.task}"
        if row.input == AUTO and not entry.chooses_network:
            return f"{row.model} cannot choose its network"
        if row.input == AUTO and self.source.paths is None:
            return "there are no paths to choose a network from"
        return ""

    def spec(self, row: TableRow) -> ModelSpec:
        """Return the model of a row with what the row and the user set; the row wins.

        A model that learns from the paths themselves gets those of the data set, where they are known.
        """
        entry = find_model(row.model, self.task)
        paths = {"paths": self.source.paths} if "paths" in entry.keywords() and self.source.paths else {}
        # The paper's learner, unless the user names another.
        own: dict[str, Any] = {"learner": PAPER_LEARNER} if "learner" in entry.keywords() else {}
        if "pair_folds" in entry.keywords():
            # So does its way to read pairs, which knows no paths.
            own, paths = {**own, **PAPER_PAIRS}, {}
        spec = ModelSpec(entry, {**own, **paths, **self.how.given(entry), **row.settings})
        return spec.on(row.input) if self.how.auto else spec

    def jobs(self, row: TableRow, spec: ModelSpec) -> list[Job] | list[LinkJob]:
        """Return the plain jobs of a row: every seed and fold (or the first folds), or repetition."""
        if self.task == "nodes":
            jobs = plan(self._node_data(row.input), [spec], self.how.folds, self.how.seeds)
            most = self.how.first_folds
            return [job for job in jobs if most is None or job.configuration.fold < most]
        data = self._link_data()
        made = [job for seed in self.how.seeds for job in plan_links(data, [spec], seed)]
        return [job for job in made if job.input == row.input]

    def _node_data(self, name: str) -> NodeData:
        if name not in self._nodes:
            source = self.source
            counts = count_grams(source.paths, DEFAULT_MAX_ORDER) if name == AUTO else None
            self._nodes[name] = NodeData.of(source.network, source.nodes, source.labels, name, counts)
        return self._nodes[name]

    def _link_data(self) -> LinkData:
        if self._links is None:
            # What the published values were measured by.
            protocol = LinkProtocol.published(self.how.repetitions)
            self._links = LinkData(self.source.network, protocol, "both")
        return self._links

    # --- measuring -------------------------------------------------------------------------------------

    def measure(self, rows: Iterable[TableRow], *, need_answers: bool = False) -> dict[TableRow, Measured]:
        """Run what has no record yet; return the records of every row, or why there are none."""
        wanted = list(rows)
        reasons = {row: self.reason(row) for row in wanted}
        ready = [row for row in wanted if not reasons[row]]
        if self.how.protocol == "paper":
            found = self._best_on_test(ready, need_answers)
        else:
            jobs = {row: self._searched(row) for row in ready}
            records = self._run([job for group in jobs.values() for job in group], need_answers)
            found = {row: Measured([records[job.digest] for job in group]) for row, group in jobs.items()}
        return {row: found[row] if row in found else Measured(reason=reasons[row]) for row in wanted}

    def _searched(self, row: TableRow) -> list[Any]:
        spec = self.spec(row)
        jobs = self.jobs(row, spec)
        if self.how.protocol == "fixed":
            return list(jobs)
        space = self.how.space(spec.entry, spec.settings)
        return [SearchedJob.of(job, space, self.how.budget) if space.size else job for job in jobs]

    def _best_on_test(self, rows: Sequence[TableRow], need_answers: bool) -> dict[TableRow, Measured]:
        """Try settings in rounds, one per row, until each row's budget is spent; take the best on the tests.

        The first is the default, which must not fail; a later one that cannot be fitted is passed over.
        """
        tried: dict[TableRow, list[list[Record]]] = {row: [] for row in rows}
        seconds, failed = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0)
        grids = {}
        for row in rows:
            given = self.spec(row)
            space = self.how.space(given.entry, given.settings)
            grids[row] = (given, space, points(space, self.how.seeds[0]))
        while grids:
            jobs = {}
            for row, (given, space, rest) in list(grids.items()):
                point = next(rest, "none left")
                if isinstance(point, str) or self._is_spent(tried[row], failed[row], seconds[row]):
                    del grids[row]
                    continue
                more = {} if point is None else space.settings(given.entry, point)
                jobs[row] = self.jobs(row, ModelSpec(given.entry, {**more, **given.settings}))
            is_default = not any(tried.values())
            records = self._run([job for group in jobs.values() for job in group], need_answers, is_default)
            for row, group in jobs.items():
                known = [records[job.digest] for job in group if job.digest in records]
                seconds[row] += sum(r.times.fit_seconds or 0.0 for r in known)
                if len(known) == len(group):
                    tried[row].append(known)
                else:
                    failed[row] += 1
        found = {}
        for row, settings in tried.items():
            chosen = best_on_test(settings, SCORE[self.task])
            found[row] = Measured(chosen.records, "", chosen.optimism, len(settings))
        return found

    def _is_spent(self, settings: Sequence[Sequence[Record]], failed: int, seconds: float) -> bool:
        """Return whether a row may try no more; the minutes are those of a nested search, once per fit."""
        return bool(settings) and self.how.budget.is_spent(len(settings) + failed, seconds / len(settings[0]))

    def _run(self, jobs: Sequence[Any], need_answers: bool, strict: bool = True) -> dict[str, Record]:
        """Return the records of jobs; of those that fail there is none, unless `strict` raises."""
        if not jobs:
            return {}
        folder = self.folder.absolute()
        threads = threads_for(self.how.processes, self.how.executor)
        if self.task == "links":
            work: NodeWork | LinkWork = LinkWork(self._link_data(), folder, threads)
            write_network(self.folder, self.source.network)
            keep_tests(self.folder, self._link_data(), [getattr(job, "job", job) for job in jobs])
        else:
            # Every input has the same labelled nodes; a job brings its own network.
            data = self._node_data(next(iter(self._nodes)))
            work = NodeWork(data, folder, False, True, need_answers, threads)
            inputs = [self._nodes[name].inputs[name] for name in self._nodes]
            keep_inputs(self.folder, inputs, data.nodes, data.labels)
        records: dict[str, Record] = {}
        with self.how.watching(len({job.digest for job in jobs}), self.task) as report:
            where = {"processes": self.how.processes, "executor": self.how.executor}
            steps = run_all(NestedWork(work, folder), jobs, self.folder, watch=report, **where)
            try:
                for job, record, _ in steps:
                    records[job.digest] = record
            except HonlearnError as error:
                if strict or isinstance(error, JobError):
                    raise
        return records

    # --- before anything runs --------------------------------------------------------------------------

    def planned(self, rows: Sequence[TableRow]) -> list[Planned]:
        """Return what would run and how long it may take."""
        known = list(Records(self.folder)) if self.folder.is_dir() else []
        edges = {"gk": self.source.network.n_edges, "g1": self.source.network.first_order().n_edges}
        made = []
        if any(row.input == AUTO and not self.reason(row) for row in rows):
            edges |= self._node_data(AUTO).n_edges
        for row in rows:
            if self.reason(row):
                continue
            given = self.spec(row)
            space = self.how.space(given.entry, given.settings)
            choices = space.size if self.how.protocol != "fixed" else 0
            jobs = self._searched(row) if self.how.protocol == "nested" else self.jobs(row, given)
            words = " ".join(filter(None, (f"{row.layers} layers" if row.layers else "", row.column)))
            search = partial(self._search_seconds, points=choices)
            made += planned(jobs, known, edges, setting=words, data=self.source.name, search_seconds=search)
        return made

    def _search_seconds(self, fit: float, points: int) -> float:
        """Return what a search adds to a job whose fit takes so long; the paper's has the default in it."""
        if not points:
            return 0.0
        whole = self.how.budget.expected(fit, points)
        return max(whole - fit, 0.0) if self.how.protocol == "paper" else whole
