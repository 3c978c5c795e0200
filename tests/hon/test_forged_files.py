"""Files with right checksums and wrong contents: an error of ours refuses each, none ends the process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from forged_files import forge, outcomes, unpack, with_header
from network_cases import network

from honlearn.errors import FormatError, InputError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.formats import load_network
from honlearn.hon.formats.growhon import MARK
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import ContextStatistics, GrowParameters
from honlearn.tasks.link_split import hide_pairs

FAR = 2**63 - 1


@pytest.fixture
def grown() -> HigherOrderNetwork:
    """Entities A … E, nodes C|A, C|B, D|C, D|C|A: 9 nodes, 7 edges."""
    source = ["A", "B", "C", "C|A", "C|B", "D|C", "D|C|A"]
    target = ["C|A", "C|B", "D|C", "D|C|A", "E", "E", "E"]
    hon = from_edges(source, target, [3, 1, 4, 3, 1, 3, 3])
    known = ContextStatistics(np.full(4, 3), np.full(4, 0.5), np.full(4, 0.1), np.zeros(4, bool))
    arrays = (hon.gram_offsets, hon.grams, hon.indptr, hon.indices, hon.weights)
    assert hon.gram_offsets.tolist() == [0, 1, 2, 3, 4, 5, 7, 9, 11, 14]
    assert hon.grams.tolist() == [0, 1, 2, 3, 4, 2, 0, 2, 1, 3, 2, 3, 2, 0]
    assert hon.indptr.tolist() == [0, 1, 2, 3, 3, 3, 4, 5, 6, 7]
    return HigherOrderNetwork(hon.vocabulary, *arrays, known, GrowParameters(2, 0.1, 3))


def _names(*names: bytes) -> dict[str, Any]:
    ends = np.cumsum([0, *map(len, names)])
    return {"names": np.frombuffer(b"".join(names), np.uint8), "name_offsets": ends}


# Differences of these offsets wrap and look as if they were small and positive.
ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "edges wrap": ({"indptr": [0, FAR, -2, 3, 3, 3, 4, 5, 6, 7]}, "'indptr' is not valid: offsets must not"),
    "edges wrap late": ({"indptr": [0, 1, 2, 3, 3, 3, 4, FAR, -2, 7]}, "'indptr' is not valid: offsets must"),
    "edges are negative": (
        {"indptr": [0, -8, 2, 3, 3, 3, 4, 5, 6, 7]},
        "'indptr' is not valid: offsets must",
    ),
    "edges are beyond": ({"indptr": [0, 1, 2, 3, 3, 3, 4, 9, 6, 7]}, "'indptr' is not valid: offsets must"),
    "grams wrap": (
        {"gram_offsets": [0, 1, 2, 3, 4, 5, FAR, -4, 11, 14]},
        "'gram_offsets' is not valid: offs",
    ),
    "names wrap": ({"name_offsets": [0, FAR, -2, 3, 4, 5]}, "'name_offsets' is not valid: offsets must not"),
    "no name offsets": ({"name_offsets": []}, "'name_offsets' is not valid: offsets must run from 0 to 5"),
    "no gram offsets": ({"gram_offsets": []}, "'gram_offsets' is not valid: offsets must run from 0 to 14"),
    "a name twice": (_names(b"A", b"B", b"B", b"D", b"E"), "names must be distinct and sorted"),
    "names unsorted": (_names(b"B", b"A", b"C", b"D", b"E"), "names must be distinct and sorted"),
    "signed order": (_names("é".encode(), b"B", b"C", b"D", b"E"), "names must be distinct and sorted"),
    "an empty name": (_names(b"", b"B", b"C", b"D", b"E"), "a name is empty"),
    "a separator": (_names(b"A", b"B", b"C", b"C|A", b"E"), "a name contains '|'"),
    "not UTF-8": (_names(b"A", b"B", b"C", b"D", b"\xff"), "names must be UTF-8"),
    "half a character": (_names(b"A", b"B", b"C", b"\xc3", b"\xa9"), "in the middle of a character"),
    "a node twice": (
        {"grams": [0, 1, 2, 3, 4, 2, 0, 2, 0, 3, 2, 3, 2, 0]},
        "nodes must be distinct and sort",
    ),
    "nodes unsorted": ({"grams": [0, 1, 2, 3, 4, 2, 1, 2, 0, 3, 2, 3, 2, 0]}, "nodes must be distinct and s"),
    "bases unsorted": ({"grams": [0, 1, 2, 3, 4, 3, 0, 2, 1, 3, 2, 3, 2, 0]}, "nodes must be distinct and s"),
    "longer before shorter": (
        {"grams": [0, 1, 2, 3, 4, 2, 0, 2, 1, 3, 2, 0, 3, 2], "gram_offsets": [*range(6), 7, 9, 12, 14]},
        "nodes must be distinct and sorted",
    ),
    "an entity beyond": (
        {"grams": [0, 1, 2, 3, 4, 2, 0, 2, 1, 3, 9, 3, 2, 0]},
        "values from 0 to 9, expected",
    ),
    "an entity below": (
        {"grams": [0, 1, 2, 3, 4, 2, 0, 2, 1, 3, -1, 3, 2, 0]},
        "values from -1 to 4, expect",
    ),
    "a target beyond": ({"indices": [5, 6, 7, 8, 4, 4, 2**31 - 1]}, "'indices' is not valid: values from 4"),
    "a target below": ({"indices": [5, 6, 7, 8, 4, 4, -1]}, "'indices' is not valid: values from -1"),
    "weights overflow": ({"weights": [2**62] * 7}, "all weights add up to more than 9.2e+18"),
    "one weight overflows": ({"weights": [FAR, 1, 1, 1, 1, 1, 1]}, "all weights add up to more than 9.2e+18"),
    "large weights": ({"weights": np.full(7, 1e308)}, "all weights add up to more than 9.2e+18; divide"),
    "a small weight": ({"weights": np.array([1, 1, 1, 1, 1, 1, 5e-324])}, "below 2.2e-19; multiply"),
    "NaN": (
        {"weights": np.array([1, 1, 1, np.nan, 1, 1, 1])},
        "every weight must be a finite number above 0",
    ),
    "infinity": ({"weights": np.array([1, 1, 1, np.inf, 1, 1, 1])}, "every weight must be a finite number"),
    "no weight": ({"weights": [3, 1, 4, 3, 1, 3, 0]}, "every weight must be a finite number above 0"),
    "never seen": ({"frequency": [3, 3, 3, -1]}, "a frequency of -1"),
    "bits": ({"divergence": [0.5, 0.5, 0.5, 1e308]}, "a divergence of more than 1000 bits"),
    "a half statistic": ({"threshold": None}, "of the statistics, only frequency, divergence, by_extension"),
    "a flag of 7": ({"by_extension": np.array([0, 0, 0, 7], np.uint8).view(bool)}, "'by_extension' holds 7"),
    "a long node": (
        {
            "gram_offsets": [0, 1, 2, 3, 4, 5, 7, 9, 11, 1100],
            "grams": [0, 1, 2, 3, 4, *[2, 0, 2, 1, 3], *[2] * 1090],
        },
        "a node of 1,089 entities; there may be at most 1,000",
    ),
}


def test_forged_arrays_are_refused(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    """In one child process: a compiled loop that is sent astray ends it."""
    paths = []
    for number, (arrays, _) in enumerate(ARRAYS.values()):
        paths.append(tmp_path / f"{number}.hon")
        grown.save(paths[-1])
        forge(paths[-1], arrays)
    found = dict(zip(ARRAYS, outcomes(paths), strict=True))
    wrong = {
        name: (found[name], message)
        for name, (_, message) in ARRAYS.items()
        if not re.match(rf"FormatError: .*\.hon: the file is damaged: .*{re.escape(message)}", found[name])
    }
    assert not wrong


def test_the_forger_changes_nothing_unasked(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    forge(tmp_path / "net.hon")
    assert load_network(tmp_path / "net.hon") == grown
    assert outcomes([tmp_path / "net.hon"]) == ["fine"]


def _deep(text: str) -> bytes:
    return text.replace("DEEP", "[" * 100_000 + "]" * 100_000).encode()


HEADERS: dict[str, tuple[bytes, str]] = {
    "deep": (_deep("DEEP"), "not valid JSON (nested too deep"),
    "deep parameters": (
        _deep('{"size": 0, "arrays": [], "parameters": {"tau": DEEP}}'),
        "not valid JSON (nested",
    ),
    "no object": (b"[1, 2]", "a JSON object was expected. Got [1, 2]"),
    "no size": (b'{"arrays": []}', "'size' is not there"),
    "size is text": (b'{"size": "0", "arrays": []}', "'size' must be a whole number"),
    "size is huge": (
        b'{"size": 9223372036854775807, "arrays": []}',
        "bytes, expected 9,223,372,036,854,775,",
    ),
    "size below": (b'{"size": -64, "arrays": []}', "'size' must be a whole number of at least 0"),
    "no arrays": (b'{"size": 0}', "'arrays' is not there"),
    "arrays of numbers": (b'{"size": 0, "arrays": [1]}', "'arrays' must be a list of JSON objects. Got 1"),
    "twice": (b'{"size": 0, "size": 0, "arrays": []}', "the key 'size' stands there twice"),
    "not UTF-8": (b'{"size": 0, "arrays": [], "\xff": 1}', "not UTF-8"),
    "half a pair": (b'{"size": 0, "arrays": [{"name": "\\ud800"}]}', "half of a surrogate pair"),
    "long": (b'{"size": 0, "arrays": []}' + b" " * 2**20, "a header of 1,048,601 bytes"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_headers_of_wrong_types_are_refused(tmp_path: Path, case: str) -> None:
    text, message = HEADERS[case]
    (tmp_path / "net.hon").write_bytes(with_header(text, b""))
    with pytest.raises(FormatError, match=rf"net\.hon: .*{re.escape(message)}"):
        load_network(tmp_path / "net.hon")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"order": "2", "tau": 1.0, "min_support": 1},
            "'order' must be a whole number from 1 to 1,000. Got '2'",
        ),
        ({"order": True, "tau": 1.0, "min_support": 1}, "'order' must be a whole number"),
        ({"order": 0, "tau": 1.0, "min_support": 1}, "'order' must be a whole number from 1"),
        ({"order": 2, "tau": [1], "min_support": 1}, "'tau' must be a number"),
        ({"order": 2, "tau": -1, "min_support": 1}, "'tau' must be a number of at least 0"),
        ({"order": 2, "tau": 10**400, "min_support": 1}, "a whole number of 401 digits"),
        ({"order": 2, "tau": 1.0, "min_support": 10**30}, "'min_support' must be a whole number"),
        ({"order": 2, "tau": 1.0}, "'min_support' is not there"),
        ({"order": 2, "tau": 1.0, "min_support": 1, "more": 1}, "'more' is not known"),
        ([2, 1.0, 1], "'parameters' must be a JSON object"),
    ],
)
def test_parameters_of_wrong_types_are_refused(
    tmp_path: Path, grown: HigherOrderNetwork, parameters: object, message: str
) -> None:
    grown.save(tmp_path / "net.hon")
    forge(tmp_path / "net.hon", header=lambda h: h.update(parameters=parameters))
    with pytest.raises(FormatError, match=rf"net\.hon: its header.*{re.escape(message)}"):
        load_network(tmp_path / "net.hon")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["arrays"].pop(3), "the array 'grams' is not there"),
        (lambda h: h["arrays"].append(h["arrays"][3]), "the array 'grams' is there twice"),
        (lambda h: h["arrays"][3].update(length=10**9), "'grams' lies outside the file"),
        (lambda h: h["arrays"][3].update(length=2**62), "'grams' lies outside the file"),
        (lambda h: h["arrays"][3].update(offset=4), "'grams' lies outside the file"),
        (
            lambda h: h["arrays"][3].update(offset=-64),
            "'offset' must be a whole number of at least 0. Got -64",
        ),
        (lambda h: h["arrays"][3].update(dtype="|O"), "'grams' of '|O' is not part of the format"),
        (lambda h: h["arrays"][3].update(name="code"), "'code' of '<i4' is not part of the format"),
        (lambda h: h["arrays"][3].update(length=8), "offsets must run from 0 to 8"),
        (
            lambda h: h["arrays"][1].update(length=5),
            "'name_offsets' is not valid: offsets must run from 0 to 5",
        ),
        (lambda h: h.update(arrays=7), "'arrays' must be a list of JSON objects. Got 7"),
    ],
)
def test_a_forged_list_of_arrays_is_refused(
    tmp_path: Path, grown: HigherOrderNetwork, change: Any, message: str
) -> None:
    grown.save(tmp_path / "net.hon")
    forge(tmp_path / "net.hon", header=change)
    with pytest.raises(
        FormatError, match=rf"net\.hon: (the file is damaged|its header): .*{re.escape(message)}"
    ):
        load_network(tmp_path / "net.hon")


def test_the_network_outlives_its_file(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    """A mapped file that is cut short ends the process; there is no way to ask for one."""
    path = tmp_path / "net.hon"
    grown.save(path)
    hon = load_network(path)
    os.truncate(path, 100)
    assert hon == grown
    with pytest.raises(TypeError, match="unexpected keyword argument 'mmap'"):
        load_network(path, mmap=True)  # type: ignore[call-arg]


def test_networks_with_hidden_edges_come_back(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    """Their nodes may be in no edge; order is all that is asked of them."""
    hidden = hide_pairs(grown, np.array([[0, 2], [3, 4]]))
    hidden.save(tmp_path / "net.hon")
    assert load_network(tmp_path / "net.hon") == hidden


@pytest.mark.parametrize("suffix", [".txt", ".parquet"])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([2**62, 2**62], "all weights add up to more than 9.2e+18"),
        ([FAR, 1], "all weights add up to more than 9.2e+18"),
        ([1e308, 1e308], "all weights add up to more than 9.2e+18"),
        ([5e-324, 1.0], "below 2.2e-19"),
        ([float("nan"), 1.0], "weight nan; an edge's weight is a finite number above 0"),
        ([float("inf"), 1.0], "weight inf; an edge's weight is a finite number above 0"),
    ],
)
def test_weights_are_bounded_in_every_format(
    tmp_path: Path, suffix: str, weights: list[float], message: str
) -> None:
    path = tmp_path / f"net{suffix}"
    if suffix == ".txt":
        path.write_text(f"A B {weights[0]!r}\nA C {weights[1]!r}\n")
    else:
        pq.write_table(pa.table({"source": ["A", "A"], "target": ["B", "C"], "weight": weights}), path)
    with pytest.raises(FormatError, match=rf"net\{suffix}.*{re.escape(message)}"):
        load_network(path)
    with pytest.raises(InputError, match=re.escape(message)):
        from_edges(["A", "A"], ["B", "C"], weights)


def test_the_largest_weights_are_summed_exactly(tmp_path: Path) -> None:
    hon = network({("A", "B"): 2**62 + 1, ("A", "C"): 2**62 - 2**60})
    hon.save(tmp_path / "net.hon")
    back = load_network(tmp_path / "net.hon")
    assert back.out_weight.tolist() == [2**63 - 2**60 + 1, 0, 0]
    assert sum(back.transition("A").values()) == pytest.approx(1)


TEXTS: dict[str, tuple[bytes, str]] = {
    "hexadecimal": (b"A B 0x10\n", "net.txt:1: weight '0x10' is not a number"),
    "too many digits": (b"A B 1\nB C " + b"9" * 1000 + b"\n", "net.txt:2: weight inf"),
    "other digits": ("A B ١\n".encode(), "net.txt:1: weight '١' is not a number"),
    "no weight": (b"A B \n", "net.txt:1: weight '' is not a number"),
    "UTF-16": ("A B 1\n".encode("utf-16"), "net.txt:1: not UTF-8"),
    "Latin-1": (b"A B 1\n\xe9 B 1\n", "net.txt:2: not UTF-8"),
    "a surrogate": (b"\xed\xa0\x80 B 1\n", "net.txt:1: not UTF-8"),
    "cut short": (b"A B 1\nB C", "net.txt:2: expected 3 fields"),
    "a long line": (b"A B 1\n" + b"A" * 2**25, "net.txt:2: a line of more than 16,777,216 bytes"),
    "a long first line": (b"A" * 2**25, "net.txt:1: a line of more than 16,777,216 bytes"),
    "a long context": (
        b"A B 1\n" + b"|".join([b"A"] * 5000) + b" B 1\n",
        "net.txt:2: a label of 5,000 entiti",
    ),
    "an empty part": (b"A||B B 1\n", "net.txt:1: the label 'A||B' has an empty part"),
    "bad escape": (MARK.encode() + b"\n%ff B 1\n", "net.txt:2: the label '%ff' cannot be decoded"),
    "escaped separator": (MARK.encode() + b"\nA%7CB B 1\n", "net.txt:2: the label 'A%7CB' cannot be decoded"),
    "nothing": (b"", "net.txt: no edge in the file"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_odd_edge_lists_are_refused(tmp_path: Path, case: str) -> None:
    content, message = TEXTS[case]
    (tmp_path / "net.txt").write_bytes(content)
    with pytest.raises(FormatError, match=re.escape(message)) as raised:
        load_network(tmp_path / "net.txt")
    assert len(str(raised.value)) < 500


def _not_text() -> pa.Array:
    ends = pa.py_buffer(np.array([0, 1, 2], np.int32))
    return pa.Array.from_buffers(pa.string(), 2, [None, ends, pa.py_buffer(b"\xff\xfe")])


COLUMNS: dict[str, tuple[str, pa.Array, str]] = {
    "list": ("source", pa.array([["A"], ["B"]]), "the source column holds list<element: string>; labels are"),
    "struct": (
        "target",
        pa.array([{"a": 1}, {"a": 2}]),
        "the target column holds struct<a: int64>; labels are",
    ),
    "map": (
        "source",
        pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
        "the source column holds map<",
    ),
    "bytes": ("source", pa.array([b"\xff", b"B"]), "the source column of binary: Invalid UTF8"),
    "not UTF-8": ("target", _not_text(), "the target column of string is damaged: "),
    "dates as weights": (
        "weight",
        pa.array([1, 2], pa.timestamp("ms")),
        "the weight column holds timestamp[ms]",
    ),
    "lists as weights": ("weight", pa.array([[1], [2]]), "the weight column holds list<element: int64>"),
    "decimals": ("weight", pa.array([1, 2], pa.decimal128(9, 2)), "the weight column holds decimal128(9, 2)"),
    "missing": ("weight", pa.array([1, None]), "row 2: weight nan"),
    "too large": (
        "weight",
        pa.array([1, 2**64 - 1], pa.uint64()),
        "row 2: weight 18446744073709551615 does not",
    ),
    "a long context": ("source", pa.array(["A", "A" + "|A" * 5000]), "row 2: a label of 5,001 entities"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns_of_other_types_are_refused(tmp_path: Path, case: str) -> None:
    name, column, message = COLUMNS[case]
    columns = {"source": pa.array(["A", "B"]), "target": pa.array(["C", "D"]), "weight": pa.array([1, 2])}
    pq.write_table(pa.table({**columns, name: column}), tmp_path / "net.parquet")
    with pytest.raises(FormatError, match=rf"net\.parquet: {re.escape(message)}"):
        load_network(tmp_path / "net.parquet")


def test_a_label_that_stands_there_often_is_held_once(tmp_path: Path) -> None:
    """Some kilobytes of Parquet may be gigabytes of text."""
    rows = 300_000
    label = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["A" * 10_000]))
    table = pa.table({"source": label, "target": label, "weight": np.ones(rows, np.int64)})
    pq.write_table(table, tmp_path / "net.parquet")
    assert (tmp_path / "net.parquet").stat().st_size < 100_000
    before = pa.default_memory_pool().max_memory()
    with pytest.raises(FormatError, match=r"row 2: the edge .* is there twice"):
        load_network(tmp_path / "net.parquet")
    assert pa.default_memory_pool().max_memory() - before < 2**28


def test_labels_that_no_row_has_are_no_nodes() -> None:
    values = pa.array(["X", "B", "A", "B", None])
    source = pa.DictionaryArray.from_arrays(pa.array([2, 1], pa.int8()), values)
    target = pa.DictionaryArray.from_arrays(pa.array([3, 2], pa.int8()), values)
    assert from_edges(source, target, [1, 2]) == network({("A", "B"): 1, ("B", "A"): 2})
    missing = pa.DictionaryArray.from_arrays(pa.array([2, 4], pa.int8()), values)
    with pytest.raises(InputError, match="edge 1: no source"):
        from_edges(missing, target)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    names = ["source", "source", "target", "weight"]
    columns = [pa.array(["A"]), pa.array(["B"]), pa.array(["C"]), pa.array([1])]
    pq.write_table(pa.Table.from_arrays(columns, names), tmp_path / "net.parquet")
    with pytest.raises(FormatError, match="more than one column 'source'"):
        load_network(tmp_path / "net.parquet")


def test_names_of_folders_are_no_columns(tmp_path: Path) -> None:
    (tmp_path / "source=X").mkdir()
    hon = network({("A", "B"): 1})
    hon.save(tmp_path / "source=X" / "net.parquet")
    assert load_network(tmp_path / "source=X" / "net.parquet") == hon


def test_the_command_line_prints_one_line(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    _, arrays = unpack((tmp_path / "net.hon").read_bytes())
    assert arrays["indptr"].tolist() == grown.indptr.tolist()
    forge(tmp_path / "net.hon", {"indptr": [0, FAR, -2, 3, 3, 3, 4, 5, 6, 7]})
    command = [sys.executable, "-m", "honlearn", "info", str(tmp_path / "net.hon"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "'indptr' is not valid: offsets must not decrease" in done.stderr
