"""``honlearn predict MODEL``: classes, probabilities and uncertainties of nodes or links, from a saved model.

In: a folder that ``train`` wrote. Out: a table with node, label, one probability per class, confidence,
entropy and disagreement, with ``--alpha`` prediction sets (of links: the pair, its probability and the
disagreement), as CSV on standard output or in a file, written whole or not at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import reader_options as reader
from honlearn.cli.importing import importing

if TYPE_CHECKING:
    import pandas

    from honlearn.paths.vocabulary import Vocabulary


# What stands between the classes of a set in a CSV file; JSON and Parquet have lists.
_BETWEEN = "|"


@reader.reads_paths
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that 'honlearn train' wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="PREDICTIONS.csv", help="File to write: .csv, .parquet or .json."
        ),
    ] = None,
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            "--nodes",
            metavar="FILE|NAMES",
            help="Names with commas between, or a file: one per line, or the first column of a CSV. "
            "Default: all entities of the network. Repeatable.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="CSV",
            help="Of a model of links: pairs to score, in the first two columns below a header.",
        ),
    ] = None,
    node: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a model of links: recommend new neighbours of it.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many neighbours --node recommends.")] = 10,
    max_fdr: Annotated[
        float | None,
        typer.Option(
            metavar="RATE",
            help="Of --node: only neighbours whose q_value, the false discovery rate of the list up to them, "
            "is at most this.",
        ),
    ] = None,
    paths: Annotated[
        str | None,
        typer.Option(
            metavar="PATHS",
            help="Of a model of nodes: new paths, whose entities and contexts are added before it predicts. "
            "Of a model of paths: those to classify, read as the training paths were.",
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Of a model of nodes or paths: also write prediction sets, which lack the true class at "
            "most this often (0.1): set, set_size, in_training (nodes), abstain.",
        ),
    ] = None,
    on_unknown: Annotated[
        str,
        typer.Option(
            metavar="error|skip|predict",
            help="A name in --nodes that neither the model nor --paths has: an error, left out, or predicted "
            "as an entity of which nothing is known.",
        ),
    ] = "error",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of CSV or text.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Write the predictions of a saved model for nodes or pairs, with their uncertainty."""
    from honlearn.cli.new_entities import asked_for, check_words, with_new_paths
    from honlearn.errors import ParameterError

    if output is not None:
        check_output(output)
    check_words(on_unknown, paths, reading)
    _check_inputs(model, alpha, pairs, paths)
    if paths is None and on_unknown == "error" and (pairs is None or max_fdr is None):
        from honlearn.cli.known_names import check_asked

        check_asked(model, nodes, node, pairs)
    # From here on it takes seconds: torch.
    with importing():
        from honlearn.baselines.saving import load_model
        from honlearn.experiments.predictions import Predictions

    fitted = load_model(model)
    _check_alpha(alpha, model, fitted)
    if type(fitted).__name__ == "PathClassifier":
        from honlearn.cli.path_classes import predict_paths

        if nodes or pairs is not None or node is not None or max_fdr is not None:
            raise ParameterError(f"{model}: a model of paths; it takes --paths, not nodes or pairs")
        if reading:
            from honlearn.errors import listed

            raise ParameterError(
                f"{model}: a model of paths reads new ones as it read those for its training; leave out "
                f"{listed('--' + name.replace('_', '-') for name in reading)}"
            )
        emit(predict_paths(fitted, paths, alpha), output, as_json)
        return
    if paths is not None:
        fitted = with_new_paths(model, fitted, paths, reading)
    if hasattr(fitted, "recommend"):
        from honlearn.cli.links import predicted_links

        if nodes:
            raise ParameterError("--nodes is for models of nodes; this one is of links: --pairs or --node")
        emit(predicted_links(fitted, pairs, node, top, max_fdr), output, as_json)
        return
    if pairs is not None or node is not None or max_fdr is not None:
        raise ParameterError(
            f"{model}: a model of nodes; --pairs, --node and --max-fdr are for models of links"
        )
    fitted, wanted = asked_for(fitted, nodes, on_unknown)
    table = Predictions.of(fitted, wanted).table(alpha)
    if output is None:
        emit(table, output, as_json)
        return
    write(table, output)
    facts = {
        "predictions": str(output),
        "nodes": len(table),
        "classes": len(fitted.classes_),
        "mean_confidence": round(float(table["confidence"].mean()), 4) if len(table) else None,
    }
    if "disagreement" in table:
        facts["mean_disagreement"] = round(float(table["disagreement"].mean()), 4) if len(table) else None
    if alpha is not None:
        facts["mean_set_size"] = round(float(table["set_size"].mean()), 4) if len(table) else None
        facts["abstained"] = int(table["abstain"].sum())
        facts["in_training"] = int(table["in_training"].sum())
    if as_json:
        import json

        typer.echo(json.dumps(facts))
    else:
        apart = f", mean disagreement {facts['mean_disagreement']}" if "disagreement" in table else ""
        if alpha is not None:
            apart += f", mean set size {facts['mean_set_size']}, {facts['abstained']:,} without one answer"
        typer.echo(
            f"{output}: {len(table):,} nodes, {facts['classes']} classes, mean confidence "
            f"{facts['mean_confidence']}{apart}"
        )
        if facts.get("in_training"):
            typer.echo(
                f"note: {facts['in_training']:,} of {len(table):,} nodes were trained on; what is said of "
                "coverage holds for the others",
                err=True,
            )


def _check_inputs(model: Path, alpha: float | None, pairs: Path | None, paths: str | None) -> None:
    """Raise where the model folder, a file or a value cannot be what it should; nothing heavy is imported."""
    from honlearn.tasks.model_folder import read_config

    read_config(model)
    if alpha is not None:
        from honlearn.conformal import check_alpha

        check_alpha("predict", alpha)
    if pairs is not None:
        from honlearn.labels import csv_rows

        next(csv_rows(pairs), None)
    if paths is not None:
        from honlearn.paths.files import find_files

        find_files(paths)


def _check_alpha(alpha: float | None, model: Path, fitted: Any) -> None:
    """Raise unless prediction sets can be had of this model, where they are asked for."""
    from honlearn.errors import ParameterError

    if alpha is not None and not getattr(fitted, "has_sets", False):
        what = "train an ensemble of nodes (--model dge-bag) with a validation part"
        if type(fitted).__name__ == "PathClassifier":
            what = "train it again, with at least two paths in every class"
        raise ParameterError(
            f"{model}: --alpha {alpha:g}: this model has no held-back predictions to calibrate sets on; "
            f"{what}"
        )


def emit(table: pandas.DataFrame, output: Path | None, as_json: bool) -> None:
    """Print a table, or write it to a file and print where."""
    if output is None:
        typer.echo(_json(table) if as_json else _csv(table), nl=as_json)
        return
    write(table, output)
    if as_json:
        import json

        typer.echo(json.dumps({"predictions": str(output), "rows": len(table)}))
    else:
        typer.echo(f"{output}: {len(table):,} rows")


def chosen_nodes(words: list[str] | None, vocabulary: Vocabulary) -> list[str]:
    """Return the names that ``--nodes`` stands for, each once, known or not; all entities by default."""
    if not words:
        return list(vocabulary.names)
    names: list[str] = []
    for word in words:
        if word in vocabulary:
            names.append(word)
        elif Path(word).is_file():
            names.extend(_listed_in(Path(word)))
        else:
            names.extend(part.strip() for part in word.split(","))
    return list(dict.fromkeys(name for name in names if name))


def _listed_in(source: Path) -> list[str]:
    """Return the names in a file: the first column below the header of a CSV, or one name a line."""
    from honlearn.errors import FormatError
    from honlearn.labels import csv_rows

    if source.suffix.lower() in (".csv", ".tsv"):
        rows = [row[0] for _, row in csv_rows(source)]
        return rows[1:]
    try:
        # Not splitlines(), to which marks within a name end a line, too.
        return source.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise FormatError(f"{source}: not UTF-8; save the file as UTF-8, one node a line") from None


def check_output(path: Path) -> None:
    """Raise unless a table can be written to this file."""
    from honlearn.errors import InputError, ParameterError
    from honlearn.writing.atomic import check_writable

    if path.suffix.lower() not in (".csv", ".parquet", ".json"):
        raise ParameterError(
            f"{path}: predictions are written as .csv, .parquet or .json; choose one of these"
        )
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; make it first")
    check_writable(path)


def write(table: pandas.DataFrame, path: Path) -> None:
    """Write a table whole or not at all, in the format of the extension."""
    from honlearn.writing.atomic import atomic_binary, atomic_text

    if path.suffix.lower() == ".parquet":
        with atomic_binary(path) as out:
            table.to_parquet(out, index=False)
        return
    with atomic_text(path) as file:
        file.write(_json(table) + "\n" if path.suffix.lower() == ".json" else _csv(table))


def _csv(table: pandas.DataFrame) -> str:
    if "set" in table:
        table = table.assign(set=[_BETWEEN.join(map(str, classes)) for classes in table["set"]])
    text: Any = table.to_csv(index=False, float_format="%.6g", lineterminator="\n")
    return str(text)


def _json(table: pandas.DataFrame) -> str:
    text: Any = table.to_json(orient="records", double_precision=6, force_ascii=False)
    return str(text)
