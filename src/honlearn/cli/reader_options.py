"""The options that say how paths are read, one per keyword of :func:`honlearn.read_paths`.

In: a command. Out: the same command with these options (:func:`reads_paths`); :func:`gathered` is their list,
and makes of their values the keywords of the reader. Nothing heavy is imported here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from honlearn.paths.options import FORMATS, MAX_COLUMNS, MAX_LINE, MAX_NAME, MAX_STEPS, ReaderOptions

Command = TypeVar("Command", bound=Callable[..., Any])

_PANEL = "Reading paths"
_TYPED_ESCAPES = {"\\t": "\t", "tab": "\t", "space": " ", "comma": ","}


def _option(name: str, text: str, metavar: str | None = None) -> Any:
    return typer.Option(name, help=text, metavar=metavar, rich_help_panel=_PANEL, show_default=False)


Format = Annotated[
    str | None, _option("--format", f"{', '.join(FORMATS)}; default: by the file's extension.", "NAME")
]
Delimiter = Annotated[
    str | None,
    _option("--delimiter", "Between entities of a path, or columns of an event CSV; 'tab' for tabs.", "TEXT"),
]
SkipColumns = Annotated[
    int, _option("--skip-columns", "Text: leading fields of a line that are not entities.", "N")
]
TrailingCount = Annotated[
    bool,
    _option("--trailing-count/--no-trailing-count", "Text: the last field of a line is the path's count."),
]
Sequence = Annotated[
    str | None, _option("--sequence", "Events: the column that identifies the path of a row.", "COLUMN")
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
    _option("--path-column", "One path per row: the column of lists, or of text to split.", "COLUMN"),
]
CountColumn = Annotated[
    str | None, _option("--count-column", "One path per row: the column of counts.", "COLUMN")
]
StepColumns = Annotated[
    str | None,
    _option(
        "--step-columns",
        "One path per row, a column per step: a pattern such as 'step*', or names with commas between.",
        "PATTERN",
    ),
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
TimeFormat = Annotated[
    str | None,
    _option(
        "--time-format",
        "Events, edges: the form of times, such as '%d.%m.%Y %H:%M'; ISO needs none.",
        "FORM",
    ),
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
    format: Format = None,
    delimiter: Delimiter = None,
    skip_columns: SkipColumns = 0,
    trailing_count: TrailingCount = False,
    sequence: Sequence = None,
    order_by: OrderBy = None,
    entity: Entity = None,
    path_column: PathColumn = None,
    count_column: CountColumn = None,
    step_columns: StepColumns = None,
    source_column: SourceColumn = None,
    target_column: TargetColumn = None,
    max_gap: MaxGap = None,
    time_format: TimeFormat = None,
    drop_repeats: DropRepeats = False,
    first_only: FirstOnly = False,
    min_length: MinLength = 1,
    on_empty: OnEmpty = "error",
    max_line: MaxLine = MAX_LINE,
    max_name: MaxName = MAX_NAME,
    max_columns: MaxColumns = MAX_COLUMNS,
    max_unpacked: MaxUnpacked = None,
    max_steps: MaxSteps = MAX_STEPS,
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


def reads_paths(command: Command) -> Command:
    """Return `command` with the options of the reader, whose keywords it gets as the dictionary `reading`."""
    own = inspect.signature(command, eval_str=True)
    options = inspect.signature(gathered, eval_str=True).parameters
    taken = [parameter for name, parameter in own.parameters.items() if name != "reading"]

    @functools.wraps(command)
    def reading_command(*args: Any, **given: Any) -> Any:
        words = {name: given.pop(name) for name in options if name in given}
        return command(*args, **given, reading=gathered(**words))

    shown = own.replace(parameters=[*taken, *options.values()])
    reading_command.__signature__ = shown  # type: ignore[attr-defined]
    reading_command.__annotations__ = {name: one.annotation for name, one in shown.parameters.items()}
    return reading_command  # type: ignore[return-value]
