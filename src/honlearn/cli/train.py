"""``honlearn train NET|PATHS LABELS -o MODEL``: fit a model on labelled nodes, or on links, and save it.

In: a network file, or path data that one is grown from, and a CSV of classes (for links: none, or a CSV of
pairs). Out: a model folder that ``predict`` reads on its own. A training that was killed and is started with
the same words goes on from its last checkpoint, to the same model.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import auto as choosing
from honlearn.cli import reader_options as reader
from honlearn.cli import settings as words
from honlearn.cli import stopping
from honlearn.cli.importing import importing

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from honlearn.experiments.evaluate import ModelSpec, NodeData
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork


_DEFAULT = "dge-bag"


@reader.reads_paths
def train(
    network: Annotated[
        Path,
        typer.Argument(
            metavar="NET|PATHS",
            help="Network: .hon, .txt (GrowHON's edge list) or .parquet; or paths, as for grow, from which "
            "one is grown.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="MODEL", help="Folder of the model.")],
    labels: words.Labels = None,
    task: words.TrainTask = "nodes",
    model: Annotated[str, typer.Option(metavar="NAME", help=f"{words.NAMES}; -shared is *.")] = _DEFAULT,
    set_: words.Settings = None,
    seed: words.Seed = 0,
    label_column: words.LabelColumn = None,
    node_column: words.NodeColumn = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            show_default=False,
            help="Most memory, e.g. 4GB: learners train in groups that fit. Default: what is available.",
        ),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            "--executor",
            metavar="E",
            show_default=False,
            help="Where learners train: a number of local processes, ray, ray://HOST:PORT, dask or the "
            "address of its scheduler; the model is the same.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into a folder that holds files of something else.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    auto: choosing.Auto = False,
    order: choosing.Order = None,
    tau: choosing.Tau = None,
    min_support: choosing.MinSupport = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Fit a model on every labelled node of a network, on its links, or on labelled paths, and save it."""
    from honlearn.cli.grown import holds_paths
    from honlearn.executors import read_spec
    from honlearn.experiments.registry import find_model
    from honlearn.labels import read_labels
    from honlearn.paths.files import find_files

    words.check_task(task, ("nodes", "links", "paths"))
    entry = None if task == "paths" else find_model(model, task)
    # What needs no torch is checked before it is imported, which takes seconds.
    check_folder(output, force)
    find_files(network)
    labelled: tuple[list[str], list[str]] = ([], [])
    if task == "nodes":
        labelled = read_labels(words.needed_labels(labels), label_column, node_column)
    if entry is not None:
        words.check_keys(set_, entry)
    if task == "links":
        columns = {"--label-column": label_column, "--node-column": node_column}
        _refuse(columns, "for classes of nodes and paths; of pairs the column 'label' is read")
    if executor is not None:
        read_spec(executor)
    if memory is not None:
        set_ = [*(set_ or []), f"memory={memory}"]
    if entry is None:
        _check_learners(executor, "a model of paths", ())
        named = None if model == _DEFAULT else model
        _refuse({"--model": named}, "--task paths trains a PathClassifier alone; leave it out")
        grown = {"--auto": auto or None, "--order": order, "--tau": tau, "--min-support": min_support}
        _refuse(grown, "for networks that are grown; of a model of paths say --set order=1")
        from honlearn.cli.path_classes import train_paths

        _tell(train_paths(network, labels, output, (label_column, node_column), set_, seed, reading), as_json)
        return
    with importing():
        from honlearn.experiments.evaluate import ModelSpec, NodeData
    from honlearn.hon.formats import load_network

    choice = choosing.Choice(auto, order, tau, min_support, reading)
    from_paths = auto or holds_paths(network)
    choice.check(entry, network, from_paths)
    _check_learners(executor, f"{entry.name} of {task}", entry.keywords())
    settings = choice.settings(words.parse_settings(set_, entry))
    spec = ModelSpec(entry, settings if executor is None else {**settings, "executor": executor})
    facts: dict[str, Any] = {"model": str(output), "name": entry.name}
    learner = spec.configuration().get("learner")
    facts |= {} if learner is None else {"learner": learner}
    source = choice.network(network) if from_paths else load_network(network)
    if task == "links":
        from honlearn.cli.links import fit_links

        facts |= fit_links(spec, source, labels, output, seed)
    else:
        data = NodeData.of(source, *labelled, labels_file=labels)
        if data.missing:
            typer.echo(missing_line(data), err=True)
        facts |= fit_and_save(spec, data, output, seed)
    _tell(facts, as_json)
    if (auto or "tried" in facts) and not as_json:
        choosing.print_tried(facts.get("tried", []))


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Raise if one of these options was given: none that is typed is left unused."""
    from honlearn.errors import ParameterError

    for option, given in options.items():
        if given is not None:
            raise ParameterError(f"{option}: {why}")


def _check_learners(executor: str | None, what: str, keywords: Container[str]) -> None:
    """Raise where an executor is given to a model that is not trained in groups of learners."""
    if executor is not None and "executor" not in keywords:
        from honlearn.errors import ParameterError

        raise ParameterError(
            f"--executor {executor}: {what} is trained in one process; learners of dge models can be trained "
            "elsewhere. Leave --executor out."
        )


def _tell(facts: dict[str, Any], as_json: bool) -> None:
    """Print the facts of a training, as a table or as JSON."""
    if as_json:
        import json

        typer.echo(json.dumps(facts, ensure_ascii=False))
    else:
        _print(facts)


def fit_and_save(spec: ModelSpec, data: NodeData, folder: Path, seed: int) -> dict[str, Any]:
    """Fit on all nodes, save to `folder`, and return what is worth saying."""
    import time

    started = time.perf_counter()
    estimator = fit_in_folder(
        spec,
        next(iter(data.inputs.values())),
        folder,
        seed,
        [data.nodes, data.labels],
        lambda made: made.fit(list(data.nodes), list(data.labels)),
    )
    return _facts(estimator, data, time.perf_counter() - started)


def fit_in_folder(
    spec: ModelSpec,
    network: HigherOrderNetwork | GramCounts,
    folder: Path,
    seed: int,
    examples: list[Any],
    fit: Callable[[Any], Any],
) -> Any:
    """Fit and save in `folder`; what is worth knowing goes to standard error."""
    from honlearn.pipeline import model_folder

    def note(line: str) -> None:
        typer.echo(line, err=True)

    return model_folder.fit_in_folder(spec, network, folder, seed, examples, fit, note, stopping.goes_on_if)


def _facts(estimator: Any, data: NodeData, seconds: float) -> dict[str, Any]:
    facts = {"nodes": len(data.nodes), "missing": len(data.missing), "classes": len(estimator.classes_)}
    return facts | training_facts(estimator, seconds)


def training_facts(estimator: Any, seconds: float) -> dict[str, Any]:
    """Return what is worth saying of a training: learners, epochs, time, validation score, kernel's share."""
    facts: dict[str, Any] = {"learners": getattr(estimator, "n_learners", 1)}
    epochs = getattr(estimator, "best_epochs_", None)
    if epochs is not None and len(epochs):
        facts["epochs"] = round(float(epochs.mean()), 1)
    facts["seconds"] = round(seconds, 2)
    facts["validation_score"] = _validation_score(estimator)
    if getattr(estimator, "kernel_proba_", None) is not None:
        facts["kernel"] = round(float(estimator.kernel_share_), 4)
    if hasattr(estimator, "edge_power_"):
        facts["edge_power"] = estimator.edge_power_
    tried = choosing.tried(estimator)
    return facts | ({"tried": tried} if tried else {})


def _validation_score(estimator: Any) -> float | None:
    """Return the validation score of the epoch with the least validation loss, where there was one."""
    history = getattr(estimator, "history_", None)
    if history is None or not {"validation_loss", "validation_score"} <= set(history.columns):
        return None
    validated = history.dropna(subset=["validation_loss"])
    if not len(validated):
        return None
    return round(float(validated.loc[validated["validation_loss"].idxmin(), "validation_score"]), 4)


def check_folder(folder: Path, force: bool) -> None:
    """Raise unless a model may be written to `folder`: new, empty, or with a model (or half of one)."""
    from contextlib import suppress

    from honlearn.errors import HonlearnError, InputError
    from honlearn.stored import read_json
    from honlearn.tasks import card_text
    from honlearn.tasks import model_folder as files
    from honlearn.tasks.fit_facts import FILE as TRAINING
    from honlearn.writing.atomic import check_writable, is_draft
    from honlearn.writing.locks import LOCK_FILE

    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: there is a file of this name; name a folder")
    check_writable(folder)
    if force or not folder.exists():
        return
    own = {files.CONFIG, files.WEIGHTS, files.NETWORK, files.OTHER_NETWORK, files.COUNTS}
    own |= {TRAINING, files.CHECKPOINT, LOCK_FILE}
    own |= {card_text.FILE} if card_text.is_own(folder / card_text.FILE) else set()
    there = [path.name for path in folder.iterdir()]
    foreign = sorted(name for name in there if name not in own and not is_draft(name))
    if (folder / files.CONFIG).is_file():
        config = None
        with suppress(HonlearnError):
            config = read_json(folder / files.CONFIG)
        if not isinstance(config, dict) or config.get("format") != files.FORMAT:
            foreign.insert(0, files.CONFIG)
    if foreign:
        from honlearn.errors import listed

        raise InputError(
            f"{folder}: there are files of something else in it ({listed(foreign, 3)}); name a new folder "
            "or pass --force to write among them"
        )


def missing_line(data: NodeData) -> str:
    """Return the line with the labelled nodes that the network does not have."""
    from honlearn.errors import listed

    size = len(data.missing)
    return (
        f"note: {size:,} labelled node{' is' if size == 1 else 's are'} not in the network and left out: "
        f"{listed(data.missing, 5)}{data.missing_spellings}"
    )


def _print(facts: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    from honlearn.cli.run_tables import print_whole
    from honlearn.results.record import model_name

    apart = ("model", "name", "learner", "missing", "tried")
    shown = {key: value for key, value in facts.items() if key not in apart}
    name = model_name(facts["name"], facts)
    table = Table(title=f"{name} → {facts['model']}", title_justify="left", box=box.SIMPLE)
    for key in shown:
        words = key.split("_")
        table.add_column(" ".join(words), justify="right", min_width=max(map(len, words)))
    table.add_row(*("–" if value is None else f"{value:,}" for value in shown.values()))
    print_whole(table)
