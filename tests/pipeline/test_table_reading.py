"""What is read and told: rows, rows left out, entities that no step joins."""

from __future__ import annotations

import pandas as pd
import pytest

from honlearn.errors import InputError
from honlearn.paths.empty_ids import count_empty_ids
from honlearn.paths.paths import Paths
from honlearn.pipeline.reading import read_table

TABLE = pd.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 3, None, 4, 4],
        "time": [1, 2, 3, 1, 2, 1, 1, 1, 2],
        "page": ["a", "b", None, "b", "a", "z", "a", "", "b"],
    }
)


def test_the_summary_adds_up() -> None:
    paths, summary = read_table(TABLE, {})
    assert summary.guess is not None
    assert summary.rows == 9
    assert summary.left_out == {"user": 1, "page": 2}
    assert sum(summary.left_out.values()) + len(paths.codes) == summary.rows
    assert (summary.paths, summary.steps, summary.entities) == (4, 2, 3)
    assert summary.alone == ("z",)
    text = "\n".join(summary.lines())
    assert "1 without 'user', 2 without 'page'" in text
    assert "1 entity occurs only in paths of one entity and is not in the network: z" in text


def test_a_row_that_lacks_two_ids_counts_once() -> None:
    table = pd.DataFrame({"user": [None, 1], "page": [None, "a"]})
    assert count_empty_ids(table, sequence="user", entity="page").by_column == {"user": 1}


def test_an_error_where_it_is_asked_for() -> None:
    with pytest.raises(InputError, match="on_empty"):
        read_table(TABLE, {"on_empty": "error"})


def test_a_guess_is_confirmed_or_refused() -> None:
    asked = []
    read_table(TABLE, {}, lambda guess: asked.append(guess) or True)
    assert len(asked) == 1
    with pytest.raises(InputError, match=r"the columns are not clear; the guess is --sequence user"):
        read_table(TABLE, {}, lambda guess: False)


def test_paths_are_taken_as_they_are() -> None:
    given = Paths.from_lists([["A", "B"], ["C"]], counts=[3, 2])
    paths, summary = read_table(given, {})
    assert paths is given
    assert (summary.paths, summary.steps, summary.alone) == (5, 3, ("C",))


def test_no_path_of_two() -> None:
    with pytest.raises(InputError, match="no path has two entities"):
        read_table([["A"], ["B"]], {})


def test_rows_that_are_there_twice_are_told() -> None:
    rows = [
        (1, 1, "a"),
        (1, 2, "b"),
        (1, 2, "b"),
        (2, 1, "b"),
        (2, 1, "a"),
        (3, 1, "a"),
        (4, 1, "a"),
        (4, 2, "b"),
    ]
    table = pd.DataFrame(rows, columns=["user", "time", "page"])
    _, summary = read_table(table, {"sequence": "user", "order_by": "time", "entity": "page"})
    assert summary.tied == (1, 1)
    text = "\n".join(summary.lines())
    assert "1 row repeats the path, the 'time' and the entity of another row" in text
    assert "1 row has the 'time' of another row" in text
    _, summary = read_table(
        table, {"sequence": "user", "order_by": "time", "entity": "page", "drop_repeats": True}
    )
    assert summary.tied == (1, 0)


@pytest.mark.parametrize(("mark", "typed"), [(",", "','"), (";", "';'"), ("\t", "tab"), (">", "'>'")])
def test_lines_that_are_not_split_name_the_mark(tmp_path, mark, typed) -> None:
    (tmp_path / "p.txt").write_text(f"a{mark}b\nb{mark}c\n")
    with pytest.raises(InputError, match=f"no path has two entities.*--delimiter {typed}"):
        read_table(tmp_path / "p.txt", {})


def test_marks_that_were_read_as_entities(tmp_path) -> None:
    (tmp_path / "commas.txt").write_text("a, b, c\nb, c\n")
    with pytest.raises(InputError, match=r"entities such as 'a,' end in ','.*--delimiter ', '"):
        read_table(tmp_path / "commas.txt", {})
    (tmp_path / "arrows.txt").write_text("a > b > c\nb > c\n")
    with pytest.raises(InputError, match=r"'>' is read as an entity.*--delimiter ' > '"):
        read_table(tmp_path / "arrows.txt", {})
    paths, _ = read_table(tmp_path / "arrows.txt", {"delimiter": " > "})
    assert list(paths) == [("a", "b", "c"), ("b", "c")]
    # Punctuation is a word of its own in texts.
    (tmp_path / "words.txt").write_text("well , he said - and left\nso it goes\n")
    assert len(read_table(tmp_path / "words.txt", {})[0]) == 2


def test_rows_that_nothing_orders_are_told() -> None:
    table = pd.DataFrame(
        {"user": [1, 1, 1, 2, 2, 3], "time": [5, 5, 6, 6, 6, 6], "page": ["a", "b", "a", "b", "b", "a"]}
    )
    paths, summary = read_table(table, {"sequence": "user", "order_by": "time", "entity": "page"})
    assert summary.tied == (1, 1)  # of user 1; the two of user 2 are alike, and users do not meet
    assert next(iter(paths)) == ("a", "b", "a")
    assert "1 row has the 'time' of another row of the same path" in "\n".join(summary.lines())
    assert read_table(table, {"sequence": "user", "entity": "page"})[1].tied == (0, 0)


def test_steps_that_stay_are_told() -> None:
    paths = Paths.from_lists([["A", "A", "B"], ["B"], [], ["B", "A", "A"]], counts=[3, 1, 1, 2])
    _, summary = read_table(paths, {})
    assert (summary.repeats, summary.steps) == (5, 10)
    assert "50% of the steps stay at the entity where they are" in "\n".join(summary.lines())
    _, once = read_table([["A", "A", "B", "A", "B", "A", "B"]], {})
    assert once.repeats == 1
    assert "stay at" not in "\n".join(once.lines())


def test_seconds_and_milliseconds_in_one_column_are_refused() -> None:
    seconds = [1_714_097_729, 1_714_097_800, 1_714_097_900, 1_714_098_000]
    table = pd.DataFrame({"user": [1, 1, 2, 2], "time": seconds, "page": ["a", "b", "b", "a"]})
    columns = {"sequence": "user", "order_by": "time", "entity": "page"}
    assert read_table(table, columns)[1].tied == (0, 0)
    table.loc[1, "time"] *= 1000
    with pytest.raises(InputError, match=r"1714097800000 \(column 'time'\) is no unix time in seconds"):
        read_table(table, columns)
