from __future__ import annotations

import re
from pathlib import Path

import pytest

from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.labels import none_known, read_labels


def write(folder: Path, text: str) -> Path:
    path = folder / "labels.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "node,label\nA,x\nB,y z\n",
        ",name,LABEL\nA,first,x\nB,second,y z\n",
        '\ufeffID, Label\r\n"A",x\r\nB,"y z"\r\n',
        "node,label\nA,x\n\nB,y z\nC,\nD, \nA,x\n",
        "node,Label,label\nA,no,x\nB,no,y z\n",
    ],
    ids=[
        "plain",
        "unnamed first column",
        "bom and quotes",
        "blank, unlabelled and repeated rows",
        "exact name wins",
    ],
)
def test_first_column_and_label_column(tmp_path: Path, text: str) -> None:
    assert read_labels(write(tmp_path, text)) == (["A", "B"], ["x", "y z"])


def test_another_column_and_another_delimiter(tmp_path: Path) -> None:
    path = write(tmp_path, "node,region,label\nA,1,x\n")
    assert read_labels(path, "region") == (["A"], ["1"])
    (tmp_path / "labels.tsv").write_text("node\tlabel\nA, B\tx\n")
    assert read_labels(tmp_path / "labels.tsv") == (["A, B"], ["x"])


def test_the_only_other_column_is_of_the_classes(tmp_path: Path) -> None:
    assert read_labels(write(tmp_path, "page,kind\nA,x\nB,y\n")) == (["A", "B"], ["x", "y"])
    assert read_labels(write(tmp_path, "kind;page\nx;A\ny;B\n"), None, "page") == (["A", "B"], ["x", "y"])
    # A class may be called like the column that is named.
    assert read_labels(write(tmp_path, "page,label\nA,label\n")) == (["A"], ["label"])


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "labels.csv: empty; expected a header such as: node,label"),
        (
            "node,labels,n\nA,x,1\n",
            None,
            "no column 'label' after the first, which is the node; there are 'node', 'labels', 'n'",
        ),
        ("node,labels,n\nA,x,1\n", None, "did you mean 'labels'?"),
        ("node,label\nA,x\n", "regoin", "no column 'regoin'"),
        ("node,x\nA,x\nB,x\n", None, "labels.csv:1: 'x' is a class, so a header is missing"),
        ("label,class\nA,x\n", None, "no column 'label' after the first"),
        ("node,Label,LABEL\nA,x,y\n", None, "2 columns are called label"),
        (
            "node,label\nA,x\nB,x\nA,y\n",
            None,
            "labels.csv:4: node 'A' is 'y' here and 'x' above; give it one class",
        ),
        ("node,label\n,x\n", None, "labels.csv:2: empty node"),
        ("node,label\nA,x\nB\n", None, "labels.csv:3: 1 fields, but the header has 2"),
        ("node,label\nA,\n", None, "no node has a label"),
        ('node,label\nA,"x\n', None, "not CSV"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str, column: str | None, message: str) -> None:
    with pytest.raises(FormatError, match=re.escape(message)):
        read_labels(write(tmp_path, text), column)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    write(tmp_path, "node,label\nA,x\n")
    with pytest.raises(MissingFileError, match=r"label.csv: no such file; did you mean 'labels.csv'\?"):
        read_labels(tmp_path / "label.csv")
    with pytest.raises(InputError, match="is a folder; name a CSV file"):
        read_labels(tmp_path)
    (tmp_path / "labels.csv").write_bytes(b"node,label\nA,x\nB,\xff\n")
    with pytest.raises(FormatError, match=r"labels.csv:3: not UTF-8"):
        read_labels(tmp_path / "labels.csv")


def test_white_space_around_a_class_is_no_part_of_it(tmp_path: Path) -> None:
    path = write(tmp_path, "node,label\nA,a\nB,a \nC,\ta\nB,a\nD,b c\n")
    with pytest.warns(UserWarning, match=r"labels\.csv:3: the class 'a ' is read as 'a', without.*: 2\)"):
        nodes, classes = read_labels(path)
    assert (nodes, classes) == (["A", "B", "C", "D"], ["a", "a", "a", "b c"])


def test_lines_may_end_in_a_carriage_return_and_must_end(tmp_path: Path) -> None:
    assert read_labels(write(tmp_path, "node,label\rA,x\rB,y\r")) == (["A", "B"], ["x", "y"])
    with pytest.raises(
        FormatError, match=r"labels\.csv:2: a line of over 16,777,216 characters; is it a CSV"
    ):
        read_labels(write(tmp_path, "node,label\n" + "A" * (1 << 24)))


def test_several_classes_in_a_field_are_told(tmp_path: Path) -> None:
    pairs = [f"n{i},{a};{b}" for i, (a, b) in enumerate((a, b) for a in "ABC" for b in "xyz")]
    path = write(tmp_path, "node,label\n" + "\n".join(pairs))
    with pytest.warns(UserWarning, match=r"each node has one class, so 'A;x' is a class of its own"):
        assert len(set(read_labels(path)[1])) == 9
    # Names that hold the mark are no lists.
    read_labels(write(tmp_path, "node,label\nA,well; known\nB,far; away\n"))


def test_all_words_for_a_missing_class_are_told(tmp_path: Path) -> None:
    path = write(tmp_path, "node,label\nA,x\nB,NaN\nC,null\nD,NaN\n")
    with pytest.warns(UserWarning, match=r"'NaN' and 'null' are taken as a class \(nodes that have it: 3\)"):
        read_labels(path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("labels.xlsx", "is a spreadsheet; save the sheet as CSV"),
        ("labels.parquet", "labels are read from CSV, after the paths or the network"),
        ("net.hon", "labels are read from CSV, after the paths or the network"),
    ],
)
def test_files_that_are_no_csv(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).write_bytes(b"PK\x03\x04\xff")
    with pytest.raises(FormatError, match=message):
        read_labels(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        (
            ",ward,kind\n0,A,x\n1,B,y\n",
            {},
            "as the index that pandas saves: if it is that, set --node-column",
        ),
        (
            "kind,ward\nx,A\ny,B\n",
            {"label_column": "kind"},
            r"no column 'kind' .*set --node-column, such as --nod",
        ),
        (
            "kind,home ward\nx,A\nx,B\n",
            {},
            "if 'home ward' is the column of nodes, pass --node-column 'home ward' --label-column kind",
        ),
        ("node,kind\nA,x\nA,y\nB,x\n", {}, "give it one class$"),  # classes that recur are no names
    ],
)
def test_another_column_may_be_that_of_the_nodes(
    tmp_path: Path, text: str, columns: dict[str, str], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        read_labels(write(tmp_path, text), **columns)


@pytest.mark.parametrize(
    ("nodes", "text", "message"),
    [
        (
            "01",
            ",ward,kind\n0,A,x\n1,B,y\n",
            "its entities 'A', 'B'; column 'ward' holds them: pass --node-col",
        ),
        (["a"], "node,kind\na,x\n", "'a' is 'A'; spell them alike in both$"),
        (["x"], "node,kind\nx,y\n", "; the first column must hold them"),
    ],
)
def test_labels_of_no_entity_tell_what_to_do(
    tmp_path: Path, nodes: list[str], text: str, message: str
) -> None:
    assert re.search(message, str(none_known(nodes, ["A", "B"], write(tmp_path, text))))


def test_numbers_that_lost_their_zeros_tell_how_to_keep_them() -> None:
    assert str(none_known(["1"], ["001"])).endswith("(pandas keeps 007 where it reads with dtype=str)")
