"""``learn``: from a table of paths, and perhaps labels, to predictions and a page.

In: a table and labels in any form. Out: :class:`~honlearn.pipeline.outcome.Learned`. One step after the
other: read, count, find the memories that are real, validate on folds, train, predict every entity, explain,
and draw the page. With a folder, what is done stays there and a call that was stopped goes on.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honlearn.conformal import check_alpha
from honlearn.errors import InputError, check_integer, listed
from honlearn.experiments.artefacts import keep_facts
from honlearn.experiments.evaluate import AUTO, ModelSpec, NodeData
from honlearn.experiments.folds import MOST_SEED, rare_classes
from honlearn.experiments.machine import machine
from honlearn.experiments.registry import find_model
from honlearn.experiments.runner import Watch
from honlearn.hon.build import AUTO as LOOK_BACK
from honlearn.hon.build import GramCounts, count_for, count_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import DEFAULT_ALPHA
from honlearn.paths.options import ReaderOptions
from honlearn.paths.paths import Paths
from honlearn.pipeline import unlabelled
from honlearn.pipeline.entities import predict_entities
from honlearn.pipeline.given_labels import as_labels
from honlearn.pipeline.outcome import Learned
from honlearn.pipeline.output_folder import check_folder
from honlearn.pipeline.page import held_out_memory, learned_page
from honlearn.pipeline.reading import Confirm, ReadSummary, counted, read_table
from honlearn.pipeline.validation import FIRST_ORDER, check_classes, folds_for, plan_validation, validate
from honlearn.pipeline.words import Memories, closing, headline, memories
from honlearn.results.artefacts import write_network
from honlearn.results.runs import LEARNED_RUN

if TYPE_CHECKING:
    from honlearn.pipeline.model_folder import Kept

_OWNER = "learn"
# Small learners of one kind on one network: for a first look.
QUICK: Mapping[str, Any] = {"learner": "sage", "n_learners": 6, "widths": (64, 64)}
MODEL, RUN = "model", LEARNED_RUN
TABLES = frozenset(("predictions", "memory", "links", "communities"))


@dataclass(frozen=True)
class Reports:
    """What is called while a result is made; the default says nothing.

    step : with the name of each step as it starts.
    note : with a line worth knowing.
    watch : makes the watch of a validation from the number of its fits, as a context manager.
    goes_on_if : with the question whether a stopped call would go on.
    confirm : with a guess of columns, whether to take it; None takes those that are clear.
    """

    step: Callable[[str], None] = lambda line: None
    note: Callable[[str], None] = lambda line: None
    watch: Callable[[int], Any] = lambda total: nullcontext(Watch())
    goes_on_if: Kept = lambda kept: None
    confirm: Confirm | None = None


@dataclass(frozen=True)
class LearnOptions:
    """The options of a call, checked."""

    order: int | str
    alpha: float
    quick: bool
    folds: int
    settings: Mapping[str, Any]
    seed: int
    processes: int
    title: str | None
    command: str
    labels_file: Path | None
    node_column: str | None
    reports: Reports = field(default_factory=Reports)


def learn(
    table: Any,
    labels: Any = None,
    *,
    output: str | os.PathLike[str] | None = None,
    order: int | str = 3,
    alpha: float = 0.1,
    quick: bool = False,
    folds: int = 5,
    settings: Mapping[str, Any] | None = None,
    random_state: int = 0,
    processes: int = 1,
    label_column: str | None = None,
    node_column: str | None = None,
    title: str | None = None,
    command: str = "",
    reports: Reports | None = None,
    **reading: Any,
) -> Learned:
    """Learn from paths: whether memory matters, a prediction for every entity, and a page.

    Parameters
    ----------
    table
        Files, a pandas, Polars or Arrow table, lists, or Paths, as :func:`honlearn.read_paths` takes.
        Columns that are not named are guessed from names and content; ``result.reading`` has the
        guess.
    labels
        Classes of some entities: a CSV file, a dictionary, a pandas table or series, a list of pairs,
        or (nodes, classes). Without labels the result has the links to expect in place of classes.
    output
        A folder of its own for everything that is made, in place of what an earlier call left there;
        None keeps it in memory (``result.save(folder)``).
    order
        How many entities a node may remember at most, itself included; ``"auto"`` looks as far back as
        contexts are significant.
    alpha
        How often a prediction set may lack the true class.
    quick
        Six small learners of one kind on the network of significant contexts, for a first look.
    folds
        Parts of the labelled nodes for the validation.
    settings
        Parameters of :class:`honlearn.DGEClassifier`, such as ``{"n_learners": 32}``.
    random_state
        Seed of everything random.
    processes
        Local processes for the validation.
    label_column, node_column
        Columns of a table of labels, if not ``label`` and the first.
    title
        Title of the page.
    command
        The command line that the page names as its origin.
    reports
        What is called while a result is made, with each step and its progress; None calls nothing.
    **reading
        Options of :func:`honlearn.read_paths`, such as `sequence`, `order_by` and `entity`.

    Returns
    -------
    Learned
        ``headline``, ``summary``, ``predictions``, ``model``, ``network``, ``validation``, ``html``.
    """
    ReaderOptions.check_names(_OWNER, reading, signature(learn).parameters)
    check_alpha(_OWNER, alpha)
    if output is not None:
        check_folder(Path(output))
    asked = LearnOptions(
        order if order == LOOK_BACK else check_integer(_OWNER, "order", order, 2),
        alpha,
        quick,
        check_integer(_OWNER, "folds", folds, 2),
        settings or {},
        check_integer(_OWNER, "random_state", random_state, 0, MOST_SEED),
        check_integer(_OWNER, "processes", processes, 1),
        title,
        command,
        Path(labels) if isinstance(labels, (str, os.PathLike)) else None,
        node_column,
        reports or Reports(),
    )
    known = None if labels is None else as_labels(labels, label_column, node_column)
    if known is not None:
        check_classes(known[1])
    if output is not None:
        return _learn(table, known, Path(output), asked, reading)
    with tempfile.TemporaryDirectory(prefix="honlearn-") as folder:
        return _learn(table, known, Path(folder), asked, reading)


def _learn(
    table: Any,
    labels: tuple[list[str], list[str]] | None,
    folder: Path,
    asked: LearnOptions,
    reading: Mapping[str, Any],
) -> Learned:
    asked.reports.step("reading the paths")
    paths, summary = read_table(table, reading, asked.reports.confirm)
    for line in summary.lines():
        asked.reports.note(line)
    again = (folder / RUN).is_dir()
    asked.reports.step("which memories are real")
    counts = _counted(paths, asked)
    found = memories(counts)
    asked.reports.note(f"memory of one step: {found}")
    if labels is None:
        folder.mkdir(parents=True, exist_ok=True)
        learned = unlabelled.learn_unlabelled(paths, counts, summary, found, folder / RUN, asked)
    else:
        learned = _with_labels(paths, counts, summary, found, labels, folder, asked)
    asked.reports.step("a page to look at")
    title = asked.title or f"{summary.source}: what was learnt"
    learned = learned_page(learned, folder / RUN, title)
    learned.save(folder, with_model=labels is None)  # with labels it is there already
    if again:
        _remove_others(folder, learned)
    return learned


def _counted(paths: Paths, asked: LearnOptions) -> GramCounts:
    """Return the counts of the paths: up to the order that was asked for, or to the longest that matters."""
    if isinstance(asked.order, int):
        return count_grams(paths, asked.order)
    looked = count_for(paths, LOOK_BACK)
    longest = looked.evidence().longest(DEFAULT_ALPHA)
    asked.reports.note(
        f"order {longest}: the longest significant context has {longest} entities"
        if longest > 1
        else "order 2: no context is significant"
    )
    return count_grams(paths, max(longest, 2))


def _remove_others(folder: Path, learned: Learned) -> None:
    """Remove what an earlier call left that this one has not: tables of the other kind, or its model."""
    for name in TABLES - {*learned.tables, *(() if learned.entities is None else ("predictions",))}:
        (folder / f"{name}.csv").unlink(missing_ok=True)
    if learned.model is None:
        shutil.rmtree(folder / MODEL, ignore_errors=True)


def _with_labels(
    paths: Any,
    counts: GramCounts,
    summary: ReadSummary,
    found: Memories,
    labels: tuple[list[str], list[str]],
    folder: Path,
    asked: LearnOptions,
) -> Learned:
    from honlearn.pipeline import model_folder  # torch: after the paths are read

    source, spec = _source(counts, asked)
    data = _data(source, counts, labels, asked)
    folds = folds_for(data.labels, asked.folds)
    jobs = plan_validation(data, spec, folds, asked.seed)
    folder.mkdir(parents=True, exist_ok=True)  # not before the labels fit
    asked.reports.step(f"with and without memory: {folds} folds of {len(data.nodes):,} labelled nodes")
    about: dict[str, Any] = {"task": "nodes", "nodes": len(data.nodes), "notes": [], "machine": machine()}
    about |= {"command": asked.command} if asked.command else {}
    rare = rare_classes(data.labels, folds)
    if rare:
        named = listed((f"{name!r} ({count})" for name, count in rare.items()), 5)
        asked.reports.note(
            f"classes with fewer labelled nodes than there are folds: {named}; some folds have none to test, "
            "or none to train on"
        )
    with asked.reports.watch(len(jobs)) as watch:
        validation = validate(data, jobs, folder / RUN, about, asked.processes, watch)
    keep_facts(folder / RUN, asked.labels_file, asked.node_column)
    asked.reports.step("training on all labelled nodes")
    model = model_folder.fit_in_folder(
        spec,
        source,
        folder / MODEL,
        asked.seed,
        [data.nodes, data.labels],
        lambda made: made.fit(list(data.nodes), list(data.labels)),
        asked.reports.note,
        asked.reports.goes_on_if,
    )
    asked.reports.step("a prediction for every entity, and its reasons")
    entities = predict_entities(model, list(data.nodes), list(data.labels), asked.alpha, paths)
    write_network(folder / RUN, model.network_)
    asked.reports.step("how much memory helps to predict the next step of held-out paths")
    memory = held_out_memory(paths, counts.order, folder / RUN, asked.seed)
    asked.reports.note(
        "too few paths to hold some out; this is not measured" if memory is None else memory.sentence
    )
    return Learned(
        headline(validation, found),
        closing(validation, entities),
        summary,
        paths,
        counts,
        model.network_,
        found,
        model,
        entities,
        validation,
    )


def _source(counts: GramCounts, asked: LearnOptions) -> tuple[HigherOrderNetwork | GramCounts, ModelSpec]:
    """Return what the model learns from, and the model."""
    entry = find_model("dge-bag", "nodes")
    if asked.quick:
        return counts.grow(2, alpha=0.05), ModelSpec(entry, {**QUICK, **asked.settings})
    return counts, ModelSpec(entry, dict(asked.settings))


def _data(
    source: HigherOrderNetwork | GramCounts,
    counts: GramCounts,
    labels: tuple[list[str], list[str]],
    asked: LearnOptions,
) -> NodeData:
    """Return the labelled nodes that are in the network, and the two inputs that are compared."""
    which = "both" if isinstance(source, HigherOrderNetwork) else "gk"
    data = NodeData.of(source, *labels, which, labels_file=asked.labels_file)
    if data.missing:
        shown = ", ".join(data.missing[:3]) + (", …" if len(data.missing) > 3 else "")
        verb = "is" if len(data.missing) == 1 else "are"
        asked.reports.note(
            f"{counted(len(data.missing), 'labelled node')} {verb} not in the network: {shown}"
            + data.missing_spellings
        )
    if isinstance(source, GramCounts):
        first = counts.grow(1)
        inputs: dict[str, HigherOrderNetwork | GramCounts] = {AUTO: source, FIRST_ORDER: first}
        data = NodeData(data.nodes, data.labels, inputs, data.missing)
    if len(data.nodes) < 4:
        raise InputError(
            f"{counted(len(data.nodes), 'labelled node')} in the network; at least 4 are needed. Label more, "
            "or leave out the labels: next steps and links are learnt without them"
        )
    return data
