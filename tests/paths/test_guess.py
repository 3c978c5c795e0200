"""Guessed columns: the tables of several fields, and what is not clear."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from honlearn.errors import InputError
from honlearn.paths.guess import guess_columns
from honlearn.paths.source import read_paths

RANDOM = np.random.default_rng(0)
TIMES = pd.Series(pd.date_range("2024-01-01", periods=300, freq="min")).astype(str)


def _clicks() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "ip": RANDOM.choice(["1.1.1.1", "2.2.2.2"], 300),
            "session_id": RANDOM.integers(0, 60, 300),
            "timestamp": TIMES,
            "url": RANDOM.choice(list("abcdefgh"), 300),
            "duration": RANDOM.integers(1, 400, 300),
        }
    )


def _coupons() -> pd.DataFrame:
    airports = ["ATL", "JFK", "LGA", "ORD"]
    return pd.DataFrame(
        {
            "ITIN_ID": np.repeat(np.arange(100), 3),
            "SEQ_NUM": np.tile([1, 2, 3], 100),
            "ORIGIN": RANDOM.choice(airports, 300),
            "DEST": RANDOM.choice(airports, 300),
        }
    )


def _log() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Case ID": np.repeat([f"case {i}" for i in range(60)], 5),
            "Activity": RANDOM.choice(["check", "pay", "send"], 300),
            "Resource": RANDOM.choice(["Ann", "Bob"], 300),
            "Complete Timestamp": TIMES,
        }
    )


def _patients() -> pd.DataFrame:
    return pd.DataFrame(
        {"patient": np.repeat(np.arange(75), 4), "ward": RANDOM.choice([1, 2, 3], 300), "admitted": TIMES}
    )


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (_clicks(), {"sequence": "session_id", "order_by": "timestamp", "entity": "url"}),
        (_coupons(), {"sequence": "ITIN_ID", "order_by": "SEQ_NUM", "entity": "ORIGIN"}),
        (_log(), {"sequence": "Case ID", "order_by": "Complete Timestamp", "entity": "Activity"}),
        (_patients(), {"sequence": "patient", "order_by": "admitted", "entity": "ward"}),
    ],
    ids=["clicks", "coupons", "log", "patients"],
)
def test_events(table: pd.DataFrame, wanted: dict[str, str]) -> None:
    guess = guess_columns(table)
    assert guess is not None
    assert guess.options == wanted
    assert guess.is_clear
    assert len(guess.reasons) == 3
    # The order of the columns tells nothing.
    turned = guess_columns(table[table.columns[::-1]])
    assert turned is not None
    assert turned.options == wanted


def test_one_path_a_row() -> None:
    table = pd.DataFrame({"id": [1, 2, 3], "route": ["A > B > C", "B > C", "C > A"], "n": [4, 2, 3]})
    guess = guess_columns(table)
    assert guess is not None
    assert guess.options == {"path_column": "route", "delimiter": " > ", "count_column": "n"}
    assert guess.flags() == "--path-column route --delimiter ' > ' --count-column n"
    paths = read_paths(table, **guess.options)
    assert paths[0] == ("A", "B", "C")
    assert paths.total == 9


def test_lists() -> None:
    guess = guess_columns(pd.DataFrame({"who": [1, 2], "seen": [["a", "b"], ["c", "a"]]}))
    assert guess is not None
    assert guess.options == {"path_column": "seen"}
    assert "split" not in guess.reasons[0]


def test_a_semicolon_between_columns(tmp_path) -> None:
    _patients().to_csv(tmp_path / "wards.csv", sep=";", index=False)
    guess = guess_columns(tmp_path / "wards.csv")
    assert guess is not None
    assert guess.options["delimiter"] == ";"
    paths = read_paths(tmp_path / "wards.csv", **guess.options)
    assert len(paths) == 75


def test_without_an_order() -> None:
    table = pd.DataFrame({"user": np.repeat(np.arange(50), 4), "page": RANDOM.choice(list("abc"), 200)})
    guess = guess_columns(table)
    assert guess is not None
    assert guess.options == {"sequence": "user", "entity": "page"}


def test_many_columns_take_no_time_of_note() -> None:
    columns = {f"x{i}": RANDOM.integers(0, 50, 2000) for i in range(60)}
    users = {"user": np.repeat(np.arange(200), 10), "time": np.arange(2000)}
    begun = time.process_time()
    guess = guess_columns(pd.DataFrame({**users, **columns, "page": RANDOM.choice(list("abc"), 2000)}))
    assert guess is not None
    assert guess.options == {"sequence": "user", "order_by": "time", "entity": "page"}
    # A second; every pair of columns looked at value by value, for every third one, took minutes.
    assert time.process_time() - begun < 20


def test_what_is_not_clear() -> None:
    letters = list("abcdefgh")
    table = pd.DataFrame(
        {
            "x": RANDOM.integers(0, 50, 300),
            "y": RANDOM.choice(letters, 300),
            "z": RANDOM.choice(letters, 300),
        }
    )
    guess = guess_columns(table)
    assert guess is not None
    assert not guess.is_clear


def test_nothing_fits() -> None:
    with pytest.raises(InputError, match=r"which columns hold the paths.*there are x, y"):
        guess_columns(pd.DataFrame({"x": [1.5, 2.5], "y": [1, 2]}))


def test_a_header_alone(tmp_path) -> None:
    (tmp_path / "empty.csv").write_text("user,page\n")
    with pytest.raises(InputError, match="a header without rows"):
        guess_columns(tmp_path / "empty.csv")


def test_what_needs_no_columns(tmp_path) -> None:
    (tmp_path / "paths.txt").write_text("A B C\n")
    (tmp_path / "paths.jsonl").write_text('["A", "B"]\n["B", "C"]\n')
    assert guess_columns(tmp_path / "paths.txt") is None
    assert guess_columns(tmp_path / "paths.jsonl") is None
    assert guess_columns([["A", "B"]]) is None
    assert guess_columns(_clicks(), sequence="session_id", entity="url") is None
