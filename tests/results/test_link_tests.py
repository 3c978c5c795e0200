"""Test pairs kept with a run: the same again, and nothing else is believed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from honlearn.errors import FormatError
from honlearn.results.link_tests import LinkTest, keep_test, read_test
from honlearn.results.records import digest_of

TEST = LinkTest((("a", "b"), ("c", "d"), ("é|", "f")), ("linked", "uniform", "degree"))


def file_of(run: Path, test: LinkTest = TEST) -> Path:
    return run / "test_pairs" / f"{test.digest}.json"


def test_what_was_kept_is_read(tmp_path: Path) -> None:
    assert read_test(tmp_path, TEST.digest) is None
    keep_test(tmp_path, TEST)
    before = file_of(tmp_path).stat().st_mtime_ns
    keep_test(tmp_path, TEST)
    assert file_of(tmp_path).stat().st_mtime_ns == before
    assert read_test(tmp_path, TEST.digest) == TEST
    assert TEST.of_kind("uniform") == (("c", "d"),)


def test_uniform_tests_are_named_as_in_older_records() -> None:
    pairs = [("a", "b"), ("c", "d")]
    assert LinkTest(tuple(pairs), ("linked", "uniform")).digest == digest_of(pairs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "JSON"),
        ("[]", "a JSON object was expected"),
        ('{"linked": [["a", "b"]], "other": []}', "'other' is not known"),
        ('{"linked": [["a", "b", "c"]]}', "'linked' must be pairs of names"),
        ('{"linked": [["a", 1]]}', "'linked' must be pairs of names"),
        ('{"linked": "ab"}', "must be a list"),
        ('{"linked": [["a", "c"]]}', "its pairs are not those that the records name"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    keep_test(tmp_path, TEST)
    file_of(tmp_path).write_text(content)
    for read in (lambda: read_test(tmp_path, TEST.digest), lambda: keep_test(tmp_path, TEST)):
        with pytest.raises(FormatError, match=message):
            read()


def test_a_digest_leads_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"linked": [["a", "b"]]}))
    assert read_test(tmp_path / "run", "../x") is None
