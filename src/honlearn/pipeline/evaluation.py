"""``evaluate`` in Python: models on folds of the labelled nodes, as the command does it.

In: a network or paths, labels, names of models. Out: :class:`Evaluation`: a table of scores with their
spread and paired tests, the records behind it, and a page.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honlearn.errors import check_integer
from honlearn.experiments.evaluate import ModelSpec, NodeData, plan
from honlearn.experiments.evaluate import evaluate as run_jobs
from honlearn.experiments.folds import Folds
from honlearn.experiments.machine import machine
from honlearn.experiments.registry import find_model
from honlearn.experiments.runner import executor_for
from honlearn.hon.build import GramCounts, count_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.options import ReaderOptions
from honlearn.pipeline.given_labels import as_labels
from honlearn.reporting.build import build_report
from honlearn.results.networks import network_key, network_name
from honlearn.results.record import Record
from honlearn.results.runs import read_run
from honlearn.results.summary import summarise, write_summary
from honlearn.writing.atomic import atomic_text

if TYPE_CHECKING:
    import pandas

_OWNER = "evaluate"
_SHOWN = (
    *("micro_f1", "macro_f1", "log_loss", "ece", "ece_of_noise"),
    *("coverage_90", "set_size_90", "fit_cpu_seconds"),
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of models on nodes that a fit has not seen.

    Parameters
    ----------
    table
        One row for each model and input: mean and deviation of each score, and ``p_value``, whether
        its micro F1 differs from that of the first row (corrected resampled t-test).
    records
        One for each fit.
    html
        The page.
    """

    table: pandas.DataFrame
    records: tuple[Record, ...]
    html: str

    def report(self, path: str | os.PathLike[str] = "report.html") -> Path:
        """Write the page and return its path.

        Parameters
        ----------
        path
            The file of the page.
        """
        target = Path(path)
        with atomic_text(target) as file:
            file.write(self.html)
        return target

    def __repr__(self) -> str:
        return (
            f"Evaluation({len(self.records)} fits)\n{self.table.to_string(index=False, float_format='%.3f')}"
        )

    def _repr_html_(self) -> str:
        from honlearn.paths.html import card, table

        rows = [
            [f"{value:.3f}" if isinstance(value, float) else value for value in row]
            for row in self.table.itertuples(index=False)
        ]
        shown = table(list(self.table.columns), rows, range(2, len(self.table.columns)))
        return card("Evaluation", {"fits": len(self.records)}, shown)


def evaluate(
    data: Any,
    labels: Any,
    *,
    models: str | Sequence[str] = "dge-bag",
    input: str = "both",
    folds: int = 5,
    seeds: int = 1,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    output: str | os.PathLike[str] | None = None,
    processes: int = 1,
    executor: Any = None,
    random_state: int = 0,
    **reading: Any,
) -> Evaluation:
    """Compare models on stratified folds of the labelled nodes.

    Parameters
    ----------
    data
        A :class:`honlearn.HigherOrderNetwork`, or paths as :func:`honlearn.read_paths` takes them,
        from which the network of significant contexts of two entities is grown.
    labels
        Classes of nodes, as for :func:`honlearn.learn`.
    models
        Names such as ``"dge-bag"``, ``"gcn"``, ``"majority"``.
    input
        ``"higher-order"`` (the network as it is), ``"first-order"``, ``"both"``; with paths also
        ``"auto"`` (each fit chooses its network) and ``"all"``.
    folds, seeds
        Every model is fitted `folds` × `seeds` times on each input.
    settings
        Parameters by model, such as ``{"dge-bag": {"n_learners": 8}}``.
    output
        A run folder, which a second call goes on with; None keeps everything in memory.
    processes
        Local processes.
    executor
        Where paths are counted and fits run, instead: a number of local processes, ``"ray"``,
        ``"dask"``, the address of either, or a ``concurrent.futures.Executor``; the results are the
        same.
    random_state
        The first seed.
    **reading
        Options of :func:`honlearn.read_paths`.
    """
    names = [models] if isinstance(models, str) else list(models)
    specs = [
        ModelSpec(entry := find_model(name, "nodes"), (settings or {}).get(entry.name, {})) for name in names
    ]
    where = executor_for(processes, executor)
    ReaderOptions.check_names("evaluate", reading, signature(evaluate).parameters)
    network, counts = _network(data, {"executor": executor, **reading})
    nodes = NodeData.of(network, *as_labels(labels), network_key(input), counts)
    first = check_integer(_OWNER, "random_state", random_state, 0)
    count = check_integer(_OWNER, "seeds", seeds, 1)
    split = Folds("stratified", check_integer(_OWNER, "folds", folds, 2))
    jobs = plan(nodes, specs, split, range(first, first + count))
    if output is not None:
        return _run(nodes, jobs, Path(output), where)
    with tempfile.TemporaryDirectory(prefix="honlearn-") as folder:
        return _run(nodes, jobs, Path(folder), where)


def _network(data: Any, reading: Mapping[str, Any]) -> tuple[HigherOrderNetwork, GramCounts | None]:
    if isinstance(data, HigherOrderNetwork):
        return data, None
    counts = data if isinstance(data, GramCounts) else count_grams(data, 3, **reading)
    return counts.grow(min(2, counts.order), alpha=0.05), counts


def _run(nodes: NodeData, jobs: Sequence[Any], folder: Path, executor: Any) -> Evaluation:
    import pandas as pd

    done = {
        job.digest: record
        for job, record, _ in run_jobs(nodes, jobs, folder, keep_artefacts=True, executor=executor)
    }
    records = tuple(done[job.digest] for job in jobs)
    rows = summarise(records)
    write_summary(
        folder, rows, {"task": "nodes", "nodes": len(nodes.nodes), "notes": [], "machine": machine()}
    )
    kept = ["model", "input", "records"]
    kept += [f"{name}_{part}" for name in _SHOWN for part in ("mean", "std")] + ["p_value"]
    table = pd.DataFrame(rows)
    table["input"] = table["input"].map(network_name)
    return Evaluation(
        table[[name for name in kept if name in table]], records, build_report(read_run(folder))
    )
