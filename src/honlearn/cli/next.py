"""``honlearn next NET|PATHS --after "A B"``: the likeliest next steps after a history, or sets of them.

In: paths, whose counts are smoothed into a model, or a network, which is a model itself; histories as words
or as a file of one per line. Out: a table on standard output, CSV or JSON; with ``--alpha`` one row per
history, with the set of steps that holds the next one so often.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honlearn.cli import reader_options as reader

if TYPE_CHECKING:
    import pandas

    from honlearn.hon.build import GramCounts
    from honlearn.hon.steps.model import StepModel

Source = Annotated[
    list[str], typer.Argument(metavar="NET|PATHS", help="A network, or files of paths as 'grow' reads them.")
]
Order = Annotated[
    int,
    typer.Option(min=1, help="Paths: how many of the last entities the next step may depend on."),
]


@reader.reads_paths
def next_steps(
    source: Source,
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--after",
            metavar="HISTORY",
            help="Entities so far, oldest first, as in the paths; a name with blanks in double quotes: "
            "'Surgery \"Ward A\"'. Repeatable.",
        ),
    ] = None,
    after_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Many histories: text, one per line.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many next steps to show.")] = 5,
    order: Order = 3,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Paths: one set of next steps per history, which lacks the true one at most this often "
            "(0.1). A tenth of the paths is held out to calibrate it.",
        ),
    ] = None,
    anywhere: Annotated[
        bool, typer.Option("--anywhere", help="A history is the end of a longer path, not a path so far.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="CSV", help="Write .csv, .parquet or .json.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    *,
    reading: dict[str, Any],
) -> None:
    """Show the likeliest next steps after a history, the end of the path among them."""
    from honlearn.cli.inputs import check_there

    check_there(source)
    from honlearn.cli.predict import check_output, emit
    from honlearn.errors import ParameterError

    if not after and after_file is None:
        raise ParameterError('what came before? Give --after "A B", oldest first, or --after-file FILE')
    if output is not None:
        check_output(output)
    between = reading.get("delimiter") or ("," if source[0].endswith(".ngram") else None)
    histories = [_entities_of(word, between) for word in after or []]
    histories += _lines_of(after_file, between)
    if alpha is not None:
        table = _sets(source, reading, order, histories, alpha, anywhere)
    else:
        table = _table(source, reading, order, histories, top, not anywhere)
    if output is not None or as_json or after_file is not None:
        emit(table, output, as_json)
        return
    from rich.console import Console

    from honlearn.cli.info import table_of

    rows = table.to_dict("records")
    if alpha is not None:
        shown = [[" ".join(histories[row["history"]]), *_shown_set(row, top)] for row in rows]
        title, columns = f"Next steps, {1 - alpha:.0%} sets", ["after", "set", "size", "probability"]
    else:
        shown = [
            [" ".join(histories[row["history"]]) if row["rank"] == 1 else "", row["step"], _shown(row)]
            for row in rows
        ]
        title, columns = "Next steps", ["after", "step", "probability"]
    Console().print(table_of(title, columns, shown))


def _shown(row: dict[Any, Any]) -> str:
    return f"{row['probability']:.3f}"


def _shown_set(row: dict[Any, Any], top: int) -> list[str]:
    """Return the first steps of a set, its size and its probability."""
    steps, more = row["set"][:top], row["set_size"] - top
    named = ", ".join(steps) + (f" and {more:,} more" if more > 0 else "")
    return [named, f"{row['set_size']:,}" + (", any unseen one" if row["unseen"] else ""), _shown(row)]


def _sets(
    source: list[str],
    options: dict[str, Any],
    order: int,
    histories: list[list[str]],
    alpha: float,
    anywhere: bool,
) -> pandas.DataFrame:
    """Return one row per history: history (from 0), set, set_size, probability, unseen."""
    from honlearn.cli.kinds import is_network
    from honlearn.conformal import check_alpha
    from honlearn.errors import ParameterError

    check_alpha("next", alpha)
    if anywhere:
        raise ParameterError("--alpha is for paths from their start; leave out --anywhere")
    if is_network(source, options):
        raise ParameterError(
            f"{source[0]}: a network; --alpha needs PATHS, a part of which is held out to calibrate the sets"
        )
    from honlearn.hon.steps.sets import StepSets

    model = StepSets.of(source[0] if len(source) == 1 else source, order, **options)
    table = model.next_sets(histories, alpha).table()
    table["set"] = table["set"].map(list)
    return table


def step_model(source: list[str], options: dict[str, Any], order: int) -> StepModel:
    """Return the model of the next step of a network, or of paths that are read and counted."""
    counts = _counted(source, options, order)
    if counts is not None:
        return counts.steps()
    from honlearn.hon.formats import load_network
    from honlearn.hon.steps.network_model import network_model

    return network_model(load_network(source[0]))


def _counted(source: list[str], options: dict[str, Any], order: int) -> GramCounts | None:
    """Return the counts of paths; None where the source is a network."""
    from honlearn.cli.kinds import is_network

    if is_network(source, options):
        return None
    from honlearn.hon.build import count_grams

    return count_grams(source[0] if len(source) == 1 else source, order, **options)


def _entities_of(text: str, between: str | None) -> list[str]:
    """Return the entities of a history: between marks, or between blanks that no double quotes enclose.

    Blanks are spaces and tabs; other white space, such as one that does not break a line, is part of a name.

    >>> _entities_of('Surgery "Ward A"', None), _entities_of("a,b c", ",")
    (['Surgery', 'Ward A'], ['a', 'b c'])
    """
    if between is not None:
        return text.split(between)
    if text.count('"') % 2:
        return re.findall(r"[^ \t]+", text)
    found = re.findall(r'(?<![^ \t])"([^"]+)"(?![^ \t])|([^ \t]+)', text)
    return [quoted or plain for quoted, plain in found]


def _lines_of(file: Path | None, between: str | None) -> list[list[str]]:
    from honlearn.errors import FormatError

    if file is None:
        return []
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(f"{file}: not UTF-8; save the file as UTF-8, one history per line") from None
    # Not splitlines(), to which marks within a name end a line, too.
    lines = text.removesuffix("\n").split("\n") if text else []
    return [_entities_of(line, between) for line in lines]


def _table(
    source: list[str],
    options: dict[str, Any],
    order: int,
    histories: list[list[str]],
    top: int,
    from_start: bool,
) -> pandas.DataFrame:
    """Return one row per history and next step: history (from 0), rank (from 1), step, probability."""
    import pandas as pd

    counts = _counted(source, options, order)
    if counts is None:
        return _asked(step_model(source, options, order), histories, range(len(histories)), top)
    orders = [counts.order_for(history, from_start) for history in histories]
    parts = [
        _asked(counts.steps(k), histories, [i for i, own in enumerate(orders) if own == k], top)
        for k in sorted(set(orders))
    ]
    return pd.concat(parts).sort_values(["history", "rank"]).reset_index(drop=True)


def _asked(model: StepModel, histories: list[list[str]], chosen: Sequence[int], top: int) -> pandas.DataFrame:
    """Return the rows of some histories, all asked of one model."""
    import numpy as np
    import pandas as pd

    from honlearn.hon.steps.model import step_name

    codes = model.vocabulary.codes(name for i in chosen for name in histories[i])
    offsets = np.concatenate([[0], np.cumsum([len(histories[i]) for i in chosen])])
    found = model.next_codes(codes, offsets, top)
    row, rank = np.nonzero(found.codes != -1)
    return pd.DataFrame(
        {
            "history": np.asarray(chosen)[row],
            "rank": rank + 1,
            "step": [step_name(model.vocabulary, code) for code in found.codes[row, rank].tolist()],
            "probability": found.probabilities[row, rank],
        }
    )
