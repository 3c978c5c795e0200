"""Guessed columns: the tables of several fields, and what is not clear."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from honlearn.errors import InputError
from honlearn.paths import guess as guess_module
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
    with pytest.raises(InputError, match=r"Perhaps --sequence patient .* --delimiter ';'\. Give"):
        read_paths(tmp_path / "wards.csv")


def test_a_semicolon_between_the_columns_of_paths(tmp_path) -> None:
    (tmp_path / "paths.csv").write_text("path;count\na>b>c;3\nb>c;2\n")
    guess = guess_columns(tmp_path / "paths.csv")
    assert guess.options == {"path_column": "path", "delimiter": ">", "count_column": "count"}
    paths = read_paths(tmp_path / "paths.csv", **guess.options)
    assert (list(paths), paths.total) == ([("a", "b", "c"), ("b", "c")], 5)
    (tmp_path / "one.csv").write_text("a;b\nx y\ny z\n")  # one column, whose name holds the mark
    assert list(read_paths(tmp_path / "one.csv", path_column="a;b")) == [("x", "y"), ("y", "z")]


def test_without_an_order() -> None:
    table = pd.DataFrame({"user": np.repeat(np.arange(50), 4), "page": RANDOM.choice(list("abc"), 200)})
    guess = guess_columns(table)
    assert guess is not None
    assert guess.options == {"sequence": "user", "entity": "page"}


def test_many_columns_are_compared_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    together = guess_module.together
    monkeypatch.setattr(guess_module, "together", lambda *both: compared.append(both) or together(*both))
    columns = {f"x{i}": RANDOM.integers(0, 50, 2000) for i in range(60)}
    users = {"user": np.repeat(np.arange(200), 10), "time": np.arange(2000)}
    guess = guess_columns(pd.DataFrame({**users, **columns, "page": RANDOM.choice(list("abc"), 2000)}))
    assert guess is not None
    assert guess.options == {"sequence": "user", "order_by": "time", "entity": "page"}
    # As an order and as entities; again for every third column it would be a quarter of a million.
    assert 0 < len(compared) <= 2 * 63**2


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


def _visits(times: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "Fall": np.repeat([f"F{i}" for i in range(20)], 3),
            "Datum": np.resize(times, 60),
            "Station": RANDOM.choice(["Aufnahme", "Intensiv", "Chirurgie"], 60),
        }
    )


def test_times_of_another_form(tmp_path) -> None:
    """A table as German spreadsheets save it: semicolons, decimal commas, 31.12.2024 23:59."""
    table = _visits(["30.12.2024 23:59", "31.12.2024 00:10", "01.01.2025 08:00"])
    table["Dauer"] = np.resize(["1,5", "20,25", "3,0", "7,75"], 60)
    table.to_csv(tmp_path / "stays.csv", sep=";", index=False, encoding="utf-8-sig")
    guess = guess_columns(tmp_path / "stays.csv")
    assert guess is not None
    assert guess.options == {
        "sequence": "Fall",
        "order_by": "Datum",
        "time_format": "%d.%m.%Y %H:%M",
        "entity": "Station",
        "delimiter": ";",
    }
    assert guess.is_clear
    found = list(read_paths(tmp_path / "stays.csv", **guess.options))
    assert found == [tuple(table.Station[i : i + 3]) for i in range(0, 60, 3)]


def test_day_or_month() -> None:
    with pytest.raises(InputError, match=r"of the form '%d/%m/%Y' or '%m/%d/%Y'\? Name it.*--sequence Fall"):
        guess_columns(_visits(["01/02/2024", "03/02/2024"]))
    guess = guess_columns(_visits(["01/02/2024", "13/02/2024"]))
    assert guess is not None
    assert guess.options["time_format"] == "%d/%m/%Y"


def test_a_column_of_times_in_several_forms_is_the_order_still() -> None:
    guess = guess_columns(_visits(["2024-05-31T08:00:00Z", "1717142400", "1717142400000"]))
    assert guess is not None
    assert guess.options["order_by"] == "Datum"


@pytest.mark.parametrize(("name", "mark"), [("route", ", "), ("route", ","), ("seen", "; "), ("seen", " > ")])
def test_marks_between_entities(name: str, mark: str) -> None:
    rows = [["A x", "B", "C"], ["B", "C"], ["C", "A x", "B"]]
    guess = guess_columns(pd.DataFrame({"id": [1, 2, 3], name: [mark.join(row) for row in rows]}))
    assert guess is not None
    assert guess.options == {"path_column": name, "delimiter": mark}
    table = pd.DataFrame({name: [mark.join(row) for row in rows]})
    assert list(read_paths(table, **guess.options)) == [tuple(row) for row in rows]


def test_titles_are_no_paths() -> None:
    titles = RANDOM.choice(["Home - Shop > All", "Cart - Shop > All", "Pay - Shop > All"], 300)
    guess = guess_columns(_clicks().drop(columns="url").assign(title=titles))
    assert guess is not None
    assert guess.options["entity"] == "title"


def test_lists_as_text() -> None:
    for texts in (['["a", "b"]', '["c", "a"]'], ["['a', 'b']", "['c', 'a']"]):
        with pytest.raises(InputError, match=r"column 'pages' holds lists written as text, such as \["):
            guess_columns(pd.DataFrame({"id": [1, 2], "pages": texts}))


def test_one_column_per_step() -> None:
    table = pd.DataFrame({f"step{i}": RANDOM.choice(list("abc"), 50) for i in range(1, 5)})
    for given in (table, table.assign(user=RANDOM.permutation(50))):
        guess = guess_columns(given)
        assert guess is not None
        assert guess.options == {"step_columns": "step*"}
        assert guess.reasons == ("'step1' to 'step4' hold the steps of a path in each row",)


def test_a_header_that_is_a_row(tmp_path) -> None:
    (tmp_path / "t.csv").write_text("a,b,b\nb,c,a\nc,a,b\n")
    with pytest.raises(
        InputError, match="Its header looks like a row; is a line with the names of the columns"
    ):
        guess_columns(tmp_path / "t.csv")


def test_two_columns_of_one_name(tmp_path) -> None:
    (tmp_path / "twice.csv").write_text("id,time,page,page\n1,1,a,x\n1,2,b,y\n2,1,b,y\n2,2,a,x\n")
    with pytest.raises(InputError, match="2 columns are called 'page'; rename all but one"):
        guess_columns(tmp_path / "twice.csv")


def test_movements_are_no_events() -> None:
    ports = ["A", "B", "C"]
    table = pd.DataFrame(
        {"origin": RANDOM.choice(ports, 90), "destination": RANDOM.choice(ports, 90), "departure": TIMES[:90]}
    )
    with pytest.raises(InputError, match="--source-column origin --target-column destination --order-by dep"):
        guess_columns(table)
    numbered = table.drop(columns="departure").assign(time=RANDOM.integers(0, 20, 90))
    with pytest.raises(InputError, match="--target-column destination --order-by time"):
        guess_columns(numbered)
    ends = table[["origin", "destination"]]
    for edges in (ends, ends.assign(weight=RANDOM.integers(1, 9, 90))):
        with pytest.raises(InputError, match=r"looks like the edges of a network, .* hl\.from_edges"):
            guess_columns(edges)
    guess = guess_columns(table.assign(ship=np.repeat(np.arange(30), 3)))
    assert guess is not None
    assert guess.options["entity"] == "origin"
    assert "'destination' is not read" in guess.reasons[-1]


def test_json_lines_with_lists_and_other_values(tmp_path) -> None:
    (tmp_path / "paths.jsonl").write_text('{"id": 1, "pages": ["a", "b"]}\n{"id": 2, "pages": ["b", "c"]}\n')
    guess = guess_columns(tmp_path / "paths.jsonl")
    assert guess is not None
    assert guess.options == {"path_column": "pages"}
    event = '{{"user": {}, "t": {}.5, "page": "{}", "price": 9.99, "device": {{"kind": "phone"}}}}\n'
    (tmp_path / "clicks.jsonl").write_text(
        "".join(event.format(user, t, page) for user in (1, 2, 3) for t, page in enumerate("abc"))
    )
    guess = guess_columns(tmp_path / "clicks.jsonl")
    assert guess is not None
    assert guess.options == {"sequence": "user", "order_by": "t", "entity": "page"}


def test_a_tab_is_typed_as_its_name(tmp_path) -> None:
    _patients().to_csv(tmp_path / "wards.csv", sep="\t", index=False)
    guess = guess_columns(tmp_path / "wards.csv")
    assert guess is not None
    assert guess.flags().endswith("--delimiter tab")


def test_a_reader_without_columns_shows_the_guess(tmp_path) -> None:
    _patients().to_csv(tmp_path / "wards.csv", index=False)
    with pytest.raises(
        InputError, match=r"Perhaps --sequence patient --order-by admitted --entity ward\. Give sequence"
    ):
        read_paths(tmp_path / "wards.csv")


def test_labels_are_no_paths(tmp_path) -> None:
    (tmp_path / "labels.csv").write_text("node,label\n" + "".join(f"n{i},{'ab'[i % 2]}\n" for i in range(30)))
    with pytest.raises(InputError, match="Column 'label' is of labels, which come after the table of paths"):
        guess_columns(tmp_path / "labels.csv")


def test_a_table_in_memory_is_told_the_columns_as_python_has_them() -> None:
    rows = [
        (user, time, page) for user in range(20) for time, page in enumerate(RANDOM.choice(list("abc"), 4))
    ]
    with pytest.raises(InputError, match="Perhaps sequence='user', order_by='time', entity='page'"):
        read_paths(pd.DataFrame(rows, columns=["user", "time", "page"]))
