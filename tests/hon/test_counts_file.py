"""Counts as a file: what was written is read, and wrong contents behind right checksums are refused."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forged_files import unpack
from test_counts_update import assert_same

import honlearn as hl
from honlearn.errors import FormatError, InputError, MissingFileError

# A B C D: 0 … 3. Grams of two: AB AC BC CD; of three: ABC BCD.
PATHS = [["A", "B", "C", "D"], ["A", "B", "C"], ["A", "C"]]
FAR = 2**63 - 1


@pytest.fixture
def file(tmp_path: Path) -> Path:
    hl.count_grams(PATHS, 2).save(tmp_path / "some.counts")
    return tmp_path / "some.counts"


def forge(path: Path, changed: dict[str, Any], order: object = 2) -> None:
    """Write the file anew with other arrays and every checksum right."""
    header, arrays = unpack(path.read_bytes())
    for name, values in changed.items():
        arrays[name] = np.asarray(values, arrays[name].dtype if name in arrays else None)
    data, entries = b"", []
    for name, array in arrays.items():
        place = {"name": name, "dtype": array.dtype.str, "length": len(array), "offset": len(data)}
        entries.append({**place, "crc32": zlib.crc32(array.tobytes())})
        data += array.tobytes() + bytes(-array.nbytes % 64)
    text = json.dumps({**header, "order": order, "size": len(data), "arrays": entries}).encode()
    start = b"\x89HOC\r\n\x1a\n" + struct.pack("<IIII", 1, len(text), zlib.crc32(text), 0) + text
    path.write_bytes(start + bytes(-len(start) % 64) + data)


@pytest.mark.parametrize("order", [1, 2, 4])
def test_what_was_written_is_read(order: int, tmp_path: Path) -> None:
    counts = hl.count_grams([*PATHS, ["Ü", "A"], ["D"]], order)
    counts.save(tmp_path / "a.counts")
    loaded = hl.load_counts(tmp_path / "a.counts")
    assert_same(loaded, counts)
    loaded.save(tmp_path / "b.counts")
    assert (tmp_path / "a.counts").read_bytes() == (tmp_path / "b.counts").read_bytes()


def test_the_layout_is_what_the_forged_files_rely_on(file: Path) -> None:
    _, arrays = unpack(file.read_bytes())
    assert arrays["newest_2"].tolist() == [1, 2, 2, 3]
    assert arrays["newest_3"].tolist() == [2, 3]
    forge(file, {})
    assert_same(hl.load_counts(file), hl.count_grams(PATHS, 2))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "offsets wrap": ({"first_1": [0, FAR, -2, 4, 4]}, "'first_1' is not valid: offsets must not decrease"),
    "offsets end early": ({"first_2": [0, 1, 1, 1, 1]}, "'first_2' is not valid: offsets must run from 0"),
    "slices are missing": ({"first_2": [0, 1, 2]}, "'first_2' is not valid: 2 slices for 4 grams"),
    "an entity is beyond": ({"newest_2": [1, 2, 2, 9]}, "'newest_2' is not valid: values from 1 to 9"),
    "an entity is negative": ({"newest_3": [-1, 3]}, "'newest_3' is not valid: values from -1"),
    "extensions descend": ({"newest_2": [2, 1, 2, 3]}, "'newest_2' is not valid: extensions of a gram must"),
    "a count is 0": ({"count_3": [0, 1]}, "'count_3' is not valid: a count of 0, expected at least 1"),
    "a count is missing": ({"count_2": [2, 1, 2]}, "'count_2' is not valid: 3 counts for 4 grams"),
    "entities are missing": ({"count_1": [3, 2, 3]}, "'count_1' is not valid: 3 counts for 4 entities"),
    "counts wrap": ({"count_1": [FAR, FAR, 3, 1]}, "'count_1' is not valid: counts add up to more"),
    "more goes on than is there": ({"count_1": [2, 2, 3, 1]}, "'count_1' is not valid: a gram is followed"),
    "a suffix is not there": ({"newest_3": [3, 3]}, "'newest_3' is not valid: the last 2 entities"),
    "a suffix is too rare": ({"count_1": [3, 2, 2, 1]}, "'count_2' is not valid: grams are there more often"),
    "a name is there twice": ({"names": list(b"AACD")}, "'names' is not valid: names must be distinct"),
    "a name is no text": ({"names": [65, 66, 67, 255]}, "'names' is not valid: names must be UTF-8"),
    "an array is strange": ({"weights": np.ones(3)}, "'weights' of '<f8' is not part of the format"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_contents_are_refused(case: str, file: Path) -> None:
    changed, message = WRONG[case]
    forge(file, changed)
    with pytest.raises(FormatError, match=message):
        hl.load_counts(file)


def test_more_paths_that_begin_with_a_gram_than_with_its_start_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "some.counts"
    hl.count_grams([["A", "B"], ["B", "A"]], 2).save(file)
    # Both grams begin two paths, but each entity begins one: the other time something is before it.
    forge(file, {"count_1": [3, 3], "count_2": [2, 2]})
    with pytest.raises(FormatError, match="more paths begin with a gram"):
        hl.load_counts(file)


@pytest.mark.parametrize("order", [0, 3, 10**9, "2", None])
def test_a_wrong_order_is_refused(order: object, file: Path) -> None:
    forge(file, {}, order)
    with pytest.raises(FormatError, match=r"order|'first_3' is not there|'newest_4' is not there"):
        hl.load_counts(file)


def test_damage_is_named(file: Path) -> None:
    raw = file.read_bytes()
    file.write_bytes(raw[:-64])
    with pytest.raises(FormatError, match=r"damaged: .* bytes, expected"):
        hl.load_counts(file)
    file.write_bytes(raw[:-64] + b"\x07" + raw[-63:])
    with pytest.raises(FormatError, match="does not match its checksum"):
        hl.load_counts(file)
    file.write_bytes(b"A B C\n")
    with pytest.raises(FormatError, match="not a honlearn counts; honlearn grow --counts writes such files"):
        hl.load_counts(file)


def test_other_files_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not the counts of all; .*--counts FILE\.counts"):
        hl.load_counts(tmp_path / "net.hon")
    with pytest.raises(MissingFileError, match=r"no such file; did you mean 'some\.counts'"):
        hl.load_counts(tmp_path / "same.counts")
    with pytest.raises(InputError, match=r"files that end in \.counts"):
        hl.count_grams(PATHS).save(tmp_path / "a.hon")
    with pytest.raises(MissingFileError, match=r"the folder .* does not exist"):
        hl.count_grams(PATHS).save(tmp_path / "no" / "a.counts")
    (tmp_path / "folder.counts").mkdir()
    for act in (hl.load_counts, hl.count_grams(PATHS).save):
        with pytest.raises(InputError, match="is a folder; name a file"):
            act(tmp_path / "folder.counts")
