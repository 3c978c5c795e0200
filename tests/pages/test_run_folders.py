"""Run folders, read for a page of results: facts and records of other types are told with their file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from honlearn.errors import FormatError
from honlearn.pages.run_folders import gather, read_runs, without_folders
from honlearn.results.records import FILE

RECORD: dict[str, Any] = {
    "digest": "a1",
    "configuration": {
        "task": "nodes",
        "model": "gcn",
        "input": "g1",
        "seed": 0,
        "folds": "stratified 5",
        "fold": 0,
        "parameters": {"width": 8},
        "data": {"network": "n", "labels": "l", "test": "t"},
    },
    "scores": {"micro_f1": 0.5},
    "sizes": {"train": 8, "test": 2},
    "times": {"fit_seconds": 1.0, "fit_cpu_seconds": 1.0},
    "versions": {"honlearn": "0.1.0"},
}


def written(folder: Path, record: dict[str, Any], about: str = '{"data": "air"}') -> list[str]:
    (folder / FILE).write_text(json.dumps(record) + "\n", "utf-8")
    (folder / "run.json").write_text(about, "utf-8")
    return [str(folder)]


def test_a_whole_record_gives_results_of_its_model(tmp_path: Path) -> None:
    [results] = gather(read_runs(written(tmp_path, RECORD)))
    assert (results.data, [one.model for one in results.models]) == ("air", ["gcn"])


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("configuration", r":1: .*'configuration' is not there"),
        ("scores", r":1: .*'scores' is not there"),
        ("sizes", ": a1: 'sizes': 'train' is not there"),
        ("times", ": a1: 'times': 'fit_seconds' is not there"),
        ("versions", ": a1: 'versions' is not there"),
    ],
)
def test_records_that_lack_a_part_are_told(tmp_path: Path, part: str, told: str) -> None:
    record = {name: value for name, value in RECORD.items() if name != part}
    with pytest.raises(FormatError, match=rf"records\.jsonl{told}"):
        read_runs(written(tmp_path, record))


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("configuration", "folds"),
        ("data", "network"),
        ("data", "test"),
        ("scores", "micro_f1"),
        ("sizes", "test"),
        ("times", "fit_cpu_seconds"),
    ],
)
def test_records_that_lack_a_value_are_told(tmp_path: Path, part: str, name: str) -> None:
    record = json.loads(json.dumps(RECORD))
    del (record["configuration"]["data"] if part == "data" else record[part])[name]
    with pytest.raises(FormatError, match=rf"records\.jsonl: a1: '{part}': '{name}' is not there"):
        read_runs(written(tmp_path, record))


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ("[]", "a JSON object was expected"),
        ('{"data": 7}', "'data' must be text"),
        ('{"commands": "evaluate"}', "'commands' must be a list of texts"),
        ('{"machine": "fast"}', "'machine' must be a JSON object"),
        ("[" * 100_000, "nested too deep"),
        ('{"data": NaN}', "NaN is not a number of JSON"),
    ],
)
def test_facts_of_other_types_are_told(tmp_path: Path, about: str, told: str) -> None:
    with pytest.raises(FormatError, match=rf"run\.json: .*{told}"):
        read_runs(written(tmp_path, RECORD, about))


def test_a_command_with_a_quote_that_does_not_end_stays_as_it_is() -> None:
    assert without_folders("honlearn evaluate 'a/b") == "honlearn evaluate 'a/b"
