from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honlearn.errors import DamageWarning, FormatError, InputError
from honlearn.hon.edgelist import from_edges
from honlearn.results.records import FILE, JsonObjects, digest_of, network_digest, plain
from honlearn.results.runs import read_records


def test_records_are_found_again(tmp_path: Path) -> None:
    run = tmp_path / "new" / "run"
    records = JsonObjects(run)
    for digest in ("a", "b"):
        records.append({"digest": digest, "scores": {"micro_f1": 0.5}, "name": "Zürich\n"})
    again = JsonObjects(run)
    assert len(again) == 2
    assert "a" in again
    assert "c" not in again
    assert again["b"] == records["b"] == {"digest": "b", "scores": {"micro_f1": 0.5}, "name": "Zürich\n"}
    assert [record["digest"] for record in again] == ["a", "b"]


def test_of_equal_digests_the_later_counts(tmp_path: Path) -> None:
    for value in (1, 2):
        JsonObjects(tmp_path).append({"digest": "a", "value": value})
    assert JsonObjects(tmp_path)["a"]["value"] == 2
    assert len(JsonObjects(tmp_path)) == 1


def test_a_line_cut_anywhere_is_dropped_and_written_again(tmp_path: Path) -> None:
    JsonObjects(tmp_path).append({"digest": "a"})
    first = (tmp_path / FILE).read_bytes()
    JsonObjects(tmp_path).append({"digest": "b", "name": "ü"})
    whole = (tmp_path / FILE).read_bytes()
    for cut in range(len(first) + 1, len(whole)):
        (tmp_path / FILE).write_bytes(whole[:cut])
        with pytest.warns(DamageWarning, match="last line was cut short or damaged and is left out"):
            records = JsonObjects(tmp_path)
        assert (len(records), "b" in records) == (1, False)
        records.append({"digest": "b", "name": "ü"})
        assert (tmp_path / FILE).read_bytes() == whole


@pytest.mark.parametrize("line", ['{"digest": "b", "sc{"digest": "c"}', "{", "\0\0\0"])
def test_a_damaged_last_line_is_put_aside_with_a_warning(tmp_path: Path, line: str) -> None:
    whole = '{"digest": "a"}\n'
    (tmp_path / FILE).write_text(f"{whole}{line}\n")
    with pytest.warns(DamageWarning, match=r"records.jsonl: the last line was cut short or damaged"):
        records = JsonObjects(tmp_path)
    assert [record["digest"] for record in records] == ["a"]
    assert (tmp_path / FILE).read_text() == whole
    assert (tmp_path / "records.damaged").read_text() == f"{line}\n"
    records.append({"digest": "b"})
    assert [record["digest"] for record in JsonObjects(tmp_path)] == ["a", "b"]


# The file may grow by half a line, as on a disk that is nearly full; then there is room again.
FULL = """
import resource, sys
from honlearn.errors import InputError
from honlearn.results.records import FILE, JsonObjects
records = JsonObjects(sys.argv[1])
records.append({"digest": "a", "filler": "x" * 100})
limit = records.path.stat().st_size + 50
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
try:
    records.append({"digest": "b", "filler": "x" * 100})
except InputError as error:
    print(error)
assert "b" not in records
resource.setrlimit(resource.RLIMIT_FSIZE, before)
records.append({"digest": "c"})
"""


def test_a_record_that_does_not_fit_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True)
    assert "records.jsonl: cannot be written: File too large; the lines before are kept" in done.stdout
    assert [record["digest"] for record in JsonObjects(tmp_path)] == ["a", "c"]


def test_a_line_that_another_process_left_unfinished_is_not_glued_to_the_next(tmp_path: Path) -> None:
    records = JsonObjects(tmp_path)
    records.append({"digest": "a"})
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"digest": "of a killed proc')
    records.append({"digest": "b"})
    assert [record["digest"] for record in JsonObjects(tmp_path)] == ["a", "b"]


@pytest.mark.parametrize("line", ["{", "[]", '{"no": "digest"}', "null", ""])
def test_damage_before_the_end_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / FILE).write_text(f'{{"digest": "a"}}\n{line}\n{{"digest": "b"}}\n')
    with pytest.raises(FormatError, match=r"records.jsonl:2: not a record of honlearn; remove the line"):
        JsonObjects(tmp_path)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(InputError, match="there is a file of this name; name a folder"):
        JsonObjects(tmp_path / "run")


def test_numbers_that_json_lacks_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        JsonObjects(tmp_path).append({"digest": "a", "score": float("nan")})
    assert not (tmp_path / FILE).exists()


def _append(folder: str, who: int) -> None:
    records = JsonObjects(folder)
    for i in range(30):
        records.append({"digest": f"{who}-{i}", "filler": "x" * 5000})


def test_processes_may_append_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append, args=(str(tmp_path), who)) for who in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert len(JsonObjects(tmp_path)) == 90


@given(
    st.dictionaries(st.text(), st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False))
)
def test_the_digest_survives_json(value: dict[str, object]) -> None:
    assert digest_of(json.loads(json.dumps(value))) == digest_of(value)
    assert digest_of({**value, "another key": 1}) != digest_of({**value, "another key": 2})


def test_the_digest_of_a_network_sees_names_and_weights() -> None:
    hon = from_edges(["a", "b|a"], ["b|a", "c"], [1, 2])
    others = [
        from_edges(["a", "b|a"], ["b|a", "d"], [1, 2]),
        from_edges(["a", "b|a"], ["b|a", "c"], [1, 3]),
        from_edges(["a", "b|a"], ["b|a", "c"], [1.0, 2.5]),
    ]
    assert network_digest(hon) == network_digest(from_edges(["b|a", "a"], ["c", "b|a"], [2, 1]))
    assert len({network_digest(other) for other in (hon, *others)}) == 4


def test_plain_parameters() -> None:
    given_values = {"a": np.float64(0.5), 3: (1, 2), "path": Path("x") / "y", "none": None}
    assert plain(given_values) == {"a": 0.5, "3": [1, 2], "path": str(Path("x") / "y"), "none": None}
    table = pd.DataFrame({"f": [1.0, 2.0]}, index=["a", "b"])
    assert plain(table)["shape"] == [2, 1]
    assert plain(table) != plain(table.set_axis(["a", "c"])) != plain(table * 2)
    assert plain(np.ones((2, 1))) != plain(np.zeros((2, 1)))


def test_a_report_reads_past_a_damaged_last_line_and_changes_nothing(tmp_path: Path) -> None:
    asked = {"model": "m", "input": "gk", "seed": 0, "fold": 0}
    good = json.dumps({"digest": "a", "configuration": asked, "scores": {}}) + "\n"
    for end in ('{"digest": "b", "conf', '{"digest": "b", "sc{"digest": "c"}\n'):
        (tmp_path / FILE).write_text(good + end)
        assert [record.digest for record in read_records(tmp_path)] == ["a"]
        assert (tmp_path / FILE).read_text() == good + end
