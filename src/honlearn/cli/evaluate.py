"""``honlearn evaluate NET LABELS -o RUN --model NAME``: compare models on folds of the labelled nodes.

In: a network file, a CSV of classes and names of models; for other tasks as their modules tell. Out: a run
folder with one record for each fit, and a table of means ± deviations. A run that was killed goes on where it
stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import reader_options as reader
from honlearn.cli import settings as words
from honlearn.cli.importing import importing
from honlearn.cli.links import Execution, checked
from honlearn.cli.next_evaluation import SplitAt

if TYPE_CHECKING:
    from honlearn.experiments.evaluate import ModelSpec, NodeData
    from honlearn.experiments.folds import Folds
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork

_REPETITIONS, _TEST_SHARE = 5, 0.1
# For results whose network has no contexts.
NO_MEMORY = "note: this is a first-order network: there is no gk, and results are for g1"
COLUMNS = {
    "micro F1": ("micro_f1", 3),
    "macro F1": ("macro_f1", 3),
    "log loss": ("log_loss", 3),
    "single F1": ("single_micro_f1", 3),
    "gain": ("gain", 3),
    "ECE": ("ece", 3),
    "ECE of noise": ("ece_of_noise", 3),
    "in sets of 90 %": ("coverage_90", 3),
    "set size": ("set_size_90", 2),
    "fit s": ("fit_seconds", 1),
    "CPU s": ("fit_cpu_seconds", 1),
}


@reader.reads_paths
def evaluate(
    network: Annotated[
        Path,
        typer.Argument(
            metavar="NET|PATHS",
            help="Network: .hon, .txt (GrowHON's edge list) or .parquet; or paths, from which one is grown; "
            "for --task next and paths, paths.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="Folder of the run.")],
    model: Annotated[
        list[str], typer.Option("--model", metavar="NAME", help=f"{words.NAMES}; -shared is *. Repeatable.")
    ],
    labels: words.Labels = None,
    task: words.Task = "nodes",
    folds: Annotated[
        str | None,
        typer.Option(metavar="N|published", help="Stratified folds, or the paper's own split. Default: 5."),
    ] = None,
    folds_file: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="Folds as a list of lists of test nodes, instead of --folds."),
    ] = None,
    input: Annotated[
        str,
        typer.Option(
            metavar="higher-order|first-order|both|auto|all",
            help="The network as it is, its first-order network, both in turn, one that each fit chooses "
            "from --paths, or all three.",
        ),
    ] = "higher-order",
    paths: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE|FOLDER",
            help="Input auto: the paths, or a data set's folder, that networks are grown from. Links: those "
            "that NET was grown from, to grow it without the tested steps.",
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="How often all is repeated, with seeds from --seed on.")
    ] = 1,
    seed: words.Seed = 0,
    set_: words.Settings = None,
    label_column: words.LabelColumn = None,
    node_column: words.NodeColumn = None,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Links: how often other pairs are held out and tested.")
    ] = _REPETITIONS,
    test_share: Annotated[
        float, typer.Option(help="Links: share of the linked pairs that is tested.")
    ] = _TEST_SHARE,
    undirected: Annotated[
        bool, typer.Option("--undirected", help="Links: a pair is linked if either direction is.")
    ] = False,
    negatives: Annotated[
        str,
        typer.Option(
            metavar="uniform|degree|both",
            help="Links: unlinked test pairs are drawn uniformly, each end by its degree, or both in turn.",
        ),
    ] = "both",
    protocol: Annotated[
        str,
        typer.Option(
            metavar="strict|paper|both",
            help="Links: every trace of a tested step is hidden, or, as in the paper, edges alone "
            "(optimistic); both prints the difference.",
        ),
    ] = "strict",
    ranking: Annotated[
        bool,
        typer.Option("--ranking/--no-ranking", help="Links: rank every tested link among all entities."),
    ] = True,
    order: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Next: models of orders 1 up to this are compared (3). Nodes, links: order of a network "
            "grown from PATHS (2).",
        ),
    ] = None,
    keep_isolated: Annotated[
        bool,
        typer.Option(
            "--keep-isolated",
            help="Links: also test pairs that are the last link of an entity, as the paper.",
        ),
    ] = False,
    rebuild: Annotated[Path | None, typer.Option(hidden=True)] = None,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Keep the predictions on every test node, as Parquet.")
    ] = False,
    artefacts: Annotated[
        bool,
        typer.Option(
            "--artefacts/--no-artefacts", help="Keep what 'honlearn report' shows beside the records."
        ),
    ] = True,
    jobs: words.Jobs = 1,
    executor: words.Executor = None,
    dry_run: words.DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    split_at: SplitAt = None,
    *,
    reading: dict[str, Any],
) -> None:
    """Train and test models on folds of the labelled nodes, or on links or paths held out; compare them."""
    from honlearn.cli.inputs import check_labels, check_there
    from honlearn.results.networks import network_key

    words.check_task(task, ("nodes", "links", "next", "paths"))
    words.check_input(input)
    input = network_key(input)
    if task == "nodes" or not network.is_dir():  # others may take a data set's folder
        check_there(network)
    if task == "nodes":
        check_labels(labels, label_column, node_column)
    how = checked(Execution(jobs, dry_run, as_json, artefacts, executor))
    if rebuild is not None:
        _refuse_rebuild(rebuild)
    if task != "links":
        refused: dict[str, object] = {
            "--negatives, --protocol or --no-ranking": negatives != "both"
            or protocol != "strict"
            or not ranking,
            "--repetitions": repetitions != _REPETITIONS,
            "--test-share": test_share != _TEST_SHARE,
            "--undirected": undirected,
            "--keep-isolated": keep_isolated,
        }
        refused = {name: given or None for name, given in refused.items()}
        _refuse(refused, "links", "others do without them")
    if task == "next":
        from honlearn.cli.next_evaluation import Division, evaluate_on_next_steps

        refused = {"LABELS": labels, "--folds-file": folds_file, "--paths": paths}
        refused |= {"--set": set_ or None}
        refused |= {"--seeds": seeds != 1 or None, "--predictions": predictions or None}
        _refuse(refused, "nodes or links", "next steps are tested by --folds of paths or --split-at")
        division = Division(reading, folds, split_at, seed)
        evaluate_on_next_steps(network, output, model, order or 3, division, how)
        return
    if task == "links":
        from honlearn.cli.link_evaluation import LinkSource, evaluate_on_links

        refused = {"LABELS": labels, "--folds": folds, "--folds-file": folds_file}
        refused |= {"--seeds": seeds != 1 or None, "--predictions": predictions or None}
        _refuse(refused, "nodes", "links are held out by --test-share and --repetitions, or --split-at")
        isolated = "keep" if keep_isolated else "exclude"
        held_out = (test_share, repetitions, not undirected, isolated, negatives)
        source = LinkSource(network, paths, reading, order, split_at)
        evaluate_on_links(source, output, model, set_, seed, input, held_out, protocol, ranking, how)
        return
    if task == "paths":
        from honlearn.cli.path_evaluation import evaluate_on_paths

        refused = {"--folds-file": folds_file, "--paths": paths, "--split-at": split_at}
        refused |= {"--predictions": predictions or None, "--input": None if input == "gk" else input}
        _refuse(refused, "nodes, links or next", "classes of paths are tested by --folds and --seeds")
        given: dict[str, Any] = {"set": set_, "folds": folds, "seeds": range(seed, seed + seeds)}
        given |= {"columns": (label_column, node_column), "reading": reading}
        evaluate_on_paths(network, labels, output, model, given, how)
        return
    _refuse({"--split-at": split_at}, "next or links", "nodes are tested by --folds")
    from_paths = _node_paths(network, paths, order, reading)
    from honlearn.experiments.registry import find_model
    from honlearn.labels import read_labels

    # What needs no torch is checked before it is imported, which takes seconds.
    entries = list({entry.name: entry for entry in (find_model(name, task) for name in model)}.values())
    words.check_owners(set_, entries)
    for entry in entries:
        words.check_keys(set_, entry, entries)
    split = chosen_folds(folds, folds_file)
    nodes, classes = read_labels(words.needed_labels(labels), label_column, node_column)
    from honlearn.cli.run_tables import origin, print_run, run_jobs, show_plan, tell_of_others
    from honlearn.cli.stopping import run_folder
    from honlearn.cli.watch import SHOWN
    from honlearn.experiments.artefacts import keep_facts
    from honlearn.hon.formats import load_network
    from honlearn.results.summary import SCORES, write_summary

    with importing():
        from honlearn.experiments import evaluate as engine

    specs = [engine.ModelSpec(entry, words.parse_settings(set_, entry, entries)) for entry in entries]
    counts: GramCounts | None
    if from_paths:
        counts, hon = _grown(network, order, reading)
    else:
        counts, hon = chosen_from(paths, input), load_network(network)
    data = engine.NodeData.of(hon, nodes, classes, input, counts, labels)
    grid = engine.plan(data, specs, split, range(seed, seed + seeds))
    notes = _notes(data, split, input) + _left_out(data, specs)
    for note in notes:
        typer.echo(note, err=True)
    if dry_run:
        show_plan(grid, output, data.n_edges, how.width)
        return
    with run_folder(output):
        tell_of_others(output, grid)
        if artefacts:
            keep_facts(output, labels, node_column)
        rows = run_jobs(
            engine.evaluate,
            data,
            grid,
            output,
            how,
            SCORES,
            SHOWN,
            keep_predictions=predictions,
            keep_artefacts=artefacts,
        )
        about = {"network": str(network), "labels": str(labels), "nodes": len(data.nodes), "notes": notes}
        about |= origin()
        write_summary(output, rows, about)
    print_run(output, about, rows, COLUMNS, as_json, f"look at it: honlearn report {output}")


def _node_paths(source: Path, paths: Path | None, order: int | None, reading: Mapping[str, Any]) -> bool:
    """Return whether nodes are classified on the network of paths; raise for options that need the other."""
    from honlearn.cli.grown import holds_paths
    from honlearn.errors import ParameterError, listed

    if not holds_paths(source):
        given = [f"--{name.replace('_', '-')}" for name in reading] + (["--order"] if order else [])
        if given:
            raise ParameterError(
                f"{listed(given)}: for paths, which a network is grown from; {source} is a network"
            )
        return False
    if paths is not None:
        raise ParameterError(
            f"--paths {paths} is for a network, and {source} holds paths; give one of the two"
        )
    return True


def _grown(
    source: Path, order: int | None, reading: Mapping[str, Any]
) -> tuple[GramCounts, HigherOrderNetwork]:
    """Return the counts of paths, as far back as a choice of networks looks, and their network."""
    from honlearn.cli.grown import counted, grown_from
    from honlearn.hon.build import DEFAULT_MAX_ORDER

    counts = counted(source, max(order or 0, DEFAULT_MAX_ORDER), reading)
    return counts, grown_from(source, counts, order)


def _refuse_rebuild(paths: Path) -> None:
    """Say what --rebuild of version 0.1 is now."""
    from honlearn.errors import ParameterError

    raise ParameterError(
        f"--rebuild {paths} is --paths {paths} now: without the tested steps is the default, and --protocol "
        "paper hides edges alone"
    )


def _refuse(options: Mapping[str, object], owner: str, instead: str) -> None:
    """Raise if one of these options, which are for the task `owner`, was given for another."""
    from honlearn.errors import ParameterError

    for option, given in options.items():
        if given is not None:
            raise ParameterError(f"{option} is for --task {owner}; {instead}")


def chosen_folds(text: str | None, file: Path | None) -> Folds:
    """Return the folds that the options ask for."""
    from honlearn.errors import ParameterError
    from honlearn.experiments.folds import PUBLISHED_FOLDS, Folds, read_folds

    if file is not None:
        if text not in (None, "published"):
            raise ParameterError(f"--folds {text} and --folds-file {file}: give one of the two")
        return read_folds(file)
    if text == "published":
        return Folds("published", PUBLISHED_FOLDS)
    return Folds("stratified", number_of_folds(text, ", or 'published'", ["published"]))


def number_of_folds(text: str | None, other: str = "", names: Sequence[str] = ()) -> int:
    """Return the folds that were typed, 5 by default; `other` and `names` tell what else is understood."""
    from honlearn.errors import ParameterError, check_integer, did_you_mean

    if text is not None and not text.isdecimal():
        hint = did_you_mean(text, names) or "."
        raise ParameterError(f"--folds must be a whole number, at least 2{other}. Got {text!r} instead{hint}")
    return check_integer("evaluate", "folds", int(text or 5), 2)


def _notes(data: NodeData, split: Folds, wanted: str) -> list[str]:
    """Return what a reader must know of the data before believing a score."""
    from honlearn.cli.train import missing_line

    notes = [missing_line(data)] if data.missing else []
    if wanted not in ("g1", "auto") and "gk" not in data.inputs:
        notes.append(NO_MEMORY)
    return notes + rare_note(data.labels, split.count)


def rare_note(labels: Sequence[str], folds: int) -> list[str]:
    """Return a note on classes with fewer members than folds, where there are some."""
    from honlearn.errors import listed
    from honlearn.experiments.folds import rare_classes

    rare = rare_classes(labels, folds)
    if not rare:
        return []
    named = listed((f"{name!r} ({count})" for name, count in rare.items()), 5)
    return [
        f"note: {len(rare)} of {len(set(labels))} classes have fewer members than the {folds} "
        f"folds, so some test parts lack them or test what was never trained: {named}"
    ]


def _left_out(data: NodeData, specs: Sequence[ModelSpec]) -> list[str]:
    """Return a note on models that cannot run on the input auto."""
    from honlearn.errors import listed

    left = [one.entry.name for one in specs if not one.entry.chooses_network]
    if "auto" not in data.inputs or not left:
        return []
    return [
        f"note: {listed(left, 40)} cannot choose a network and {'has' if len(left) == 1 else 'have'} no "
        "result on the input auto"
    ]


def chosen_from(paths: Path | None, wanted: str) -> GramCounts | None:
    """Return counts of the paths that networks are chosen from, where an input needs them."""
    from honlearn.errors import ParameterError
    from honlearn.hon.build import DEFAULT_MAX_ORDER, count_grams

    if paths is None:
        return None
    if wanted not in ("auto", "all"):
        raise ParameterError(
            f"--paths {paths}: networks are grown from it by --input auto or --input all, not by {wanted!r}"
        )
    if paths.is_dir():
        from honlearn.datasets import load_folder

        return count_grams(load_folder(paths).paths, DEFAULT_MAX_ORDER)
    return count_grams(str(paths), DEFAULT_MAX_ORDER)
