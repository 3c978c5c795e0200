"""What comes from a file: good values come out as they are, and all else is an error of ours."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.stored import (
    Fields,
    check_arrays,
    parse_json,
    read_bytes,
    read_json,
    read_npz,
    read_safetensors,
)


@pytest.mark.parametrize("value", [None, 1, -(2**70), 0.5, "ü", [], {"a": [{"b": None}]}, [[1, 2], [3]]])
def test_what_json_can_hold_comes_back(value: Any) -> None:
    assert parse_json(json.dumps(value).encode(), "x") == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b'{"a": NaN}', "NaN is not a number of JSON"),
        (b"[-Infinity]", "-Infinity is not a number of JSON"),
        (b"[1e999]", "'1e999' is too large"),
        (b"1" * 301, "a whole number of 301 digits"),
        (b"1" * 100_000, "a whole number of 100,000 digits"),
        (b"[" * 65 + b"]" * 65, "nested more than 64 deep"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deep"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands there twice"),
        (b'["\\ud800"]', "half of a surrogate pair"),
        (b'{"\\udfff": 1}', "half of a surrogate pair"),
    ],
)
def test_json_that_is_not_ours_is_told(text: bytes, told: str) -> None:
    with pytest.raises(FormatError, match=f"run.json: .*{told}.*; mend it"):
        parse_json(text, "run.json", advice="mend it")


def test_whole_surrogate_pairs_and_nan_where_it_belongs_are_fine() -> None:
    assert parse_json('"\\ud83d\\ude00"', "x") == "😀"
    assert parse_json("[Infinity, 1e999]", "x", finite=False) == [float("inf"), float("inf")]


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"gone\.json: no such file"):
        read_json(tmp_path / "gone.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_json(tmp_path)
    (tmp_path / "long").write_bytes(bytes(11))
    with pytest.raises(FormatError, match="more than 10 bytes"):
        read_bytes(tmp_path / "long", most=10)


FIELDS = Fields(
    {"t": "text", "i": 3, "n": 0.5, "b": True, "m": {"k": 1}, "l": [1, 2], "z": None, "x": ["a"], "h": 2**70},
    "f.json",
)


def test_fields_are_what_they_are_asked_for() -> None:
    assert (FIELDS.text("t"), FIELDS.integer("i"), FIELDS.number("i"), FIELDS.flag("b")) == (
        "text",
        3,
        3.0,
        True,
    )
    assert FIELDS.mapping("m").integer("k", 1, 1) == 1
    assert FIELDS.integers("l", 1, length=2) == FIELDS.numbers("l") == [1, 2]
    assert FIELDS.texts("x") == ["a"]
    assert FIELDS.integer("h", 0, None) == 2**70
    assert [FIELDS.has(key) for key in ("t", "z", "nothing")] == [True, False, False]


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda f: f.text("gone"), "'gone' is not there"),
        (lambda f: f.text("i"), "'i' must be text. Got 3 instead"),
        (lambda f: f.text("t", ["a", "b"]), "'t' must be one of a, b. Got 'text' instead"),
        (lambda f: f.integer("b"), "'b' must be a whole number. Got True instead"),
        (lambda f: f.integer("n"), "'n' must be a whole number. Got 0.5 instead"),
        (lambda f: f.integer("i", 4), "'i' must be a whole number of at least 4. Got 3 instead"),
        (lambda f: f.integer("h"), "'h' must be a whole number. Got 1180591620717411303424"),
        (lambda f: f.number("i", 0, 1), "'i' must be a number from 0 to 1. Got 3 instead"),
        (lambda f: f.number("z"), "'z' must be a number. Got None instead"),
        (lambda f: f.flag("i"), "'i' must be true or false. Got 3 instead"),
        (lambda f: f.mapping("l"), "'l' must be a JSON object. Got \\[1, 2\\] instead"),
        (lambda f: f.mappings("l"), "'l' must be a list of JSON objects. Got 1 instead"),
        (lambda f: f.items("m"), "'m' must be a list of values. Got {'k': 1} instead"),
        (lambda f: f.items("l", 3), "'l' must be a list of 3 values"),
        (lambda f: f.texts("l"), "'l' must be a list of texts. Got 1 instead"),
        (lambda f: f.integers("l", 2), "'l' must be a list of whole numbers of at least 2. Got 1 instead"),
        (lambda f: f.mapping("m").text("k"), "f.json: 'm': 'k' must be text. Got 1 instead"),
        (lambda f: f.mapping("m").only("key"), "'k' is not known"),
        (lambda f: Fields([], "g.json"), "g.json: a JSON object was expected. Got \\[\\] instead"),
    ],
)
def test_fields_of_another_type_are_told(ask: Any, told: str) -> None:
    with pytest.raises(FormatError, match=told):
        ask(FIELDS)


NEEDED = {"proba": ("f", ("nodes", "classes"))}
OPTIONAL = {"relatives": ("iu", (None, "nodes"))}


def saved(path: Path, **arrays: Any) -> Path:
    np.savez_compressed(path, **arrays)
    return path


def test_arrays_come_back_with_their_bits(tmp_path: Path) -> None:
    proba = np.arange(6, dtype=">f4").reshape(3, 2)
    relatives = np.asfortranarray(np.arange(12).reshape(4, 3))
    path = saved(tmp_path / "a.npz", proba=proba, relatives=relatives, other=np.array(["kept packed"]))
    found = read_npz(path, NEEDED, OPTIONAL)
    assert found["proba"].dtype == np.float32
    assert found.keys() == {"proba", "relatives"}
    np.testing.assert_array_equal(found["proba"], proba)
    np.testing.assert_array_equal(found["relatives"], relatives)
    found["proba"][0] = 1  # ours to write


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"other": np.zeros(1)}, "the array 'proba' is not there"),
        ({"proba": np.zeros((2, 2), int)}, "must be of kind f and shape .nodes, classes.. Got int64"),
        ({"proba": np.zeros(2)}, "Got float64 of shape .2,. instead"),
        (
            {"proba": np.zeros((2, 2)), "relatives": np.zeros((1, 3), int)},
            r"shape .any, 2.. Got int64 of shape .1, 3.",
        ),
        ({"proba": np.full((1, 1), np.nan)}, "'proba' holds NaN or infinite numbers"),
        ({"proba": np.zeros((1000, 1000))}, "more than 1,000,000 bytes"),
        ({"proba": np.zeros((0, 2**40), "f4")}, "more than 1,000,000 bytes"),
        ({"proba": np.zeros(1, [("a", "f4")])}, "damaged"),
    ],
)
def test_arrays_of_another_shape_are_told(tmp_path: Path, arrays: Any, told: str) -> None:
    with pytest.raises(FormatError, match=rf"a\.npz: .*{told}"):
        read_npz(saved(tmp_path / "a.npz", **arrays), NEEDED, OPTIONAL, most=10**6)


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    content = io.BytesIO()
    np.lib.format.write_array(content, np.array([[{"a": 1}]], object), allow_pickle=True)
    for number, data in enumerate([content.getvalue(), pickle.dumps(np.zeros((1, 1)))]):
        path = tmp_path / f"{number}.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("proba.npy", data)
        with pytest.raises(FormatError, match="damaged"):
            read_npz(path, NEEDED)


def test_every_byte_of_an_archive_may_be_wrong(tmp_path: Path) -> None:
    """A flipped byte is told or harmless, wherever it is; so is a cut."""
    proba = np.random.default_rng(0).random((7, 3))
    whole = saved(tmp_path / "a.npz", proba=proba).read_bytes()
    for place in range(len(whole)):
        for content in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            (tmp_path / "b.npz").write_bytes(content)
            try:
                found = read_npz(tmp_path / "b.npz", NEEDED)
            except FormatError:
                continue
            np.testing.assert_array_equal(found["proba"], proba)


def safetensors(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_tensors_and_their_metadata_come_back() -> None:
    entry = {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}
    content = safetensors({"__metadata__": {"a": "b"}, "w": entry}, np.array([1, 2], "<f4").tobytes())
    metadata, found = read_safetensors(content, "w.safetensors")
    assert metadata == {"a": "b"}
    np.testing.assert_array_equal(found["w"], [[1, 2]])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "damaged"),
        (b"\xff" * 16, "damaged"),
        (safetensors(b"[" * 100_000, b""), "damaged"),
        (safetensors({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)), "damaged"),
        (
            safetensors({"w": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, bytes(4)),
            "'w' holds BF16",
        ),
        (
            safetensors({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"\xff" * 4),
            "'w' holds NaN",
        ),
        (safetensors({"w": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}, b""), "damaged"),
    ],
)
def test_tensors_that_are_not_ours_are_told(content: bytes, told: str) -> None:
    with pytest.raises(FormatError, match=rf"^w\.safetensors: .*{told}"):
        read_safetensors(content, "w.safetensors")


def test_arrays_of_memory_are_checked_too() -> None:
    check_arrays({"a": np.zeros(3)}, {"a": ("f", 1)}, "x")
    check_arrays({"a": np.array([np.inf])}, {}, "x", finite=False)
    with pytest.raises(FormatError, match="'a' holds NaN"):
        check_arrays({"a": np.array([np.inf])}, {}, "x")
