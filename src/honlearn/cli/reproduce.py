"""``honlearn reproduce NAME -o RUN --data wiki``: a table or figure of the paper, beside its own values.

In: a name such as ``table-2`` or ``depth``, and data sets. Out: a run folder with every record, and the table
as Markdown, LaTeX and CSV, or the figure as SVG and PNG with its numbers. A run that was killed goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import settings as words
from honlearn.cli.typed import command_line

if TYPE_CHECKING:
    from honlearn.experiments.registry import Entry
    from honlearn.experiments.reproduce import Request

_NAMES = (
    "table-1, -2, -3, -5, -6, -7 or -8, depth, diversity, ensemble-size, training-time, characteristics, "
    "tau, or all of them"
)


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_NAMES)],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="RUN", help="Folder of the run.")],
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="NAME|FOLDER|NET+LABELS",
            help="wiki, us_flights, a folder, NAME=FOLDER, or NET+LABELS. Repeatable. Default: us_flights.",
        ),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(
            "--from", metavar="FOLDER", help="Where data sets named alone (wiki, air) are looked for."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="Only these, or others than the paper's. Repeatable."),
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            metavar="nested|paper|fixed",
            help="Search inside the training part; the best on the test folds, as the paper; or no search.",
        ),
    ] = "nested",
    minutes: Annotated[
        float | None, typer.Option(min=0, help="Budget of one search. Default: 2, or none with --trials.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Most settings that one search tries.")] = None,
    space: Annotated[
        Path | None,
        typer.Option(metavar="JSON", help="What is searched, by model, instead of the paper's grid."),
    ] = None,
    folds: Annotated[
        str | None, typer.Option(metavar="N|published", help="Stratified folds, or the paper's. Default: 5.")
    ] = None,
    first_folds: Annotated[int | None, typer.Option(min=1, help="Only so many of the folds.")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How often all is repeated, from --seed on.")] = 1,
    seed: words.Seed = 0,
    repetitions: Annotated[int, typer.Option(min=1, help="Links: how often pairs are held out.")] = 5,
    set_: words.Settings = None,
    order: Annotated[int, typer.Option(min=1, help="Networks grown from paths: the order.")] = 2,
    tau: Annotated[float, typer.Option(min=0, help="Networks grown from paths: tau.")] = 10.0,
    min_support: Annotated[int, typer.Option(min=1, help="Networks grown from paths: least support.")] = 10,
    auto: Annotated[
        bool,
        typer.Option(
            "--auto", help="Tables 2 and 6: also ensembles that choose order, tau and support in each fit."
        ),
    ] = False,
    label_column: words.LabelColumn = None,
    jobs: words.Jobs = 1,
    executor: words.Executor = None,
    dry_run: words.DryRun = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """Measure a table or figure of the paper on any data, and show it beside the published values."""
    from honlearn.cli.evaluate import chosen_folds
    from honlearn.cli.links import Execution, checked
    from honlearn.cli.stopping import run_folder
    from honlearn.cli.watch import LINKS_SHOWN, SHOWN, print_plan, reporter
    from honlearn.errors import ParameterError, listed
    from honlearn.experiments.measure import Plan
    from honlearn.experiments.paper_tables import CHOOSING, TASKS
    from honlearn.experiments.reproduce import NAMES, Request, planned
    from honlearn.experiments.search import Budget
    from honlearn.experiments.sources import find_source
    from honlearn.experiments.spaces import read_spaces
    from honlearn.hon.statistics import GrowParameters

    if auto and name not in (*CHOOSING, "all"):
        raise ParameterError(f"--auto adds models to {listed(CHOOSING)}, not to {name!r}; leave it out")
    checked(Execution(jobs, executor=executor))
    grown = GrowParameters(order, tau, min_support)
    sources = [find_source(word, source or [], grown, label_column) for word in data or ["us_flights"]]
    canonical = None if model is None else _canonical(model, TASKS.get(name, "nodes"))

    def watching(total: int, task: str) -> Any:
        links = task == "links"
        return reporter(total, "repetition" if links else "fold", LINKS_SHOWN if links else SHOWN)

    how = Plan(
        folds=chosen_folds(folds, None),
        seeds=tuple(range(seed, seed + seeds)),
        protocol=protocol,
        budget=Budget(2.0 if minutes is None and trials is None else minutes, trials),
        spaces={} if space is None else read_spaces(space),
        repetitions=repetitions,
        first_folds=first_folds,
        processes=jobs,
        executor=executor,
        given=settings_by_model(set_),
        auto=auto,
        watching=watching,
    )
    names = list(NAMES) if name == "all" else [name]
    command = command_line()
    requests = [Request(each, sources, output, how, canonical, command, set_ or ()) for each in names]
    _check_settings(set_, requests)
    if dry_run:
        plans = [planned(request) for request in requests]
        print_plan([row for rows, _ in plans for row in rows], Execution(jobs, executor=executor).width)
        for reason in dict.fromkeys(reason for _, reasons in plans for reason in reasons):
            typer.echo(f"not measured: {reason}", err=True)
        return
    with run_folder(output):
        shown = [_show(request, as_json, keep_going=name == "all") for request in requests]
    if as_json:
        import json

        known = [facts for facts in shown if facts is not None]
        typer.echo(json.dumps(known if name == "all" else known[0], indent=2, ensure_ascii=False))


def _show(request: Request, as_json: bool, keep_going: bool) -> dict[str, Any] | None:
    """Make a table or figure, print it and where its files are; for JSON, return what is known of it."""
    from honlearn.errors import HonlearnError
    from honlearn.experiments.reproduce import reproduce as make
    from honlearn.experiments.tables import Table

    try:
        made, files = make(request)
    except HonlearnError as error:
        if not keep_going:
            raise
        typer.echo(f"{request.name}: {error}", err=True)
        return None
    if as_json:
        facts = [_without_nan(fact) for fact in made.facts]
        about = {"name": made.name, "title": made.title, "notes": list(made.notes), "facts": facts}
        return about | {"files": [str(file) for file in files]}
    if isinstance(made, Table):
        typer.echo(made.markdown())
    else:
        typer.echo("\n".join([made.title, *(f"- {note}" for note in made.notes)]))
    typer.echo(f"\n{request.folder}: {', '.join(file.name for file in files)}")
    return None


def _without_nan(fact: Mapping[str, Any]) -> dict[str, Any]:
    """Return a fact as JSON can hold it: what is not a number, such as a homophily of nobody, is null."""
    return {key: None if isinstance(v, float) and v != v else v for key, v in fact.items()}


def _canonical(models: Sequence[str], task: str) -> list[str]:
    """Return the names as the registry spells them; a name that it does not know for any task is an error."""
    from honlearn.errors import ParameterError
    from honlearn.experiments.registry import find_model

    def found(model: str) -> str:
        try:
            return find_model(model, task).name
        except ParameterError as unknown:
            try:
                return find_model(model, "nodes" if task == "links" else "links").name
            except ParameterError:
                raise unknown from None

    return list(dict.fromkeys(found(model) for model in models))


def settings_by_model(given: Sequence[str] | None) -> Callable[[Entry], dict[str, Any]]:
    """Return what `--set` means for a model: of words without a name, those whose key it has."""

    def settings(entry: Entry) -> dict[str, Any]:
        return words.parse_settings([word for word in given or () if _concerns(word, entry)], entry)

    return settings


def _concerns(word: str, entry: Entry) -> bool:
    key = word.partition("=")[0].strip()
    return ":" in key or "=" not in word or (key in entry.keywords() and key not in entry.decided)


def _check_settings(given: Sequence[str] | None, requests: Sequence[Request]) -> None:
    """Raise for a setting that no model of the tables asked for can take."""
    from honlearn.experiments.registry import find_model, model_names

    entries = [
        find_model(name, task)
        for task in dict.fromkeys(request.task for request in requests)
        for name in requests[0].models or model_names(task)
        if name in model_names(task)
    ]
    words.check_owners(given, entries)
    for word in given or ():
        # Values are read now: a wrong one must not be found after hours, when its model's turn comes.
        concerned = [entry for entry in entries if _concerns(word, entry)] or entries[:1]
        for entry in concerned:
            words.parse_settings([word], entry)
