"""``honlearn data``: list the data sets, and write one as a folder of plain files.

In: the name of a data set, or a folder with paths. Out: a table of names, or a folder with ``paths.txt``,
``labels.csv``, ``nodes.csv`` and ``about.json``; :mod:`honlearn.datasets` makes them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli.help import GroupedCommand, GroupedCommands, epilog
from honlearn.cli.outputs import keeping_inputs

if TYPE_CHECKING:
    from honlearn.datasets import Dataset, Entry

app = data_app = typer.Typer(
    name="data", cls=GroupedCommands, help="Data sets to start with.", no_args_is_help=True
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


@app.command("list", cls=GroupedCommand, epilog=epilog("data list"))
def list_datasets(as_json: AsJson = False) -> None:
    """List the data sets: what they are, their size, licence and origin."""
    from dataclasses import asdict

    from honlearn.datasets import available

    entries = available()
    if as_json:
        typer.echo(json.dumps([asdict(entry) for entry in entries], indent=2))
        return
    _print_table(entries)
    typer.echo("Write one as files: honlearn data get NAME -o FOLDER")


@app.command("get", cls=GroupedCommand, epilog=epilog("data get"))
@keeping_inputs
def get_dataset(
    name: Annotated[str, typer.Argument(help="A name of `honlearn data list`, or a folder with paths.txt.")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder to write; the name of a listed data set unless given."),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option("--from", help="Your own copy: coupon files (db1b), archive or folder (wikispeedia)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="key=value for the loader, e.g. by=city_market or n_classes=3; repeatable."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the synthetic data.", min=0)] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a data set as paths.txt, labels.csv, nodes.csv and about.json."""
    from honlearn.datasets import available, load, save_folder
    from honlearn.errors import ParameterError, did_you_mean, listed

    names = [entry.name for entry in available()]
    if name not in names and not Path(name).expanduser().exists():
        raise ParameterError(
            f"no data set is called {name!r}{did_you_mean(name, names)}; there are {listed(names, 20)}"
        )
    if output is None and name not in names:
        # What the files of others say of their name must not decide where we write.
        raise ParameterError(f"{name}: a folder of your own needs -o FOLDER, where it is written to")
    dataset = load(name, **_options(name, source or [], settings or [], seed))
    folder = output if output is not None else Path(dataset.name)
    written = save_folder(dataset, folder, force=force)
    if as_json:
        typer.echo(json.dumps(_facts(dataset, folder, written), indent=2))
        return
    typer.echo(f"{dataset!r}")
    for label, count in dataset.tally.items():
        typer.echo(f"{label}: {count:,}")
    typer.echo(f"wrote {', '.join(str(file) for file in written)}")


def _facts(dataset: Dataset, folder: Path, written: list[Path]) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "folder": str(folder),
        "files": [file.name for file in written],
        "paths": dataset.paths.total,
        "nodes": len(dataset.paths.vocabulary),
        "labelled": len(dataset.labels),
        "classes": dataset.classes,
        "tally": dict(dataset.tally),
        "licence": dataset.licence,
        "source": dataset.source,
    }


def _options(name: str, source: list[Path], settings: list[str], seed: int | None) -> dict[str, Any]:
    """Return the keywords of the data set's function, or raise for those it does not take."""
    import inspect

    from honlearn import datasets
    from honlearn.errors import ParameterError, did_you_mean, listed

    known = name in {entry.name for entry in datasets.available()}
    takes = inspect.signature(getattr(datasets, name) if known else datasets.load_folder).parameters
    options: dict[str, Any] = {}
    if source:
        key = "files" if "files" in takes else "folder"
        if not known or key not in takes or (key == "folder" and len(source) > 1):
            raise ParameterError(
                f"--from: {name} takes {'one path' if known and key in takes else 'no such option'}"
            )
        options[key] = source if key == "files" else source[0]
    elif "files" in takes:
        raise ParameterError(f"{name} needs files of your own; pass --from FILE, once for each")
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise ParameterError(f"--set {setting}: expected key=value, e.g. --set noise=0.1")
        if key not in takes or key in ("files", "folder"):
            keys = [k for k in takes if k not in ("files", "folder")]
            there = f"there are {listed(keys)}" if keys else "it takes none"
            raise ParameterError(
                f"--set {setting}: {name} has no setting {key!r}{did_you_mean(key, keys)}; {there}"
            )
        options[key] = _value(value)
    if seed is not None:
        if "seed" not in takes:
            raise ParameterError(f"--seed: {name} is not random; leave it out")
        options["seed"] = seed
    return options


def _value(text: str) -> Any:
    """Return a setting as a number, true or false where it reads as JSON, else as text."""
    from honlearn.errors import FormatError
    from honlearn.stored import parse_json

    try:
        return parse_json(text, "--set")
    except FormatError:
        return text


def _print_table(entries: tuple[Entry, ...]) -> None:
    from rich.console import Console
    from rich.table import Table

    # Details go into one wrapped column, so that the table fits a terminal of 80 columns.
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    for column in ("paths", "nodes", "classes"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("offline", no_wrap=True)
    table.add_column("what, licence, origin", overflow="fold")
    for entry in entries:
        sizes = ("" if size is None else f"{size:,}" for size in (entry.paths, entry.nodes, entry.classes))
        about = f"{entry.what}\nlicence: {entry.licence}\nfrom: {entry.source}\nneeds: {entry.needs}"
        table.add_row(entry.name, *sizes, "yes" if entry.offline else "no", about)
    Console(highlight=False).print(table)
