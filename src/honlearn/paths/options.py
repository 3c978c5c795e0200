"""What a reader is asked to do: one checked value that every reader takes.

In: the keywords of :func:`honlearn.read_paths` or the options of ``honlearn grow``. Out: a frozen
:class:`ReaderOptions` whose parts fit together; each reader takes from it what concerns it.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

from honlearn.errors import ParameterError, check_choice, check_integer, did_you_mean, listed

TEXT_FORMATS = ("text", "ngram")
TABLE_FORMATS = ("csv", "tsv", "parquet", "arrow", "jsonl")
LOG_FORMATS = ("xes",)
FORMATS = TEXT_FORMATS + TABLE_FORMATS + LOG_FORMATS

NAME_COLUMNS = (
    "Give sequence, order_by and entity (one event per row), path_column (one path per row), step_columns "
    "(one path per row, a column per step), or source_column, target_column, order_by and max_gap (one "
    "temporal edge per row)"
)
SKIP_EMPTY = 'pass on_empty="skip" (--on-empty skip)'

# Sums of counts of this size still fit 64 bits for a while; the builder checks the sum.
MAX_COUNT = 2**62
A_COUNT = "a count is a whole number, at least 1 and at most 2**62"

# What a file may ask of memory before it is refused: far more than real data needs, far less than a machine
# has. Each is an option, so a file that is meant to be so can be read.
MAX_LINE = 1 << 26
MAX_NAME = 1 << 20
MAX_COLUMNS = 10_000
# Text and CSV are read as they are unpacked; Parquet and Arrow files have to be unpacked in memory.
MAX_UNPACKED_STREAM = 1 << 36
MAX_UNPACKED_MEMORY = 1 << 30

# Temporal edges can have exponentially many paths: half a gigabyte of them. Sums of as many as the greatest
# bound over 2**31 edges fit 64 bits.
MAX_STEPS = 1 << 27
_MOST_STEPS = 1 << 32

_OWNER = "read_paths"
_ROW_COLUMNS = ("path_column", "count_column")
_EDGE_COLUMNS = ("source_column", "target_column")
COLUMN_OPTIONS = ("sequence", "order_by", "entity", *_ROW_COLUMNS, *_EDGE_COLUMNS)
_LARGEST_GAP = 10**300
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "sec": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86400 * 10**9,
    "w": 7 * 86400 * 10**9,
}
_SPELT = {"second": "s", "minute": "min", "hour": "h", "day": "d", "week": "w"}


@dataclass(frozen=True)
class Gap:
    """The largest allowed step of the order column: a plain number, or a duration in nanoseconds.

    Whole numbers stay ``int``, which holds what a float would round.
    """

    number: float | None = None
    nanoseconds: int | None = None


@dataclass(frozen=True)
class ReaderOptions:
    """How to read paths; see :func:`honlearn.read_paths` for what each option means.

    >>> ReaderOptions(sequence="trip", entity="port", order_by="time", max_gap="30min").gap
    Gap(number=None, nanoseconds=1800000000000)
    """

    format: str | None = None
    delimiter: str | None = None
    skip_columns: int = 0
    trailing_count: bool = False
    sequence: str | None = None
    order_by: str | None = None
    entity: str | None = None
    path_column: str | None = None
    count_column: str | None = None
    step_columns: str | Sequence[str] | None = None
    source_column: str | None = None
    target_column: str | None = None
    max_gap: float | str | datetime.timedelta | None = None
    time_format: str | None = None
    drop_repeats: bool = False
    first_only: bool = False
    min_length: int = 1
    on_empty: str = "error"
    max_line: int = MAX_LINE
    max_name: int = MAX_NAME
    max_columns: int = MAX_COLUMNS
    max_unpacked: int | None = None
    max_steps: int = MAX_STEPS

    def __post_init__(self) -> None:
        if self.format is not None:
            check_choice(_OWNER, "format", self.format, FORMATS)
        check_choice(_OWNER, "on_empty", self.on_empty, ("error", "skip"))
        check_integer(_OWNER, "skip_columns", self.skip_columns, 0)
        check_integer(_OWNER, "min_length", self.min_length, 1)
        for name in ("max_line", "max_name", "max_columns", "max_unpacked"):
            if name != "max_unpacked" or self.max_unpacked is not None:
                check_integer(_OWNER, name, getattr(self, name), 1)
        check_integer(_OWNER, "max_steps", self.max_steps, 1, _MOST_STEPS)
        for name in ("trailing_count", "drop_repeats", "first_only"):
            if not isinstance(getattr(self, name), bool):
                raise ParameterError(
                    f"The {name!r} parameter of {_OWNER} must be True or False. "
                    f"Got {getattr(self, name)!r} instead."
                )
        self._check_delimiter()
        self._check_columns()
        self.gap  # noqa: B018  (an unreadable duration is found here, not an hour later)

    def _check_delimiter(self) -> None:
        if self.delimiter is None:
            return
        if not isinstance(self.delimiter, str) or not self.delimiter or set(self.delimiter) & set("\n\r"):
            raise ParameterError(
                f"The 'delimiter' parameter of {_OWNER} must be a text of at least one character, without a "
                f"line end. Got {self.delimiter!r} instead."
            )

    def _check_columns(self) -> None:
        for name in COLUMN_OPTIONS:
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise ParameterError(
                    f"The {name!r} parameter of {_OWNER} must be the name of a column. Got {value!r} instead."
                )
        self._check_steps()
        events = [name for name in ("sequence", "order_by", "entity") if getattr(self, name) is not None]
        if self.path_column is not None and events:
            raise ParameterError(
                f"path_column and {listed(events)} exclude each other: give path_column for a table with one "
                "path per row, or sequence and entity for a table with one event per row"
            )
        self._check_edges()
        if self.count_column is not None and self.path_column is None and self.step_columns is None:
            raise ParameterError(
                "count_column counts whole paths and needs path_column or step_columns; events have no counts"
            )
        if self.max_gap is not None and self.order_by is None:
            raise ParameterError(
                "max_gap needs order_by, the column of numbers or times that it is measured in"
            )
        if self.time_format is not None:
            self._check_time_format(self.time_format)
        textual = [name for name in ("skip_columns", "trailing_count") if getattr(self, name)]
        if textual and (self.is_table or self.format in TABLE_FORMATS + LOG_FORMATS):
            raise ParameterError(f"{listed(textual)} belongs to text files, not to tables")

    def _check_steps(self) -> None:
        """Raise unless the columns of steps are a pattern or names, and no other columns hold the paths."""
        steps = self.step_columns
        if steps is None:
            return
        if isinstance(steps, str):
            good = bool(steps) and all(steps.split(","))
        else:
            good = isinstance(steps, Sequence) and bool(steps)
            good = good and all(isinstance(name, str) and name for name in steps)
        if not good:
            raise ParameterError(
                f"The 'step_columns' parameter of {_OWNER} must be a pattern of columns such as 'step*', or "
                f"their names, as a list or with commas between them. Got {steps!r} instead."
            )
        others = [
            name for name in COLUMN_OPTIONS if name != "count_column" and getattr(self, name) is not None
        ]
        if others:
            raise ParameterError(
                f"step_columns and {listed(others)} exclude each other: step_columns is for a table with one "
                "path per row, a column for each step"
            )

    def _check_time_format(self, pattern: object) -> None:
        if self.order_by is None:
            raise ParameterError("time_format needs order_by, the column of times that it is the form of")
        try:
            if not isinstance(pattern, str) or "%" not in pattern:
                raise ValueError("it has no directive such as %Y")
            some = datetime.datetime(2024, 5, 31, 16, 20, tzinfo=datetime.timezone.utc)
            datetime.datetime.strptime(some.strftime(pattern), pattern)
        except ValueError as error:
            raise ParameterError(
                f"The 'time_format' parameter of {_OWNER} must be a form of times such as '%d.%m.%Y %H:%M'. "
                f"Got {pattern!r} instead: {error}."
            ) from error

    def _check_edges(self) -> None:
        """Raise unless the columns of temporal edges are complete and alone."""
        edges = [name for name in _EDGE_COLUMNS if getattr(self, name) is not None]
        if not edges:
            return
        others = [name for name in ("sequence", "entity", *_ROW_COLUMNS) if getattr(self, name) is not None]
        if others:
            raise ParameterError(
                f"{listed(edges)} and {listed(others)} exclude each other: a table has one edge per row, one "
                "event per row or one path per row"
            )
        needed = [name for name in (*_EDGE_COLUMNS, "order_by", "max_gap") if getattr(self, name) is None]
        if needed:
            raise ParameterError(
                f"{listed(edges)} without {listed(needed)}: temporal edges need source_column, "
                "target_column, order_by (their time) and max_gap (the longest wait between two edges of a "
                "path)"
            )

    def check_columns_for(self, kind: str | None) -> None:
        """Raise unless the named columns are enough for a format; `kind` is None for a table in memory.

        Apart from the other checks, because a trace of an event log is a sequence by itself.
        """
        events = [name for name in ("sequence", "order_by", "entity") if getattr(self, name) is not None]
        if kind in LOG_FORMATS:
            foreign = [
                name
                for name in ("sequence", *_ROW_COLUMNS, "step_columns", *_EDGE_COLUMNS, "time_format")
                if getattr(self, name) is not None
            ]
            if foreign:
                raise ParameterError(
                    f"{listed(foreign)}: a trace of a {kind} log is a path by itself; a log takes entity and "
                    "order_by, keys of its events"
                )
        elif self.source_column is None and events and (self.sequence is None or self.entity is None):
            absent = "entity" if self.sequence is not None else "sequence"
            raise ParameterError(
                f"{listed(events)} without {absent}: an event table needs sequence and entity"
            )

    @property
    def is_table(self) -> bool:
        """Whether columns were named, so that the source is a table."""
        return any(getattr(self, name) is not None for name in (*COLUMN_OPTIONS, "step_columns"))

    @property
    def gap(self) -> Gap | None:
        """The maximum gap, read: a number for number columns, nanoseconds for time columns."""
        return None if self.max_gap is None else _read_gap(self.max_gap)

    @classmethod
    def check_names(cls, owner: str, keywords: Iterable[str], own: Iterable[str]) -> None:
        """Raise for a keyword that is no reader option and none of `own`, the parameters of `owner`."""
        mine = [name for name in own if name not in ("reading", "reader_options")]
        known = [*mine, *(field.name for field in fields(cls)), "counts", "progress"]
        for name in keywords:
            if name not in known:
                raise ParameterError(
                    f"{owner} has no parameter {name!r}{did_you_mean(name, known)}; there are "
                    f"{listed(mine, 20)}, and the options of {_OWNER}"
                )

    @classmethod
    def of(cls, **keywords: Any) -> ReaderOptions:
        """Return the options of these keywords; an unknown one is an error with a near match."""
        known = [field.name for field in fields(cls)]
        for name in keywords:
            if name not in known:
                raise ParameterError(
                    f"{_OWNER} has no parameter {name!r}{did_you_mean(name, known)}; "
                    f"there are {listed(known, 20)}"
                )
        return cls(**keywords)


def _read_gap(value: Any) -> Gap:
    if isinstance(value, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[+-]?[0-9]{1,4})?)\s*([a-z]*)\s*", value.lower())
        unit = "" if match is None else _SPELT.get(match[2].removesuffix("s"), match[2])
        if match and unit in _UNITS:
            return _checked_gap(value, nanoseconds=round(Fraction(match[1]) * _UNITS[unit]))
        if match and not unit:
            return _checked_gap(value, number=int(match[1]) if match[1].isdecimal() else float(match[1]))
    elif hasattr(value, "dtype") and getattr(value.dtype, "kind", "") == "m":
        return _checked_gap(value, nanoseconds=int(value.astype("timedelta64[ns]").astype("int64")))
    elif isinstance(value, datetime.timedelta):
        micro = (value.days * 86400 + value.seconds) * 10**6 + value.microseconds
        return _checked_gap(value, nanoseconds=micro * 1000 + int(getattr(value, "nanoseconds", 0)))
    elif isinstance(value, Real) and not isinstance(value, bool):
        return _checked_gap(value, number=int(value) if isinstance(value, Integral) else float(value))
    raise _bad_gap(value)


def _checked_gap(value: object, number: float | None = None, nanoseconds: int | None = None) -> Gap:
    size = number if number is not None else nanoseconds
    if size is None or size < 0 or size > _LARGEST_GAP or size != size:
        raise _bad_gap(value)
    return Gap(number, nanoseconds)


def _bad_gap(value: object) -> ParameterError:
    return ParameterError(
        f"The 'max_gap' parameter of {_OWNER} must be a number, at least 0, in the unit of the order column, "
        f"or for times a duration such as '30min', '6h' or '2d' (units: {listed(_UNITS)}). "
        f"Got {value!r} instead."
    )
