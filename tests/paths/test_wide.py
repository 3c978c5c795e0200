"""One path per row, a column for each step: the same paths as a column of lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.paths.guess import guess_columns
from honlearn.pipeline.reading import read_table

ROWS = [("a", "b", "c"), ("b", "a"), ("c",), ("a", "c", "b")]
WIDE = pd.DataFrame([[*row, *[None] * (3 - len(row))] for row in ROWS], columns=["step1", "step2", "step3"])


def test_rows_are_paths_and_empty_ends_are_none(tmp_path: Path) -> None:
    table = WIDE.assign(user=[7, 8, 9, 10])
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "semicolons.csv", index=False, sep=";")
    table.to_parquet(tmp_path / "t.parquet")
    table.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    wanted = hl.read_paths([list(row) for row in ROWS])
    sources: list[tuple[Any, dict[str, Any]]] = [
        (table, {}),
        (table.astype({"step2": "category"}), {}),
        (polars.from_pandas(table), {}),
        *((tmp_path / f"t.{kind}", {}) for kind in ("csv", "parquet", "jsonl")),
        (tmp_path / "semicolons.csv", {"delimiter": ";"}),
    ]
    for source, options in sources:
        for steps in ("step*", "step1,step2,step3", ["step1", "step2", "step3"], "s*1,step[23]"):
            found = hl.read_paths(source, step_columns=steps, **options)
            assert list(found) == ROWS
            assert found.vocabulary.names == wanted.vocabulary.names  # numbered path by path


def test_columns_are_taken_in_the_order_of_their_names_and_a_row_has_a_count() -> None:
    table = WIDE.assign(step_count=[5, 1, 2, 3])
    options = {"step_columns": "step3,step1", "on_empty": "skip"}
    found = hl.read_paths(table, count_column="step_count", **options)
    assert list(found) == [("c", "a"), ("b",), ("c",), ("b", "a")]
    assert found.total == 11
    found = hl.read_paths(table, step_columns="step*", count_column="step_count")
    assert list(found) == ROWS
    with pytest.raises(InputError, match=r"row 1 \(counted from 0\): count 0 \(column 'step_count'\)"):
        hl.read_paths(table.replace(1, 0), step_columns="step*", count_column="step_count")


def test_numbers_are_ids_though_pandas_made_them_floats() -> None:
    table = pd.DataFrame({"0": [7, 8], "1": [8.0, np.nan]})
    assert list(hl.read_paths(table, step_columns="*")) == [("7", "8"), ("8",)]


def test_an_empty_cell_before_a_step_is_an_empty_id(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,s1,s2,s3\n1,a,b,\n2,a,,c\n3,,,\n")
    with pytest.raises(InputError, match=r"t.csv:3: empty entity id \(column 's2'\) before a later step"):
        hl.read_paths(tmp_path / "t.csv", step_columns="s*")
    (tmp_path / "empty.csv").write_text("id,s1,s2,s3\n1,a,b,\n3,,,\n")
    with pytest.raises(InputError, match=r"empty.csv:3: empty path; remove the row or pass on_empty"):
        hl.read_paths(tmp_path / "empty.csv", step_columns="s*")
    found = hl.read_paths(tmp_path / "t.csv", step_columns="s*", on_empty="skip")
    assert list(found) == [("a", "b"), ("a", "c")]
    _, summary = read_table(tmp_path / "t.csv", {"step_columns": "s*"})
    assert "empty cells before a later step left out: 1 in 's2'" in summary.lines()
    assert summary.rows == 3


def test_names_that_cannot_be_ids_name_row_and_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("s1,s2\na,b\nb,a|b\n")
    with pytest.raises(InputError, match=r"t.csv:3: entity id 'a\|b' contains .* \(column 's2'\)"):
        hl.read_paths(tmp_path / "t.csv", step_columns="s*")
    with pytest.raises(InputError, match=r"column 's2': 1.5 is no id"):
        hl.read_paths(pd.DataFrame({"s1": [1, 2], "s2": [1.5, 2]}), step_columns="s*")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_columns": ""}, "must be a pattern of columns such as 'step\\*'"),
        ({"step_columns": []}, "must be a pattern of columns"),
        ({"step_columns": "s1,"}, "must be a pattern of columns"),
        ({"step_columns": 3}, "must be a pattern of columns .* Got 3 instead"),
        ({"step_columns": "s*", "path_column": "p"}, "step_columns and path_column exclude each other"),
        ({"step_columns": "s*", "sequence": "u"}, "step_columns and sequence exclude each other"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        hl.read_paths(WIDE, **options)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ("stop*", r"no column 'stop\*' \(step_columns\); .*there are step1, step2, step3"),
        ("step1,stp2", r"no column 'stp2' \(step_columns\); did you mean 'step2'\?"),
        ("step1", "step_columns 'step1' is one column, 'step1'; give a pattern"),
    ],
)
def test_columns_that_are_not_there(steps: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        hl.read_paths(WIDE, step_columns=steps)


def test_the_columns_are_guessed() -> None:
    random = np.random.default_rng(0)
    steps = {f"step{i}": random.choice(list("abc"), 50) for i in range(1, 12)}
    guess = guess_columns(pd.DataFrame({"user": random.permutation(50), **steps, "n": range(1, 51)}))
    assert guess is not None
    assert guess.options == {"step_columns": "step*", "count_column": "n"}
    assert guess.flags() == "--step-columns 'step*' --count-column n"
    assert guess.is_clear
    numbers = pd.DataFrame({str(i): column for i, column in enumerate(steps.values())})
    found = guess_columns(numbers.assign(outcome="x"))
    assert found is not None
    assert found.options == {"step_columns": "0,1,2,3,4,5,6,7,8,9,10"}
    assert not found.is_clear, "answers to numbered questions look alike"
    numbers["10"] = None
    assert guess_columns(numbers.assign(**{"9": [None] * 25 + ["a"] * 25})).is_clear  # rows have ends
