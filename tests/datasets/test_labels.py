"""Labels from CSV files: which column, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from honlearn.datasets import read_labels
from honlearn.errors import FormatError, InputError, MissingFileError


@pytest.fixture
def labels_of(tmp_path: Path):  # type: ignore[no-untyped-def]
    def read(text: str, column: str | None = None) -> dict[str, str]:
        file = tmp_path / "labels.csv"
        file.write_bytes(text.encode())
        return read_labels(file, column)

    return read


def test_any_case_any_place_and_text_stays_text(labels_of) -> None:  # type: ignore[no-untyped-def]
    assert labels_of(",name,Label\n01,a,NA\nNA,b,2\n") == {"01": "NA", "NA": "2"}
    assert labels_of("\ufeffnode,LABEL\r\nx,1\r\n\r\ny,2\r\n") == {"x": "1", "y": "2"}


def test_quotes_commas_and_unicode(labels_of) -> None:  # type: ignore[no-untyped-def]
    assert labels_of('node,label\n"a ""b"", c",Ünï\n') == {'a "b", c': "Ünï"}


def test_a_named_column(labels_of) -> None:  # type: ignore[no-untyped-def]
    text = "node,label,topic\nx,1,art\n"
    assert labels_of(text, "topic") == {"x": "art"}
    assert labels_of(text, "Topic") == {"x": "art"}


def test_an_empty_label_is_no_label(labels_of) -> None:  # type: ignore[no-untyped-def]
    assert labels_of("node,label\nx,1\ny,\n") == {"x": "1"}


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("node,lable\nx,1\n", None, r"no single column 'label' among 'node', 'lable'; did you mean 'lable'"),
        ("node,label\nx,1\n", "topic", r"no single column 'topic'"),
        ("node,label\nx,1\nx,2\n", None, r"labels\.csv:3: node 'x' is labelled '2' here and '1' before"),
        ("node,label\n,1\n", None, r"labels\.csv:2: empty node id in column 'node'"),
        ("node,label\nx\n", None, r"labels\.csv:2: 1 columns where the header has 2"),
        ("node,label\n", None, r"no label in column 'label'"),
        ("node\nx\n", None, r"at least two columns"),
        ('node,label\n"x,1\n', None, r"not a CSV"),
    ],
)
def test_what_is_refused(labels_of, text: str, column: str | None, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        labels_of(text, column)


def test_missing_and_undecodable_files(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.csv: no such file"):
        read_labels(tmp_path / "none.csv")
    (tmp_path / "latin.csv").write_bytes("node,label\nÅ,1\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"latin\.csv: not UTF-8"):
        read_labels(tmp_path / "latin.csv")
