"""``honlearn learn TABLE [LABELS] -o OUT``: from a table to predictions, a model, a network and a page.

In: paths in any format, perhaps a CSV of classes. Out: a folder with ``predictions.csv``, ``model/``,
``network.hon``, ``report.html`` and ``run/`` (the records of the validation). Stopped, the same command goes
on.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import reader_options as reader
from honlearn.cli import settings as words
from honlearn.cli import stopping
from honlearn.cli.importing import importing
from honlearn.cli.inputs import check_labels, check_paths
from honlearn.cli.typed import command_line, parse_order

if TYPE_CHECKING:
    from honlearn.paths.guess import Guess
    from honlearn.pipeline.outcome import Learned


@reader.reads_paths
def learn(
    table: Annotated[
        list[str],
        typer.Argument(
            metavar="TABLE [LABELS]",
            help="Paths: text, CSV, TSV, Parquet, Arrow, JSONL or XES, or a pattern of files; then, if there "
            "are any, labels: a CSV whose first column is the node and column 'label' its class.",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Folder for everything.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Six small learners on one network: a first look.")
    ] = False,
    alpha: Annotated[
        float, typer.Option(metavar="SHARE", help="How often a prediction set may lack the true class.")
    ] = 0.1,
    order: Annotated[
        str,
        typer.Option(
            metavar="K|auto",
            help="Highest order: how many entities a node stands for at most; auto: as far back as evidence "
            "goes.",
        ),
    ] = "3",
    folds: Annotated[int, typer.Option(min=2, help="Parts of the labelled nodes for the validation.")] = 5,
    set_: words.Settings = None,
    seed: words.Seed = 0,
    jobs: words.Jobs = 1,
    label_column: words.LabelColumn = None,
    node_column: words.NodeColumn = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Take guessed columns without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Learn from paths: whether memory matters, a prediction with reasons for every entity, a page."""
    from honlearn.pipeline.output_folder import check_folder

    source, labels = _sources(table)
    check_folder(output)
    check_paths(source, reading)
    check_labels(labels, label_column, node_column, source)
    from honlearn.conformal import check_alpha
    from honlearn.experiments.registry import find_model

    check_alpha("learn", alpha)
    longest = parse_order("learn", order, 2)
    entry = find_model("dge-bag", "nodes" if labels else "links")
    words.check_keys(set_, entry)
    settings = words.parse_settings(set_, entry) if set_ else {}
    from honlearn.cli.watch import reporter

    with importing():
        from honlearn.pipeline.learn import Reports
        from honlearn.pipeline.learn import learn as learn_from

    number = iter(range(1, 100))
    reports = Reports(
        step=lambda line: None if as_json else typer.secho(f"\n{next(number)}  {line}", bold=True),
        note=lambda line: typer.echo(f"   {line}", err=as_json),
        watch=lambda total: reporter(total),
        goes_on_if=stopping.goes_on_if,
        confirm=lambda guess: _confirmed(guess, yes),
    )
    found = learn_from(
        source,
        labels,
        output=output,
        order=longest,
        alpha=alpha,
        quick=quick,
        folds=folds,
        settings=settings,
        random_state=seed,
        processes=jobs,
        label_column=label_column,
        node_column=node_column,
        title=title,
        command=command_line(),
        reports=reports,
        **reading,
    )
    _tell(found, output, as_json)


def _sources(words: list[str]) -> tuple[Any, Path | None]:
    """Return the table and the labels: two words are one of each."""
    from honlearn.errors import ParameterError

    if len(words) > 2:
        raise ParameterError(
            f"learn takes TABLE and LABELS. Got {len(words)} files; put a pattern in quotes: 'clicks-*.csv'"
        )
    return words[0], Path(words[1]) if len(words) == 2 else None


def _confirmed(guess: Guess, yes: bool) -> bool:
    """Return whether guessed columns are taken: by --yes, by an answer, or without a terminal if clear."""
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return guess.is_clear
    typer.echo(f"columns guessed ({guess.flags()}):", err=True)
    for reason in guess.reasons:
        typer.echo(f"  {reason}", err=True)
    return typer.confirm("Is that right?", default=guess.is_clear, err=True)


def _tell(found: Learned, folder: Path, as_json: bool) -> None:
    if as_json:
        import json

        facts: dict[str, Any] = {
            "headline": found.headline,
            "summary": found.summary,
            "output": str(folder),
            "paths": found.reading.paths,
            "entities": found.reading.entities,
            "contexts": found.memories.contexts,
        }
        if found.validation is not None:
            first = found.validation.first_order
            facts |= {
                "micro_f1": found.validation.score.mean,
                "micro_f1_first_order": None if first is None else first.mean,
                "p_value": found.validation.p_value,
                "coverage_90": found.validation.coverage,
            }
        typer.echo(json.dumps(facts, ensure_ascii=False))
        return
    typer.echo("")
    typer.secho(found.headline, bold=True)
    typer.echo(found.summary)
    made = "predictions.csv" if found.entities is not None else "links.csv"
    beside = [made, "network.hon", *([] if found.model is None else ["model/"])]
    named = f"{', '.join(beside[:-1])} and {beside[-1]}"
    typer.echo(f"Open {folder / 'report.html'} in a browser; {named} are beside it.")
