"""ReaderOptions: every combination that cannot work is refused at once, in words."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from honlearn.errors import ParameterError
from honlearn.paths import ReaderOptions
from honlearn.paths.options import Gap

EVENTS = {"sequence": "s", "entity": "e"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"format": "txt"}, "'format' parameter.*Got 'txt' instead; did you mean 'text'"),
        ({"on_empty": "ignore"}, "'on_empty' parameter.*'error', 'skip'"),
        ({"skip_columns": -1}, "'skip_columns'.*at least 0. Got -1"),
        ({"min_length": 0}, "'min_length'.*at least 1. Got 0"),
        ({"min_length": 2.5}, "'min_length'.*Got 2.5"),
        ({"first_only": 1}, "'first_only'.*True or False. Got 1"),
        ({"delimiter": ""}, "'delimiter'.*at least one character"),
        ({"delimiter": "\n"}, "'delimiter'.*without a line end"),
        ({"sequence": 3, "entity": "e"}, "'sequence'.*name of a column. Got 3"),
        ({"path_column": "p", **EVENTS}, "path_column and sequence, entity exclude each other"),
        ({"count_column": "n", **EVENTS}, "count_column.*needs path_column"),
        ({"max_gap": 3, **EVENTS}, "max_gap needs order_by"),
        ({"skip_columns": 1, **EVENTS}, "skip_columns belongs to text files"),
        ({"trailing_count": True, "format": "csv"}, "trailing_count belongs to text files"),
    ],
)
def test_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ReaderOptions(**given)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"sequence": "s"}, "csv", "sequence without entity"),
        ({"entity": "e", "order_by": "o"}, None, "order_by, entity without sequence"),
        (EVENTS, "xes", "sequence: a trace of a xes log is a path by itself"),
        ({"path_column": "p"}, "xes", "path_column: a trace of a xes log"),
    ],
)
def test_columns_refused_for_a_format(given: dict[str, object], kind: str | None, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ReaderOptions(**given).check_columns_for(kind)


@pytest.mark.parametrize(
    ("given", "gap"),
    [
        (30, Gap(number=30.0)),
        ("30", Gap(number=30.0)),
        (np.int64(30), Gap(number=30)),
        (np.float32(0.5), Gap(number=0.5)),
        ("9007199254740993ns", Gap(nanoseconds=9007199254740993)),
        ("0.1s", Gap(nanoseconds=10**8)),
        ("0.5", Gap(number=0.5)),
        ("30min", Gap(nanoseconds=1800 * 10**9)),
        ("6 h", Gap(nanoseconds=6 * 3600 * 10**9)),
        ("2d", Gap(nanoseconds=2 * 86400 * 10**9)),
        ("1D", Gap(nanoseconds=86400 * 10**9)),
        ("2 Hours", Gap(nanoseconds=7200 * 10**9)),
        ("250 ms", Gap(nanoseconds=250 * 10**6)),
        ("1s", Gap(nanoseconds=10**9)),
        ("1.5s", Gap(nanoseconds=1_500_000_000)),
        (datetime.timedelta(minutes=1), Gap(nanoseconds=60 * 10**9)),
        (pd.Timedelta(7, "ns"), Gap(nanoseconds=7)),
        (np.timedelta64(3, "D"), Gap(nanoseconds=3 * 86400 * 10**9)),
    ],
)
def test_gaps(given: object, gap: Gap) -> None:
    assert ReaderOptions(**EVENTS, order_by="o", max_gap=given).gap == gap


@pytest.mark.parametrize(
    "given",
    [-1, "-3h", "soon", "3 fortnights", float("nan"), True, datetime.timedelta(-1), "1e999", "1e300d"],
)
def test_gaps_refused(given: object) -> None:
    with pytest.raises(ParameterError, match=r"'max_gap' parameter.*'30min', '6h' or '2d'"):
        ReaderOptions(**EVENTS, order_by="o", max_gap=given)


def test_unknown_keyword_has_a_near_match() -> None:
    with pytest.raises(ParameterError, match=r"no parameter 'max_gpa'; did you mean 'max_gap'"):
        ReaderOptions.of(max_gpa=3)
