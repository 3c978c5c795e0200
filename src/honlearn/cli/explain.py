"""``honlearn explain MODEL NODE``: why a saved model predicts what it does, for a node, a link or a path.

In: a folder that ``train`` wrote, and a name (of a link: two). Out: a text, or JSON, with the reasons and the
observed paths behind them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from honlearn.cli import reader_options as reader
from honlearn.cli.importing import importing


@reader.reads_paths
def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that 'honlearn train' wrote.")],
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="A node; of a model of paths, the id of a path in --paths.")
    ],
    other: Annotated[
        str | None, typer.Argument(metavar="OTHER", help="Of a model of links: where the link leads.")
    ] = None,
    paths: Annotated[
        str | None,
        typer.Option(metavar="PATHS", help="Observed paths; without them the network's counts are shown."),
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="CLASS", help="The class to explain; default: the most probable.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, metavar="K", help="How many reasons of each kind to show.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Show which memories, neighbours and paths moved a prediction, and by how much."""
    from honlearn.cli.inputs import check_model

    check_model(model)
    if paths is None:
        from honlearn.cli.known_names import check_explained

        check_explained(model, node, other, label)
    from honlearn.errors import ParameterError

    with importing():
        from honlearn.baselines.saving import load_model
    fitted = load_model(model)
    kind = type(fitted).__name__
    if kind not in ("DGEClassifier", "DGELinkPredictor", "PathClassifier"):
        raise ParameterError(f"{model}: a model of kind {kind}; explained are deep graph ensembles and paths")
    if (other is not None) != (kind == "DGELinkPredictor"):
        what = "of links: name both ends" if other is None else "not of links: name one node or path"
        raise ParameterError(f"{model}: a model {what}")
    if label is not None and kind == "DGELinkPredictor":
        raise ParameterError(f"{model}: a model of links, which has no classes for --label")
    if kind == "PathClassifier":
        found = _of_path(fitted, node, paths, label, top)
    else:
        observed = _observed(paths, reading)
        if other is not None:
            found = fitted.explain(node, other, paths=observed, top=top)
        else:
            found = fitted.explain(node, label, paths=observed, top=top)
    typer.echo(found.to_json() if as_json else str(found))


def _observed(source: str | None, reading: dict[str, Any]) -> Any:
    from honlearn.errors import ParameterError
    from honlearn.paths.source import read_paths

    if source is None and reading:
        raise ParameterError("options of the reader need --paths")
    return None if source is None else read_paths(source, **reading)


def _of_path(model: Any, name: str, source: str | None, label: str | None, top: int) -> Any:
    """Return the explanation of the path with this id, read as the training paths were."""
    from honlearn.errors import InputError, ParameterError, did_you_mean, listed
    from honlearn.paths.labelled import read_labelled

    if source is None:
        raise ParameterError(
            "a model of paths: NODE is the id of a path; name the file that has it with --paths"
        )
    paths, ids = read_labelled(source, **model.reading_)
    if name not in ids:
        raise InputError(f"{source}: no path {name!r} among {listed(ids, 3)}{did_you_mean(name, ids)}")
    return model.explain(paths.take([list(ids).index(name)]), label, top)
