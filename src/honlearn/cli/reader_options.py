"""The options of ``honlearn grow`` that say how paths are read, one a keyword of :func:`honlearn.read_paths`.

In: words of the command line. Out: typer types for a command's signature, and :func:`gathered`, which makes
of their values the keywords that :func:`honlearn.paths.as_source` takes. Nothing heavy is imported here.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from honlearn.paths.options import FORMATS, ReaderOptions
from honlearn.paths.options import MAX_COLUMNS as MAX_COLUMNS
from honlearn.paths.options import MAX_LINE as MAX_LINE
from honlearn.paths.options import MAX_NAME as MAX_NAME
from honlearn.paths.options import MAX_STEPS as MAX_STEPS

_PANEL = "Reading paths"
_TYPED_ESCAPES = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ","}


def _option(name: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


Format = Annotated[
    str | None, _option("--format", f"{', '.join(FORMATS)}; default: by the file's extension.", "NAME")
]
Delimiter = Annotated[
    str | None,
    _option("--delimiter", "Between entities of a path, or columns of an event CSV; 'tab' is known.", "TEXT"),
]
SkipColumns = Annotated[
    int, _option("--skip-columns", "Text: leading fields of a line that are no entities.", "N")
]
TrailingCount = Annotated[
    bool,
    _option("--trailing-count/--no-trailing-count", "Text: the last field of a line is the path's count."),
]
Sequence = Annotated[
    str | None, _option("--sequence", "Events: the column that says which path a row belongs to.", "COLUMN")
]
OrderBy = Annotated[
    str | None,
    _option("--order-by", "Events: the column (XES: key) of numbers or times; default: row order.", "COLUMN"),
]
Entity = Annotated[
    str | None,
    _option("--entity", "Events: the column of the entity visited; XES: its key, concept:name.", "COLUMN"),
]
PathColumn = Annotated[
    str | None,
    _option("--path-column", "One path a row: the column of lists, or of text to split.", "COLUMN"),
]
CountColumn = Annotated[
    str | None, _option("--count-column", "One path a row: the column of counts.", "COLUMN")
]
SourceColumn = Annotated[
    str | None,
    _option("--source-column", "Temporal edges: the column of their sources; paths respect time.", "COLUMN"),
]
TargetColumn = Annotated[
    str | None, _option("--target-column", "Temporal edges: the column of their targets.", "COLUMN")
]
MaxGap = Annotated[
    str | None,
    _option("--max-gap", "Events, edges: the longest step within a path; a number, or 30min, 6h, 2d.", "GAP"),
]
DropRepeats = Annotated[
    bool, _option("--drop-repeats/--no-drop-repeats", "Drop an entity that repeats the one before it.")
]
FirstOnly = Annotated[
    bool, _option("--first-only/--no-first-only", "Keep the first occurrence of each entity in a path.")
]
MinLength = Annotated[int, _option("--min-length", "Drop paths with fewer entities; default: 1.", "N")]
OnEmpty = Annotated[str, _option("--on-empty", "An empty entity id: error (default) or skip.", "error|skip")]
MaxLine = Annotated[
    int,
    _option("--max-line", "Most bytes in a line of text, a row of CSV or a tag; default: 64 MiB.", "BYTES"),
]
MaxName = Annotated[int, _option("--max-name", "Most bytes in an entity id; default: 1 MiB.", "BYTES")]
MaxColumns = Annotated[int, _option("--max-columns", "Most columns of a table; default: 10,000.", "N")]
MaxUnpacked = Annotated[
    int | None,
    _option(
        "--max-unpacked",
        "Most bytes that a .gz or .zst file may unpack to; default: 64 GiB, for Parquet and Arrow 1 GiB.",
        "BYTES",
    ),
]
MaxSteps = Annotated[
    int,
    _option("--max-steps", "Temporal edges: most steps in all of their paths; default: 2**27.", "N"),
]


def gathered(
    *,
    format: str | None = None,
    delimiter: str | None = None,
    skip_columns: int = 0,
    trailing_count: bool = False,
    sequence: str | None = None,
    order_by: str | None = None,
    entity: str | None = None,
    path_column: str | None = None,
    count_column: str | None = None,
    source_column: str | None = None,
    target_column: str | None = None,
    max_gap: str | None = None,
    drop_repeats: bool = False,
    first_only: bool = False,
    min_length: int = 1,
    on_empty: str = "error",
    max_line: int = MAX_LINE,
    max_name: int = MAX_NAME,
    max_columns: int = MAX_COLUMNS,
    max_unpacked: int | None = None,
    max_steps: int = MAX_STEPS,
) -> dict[str, Any]:
    """Return the keywords of ``read_paths``; the delimiter may be spelt ``\\t`` or ``tab``.

    >>> gathered(delimiter="tab", max_gap="30min")
    {'delimiter': '\\t', 'max_gap': '30min'}
    """
    values = dict(locals())
    if delimiter is not None:
        values["delimiter"] = _TYPED_ESCAPES.get(delimiter, delimiter)
    plain = ReaderOptions()
    return {name: value for name, value in values.items() if value != getattr(plain, name)}
