from __future__ import annotations

import json
import re
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from network_cases import FIGURE, Edges, edge_lists, names, network

from honlearn.errors import FormatError
from honlearn.hon.formats import load_network, native
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import ContextStatistics, GrowParameters


@pytest.fixture
def grown() -> HigherOrderNetwork:
    hon = network(FIGURE)
    known = ContextStatistics(
        np.array([3, 1]), np.array([0.415, np.nan]), np.array([0.5, 1.0]), np.array([False, True])
    )
    arrays = (hon.gram_offsets, hon.grams, hon.indptr, hon.indices, hon.weights)
    return HigherOrderNetwork(hon.vocabulary, *arrays, known, GrowParameters(2, 0.1, 3))


@pytest.mark.parametrize("mmap", [False, True])
def test_statistics_and_parameters_are_kept(tmp_path: Path, grown: HigherOrderNetwork, mmap: bool) -> None:
    grown.save(tmp_path / "net.hon")
    back = load_network(tmp_path / "net.hon", mmap=mmap)
    assert back == grown
    assert back.statistics == grown.statistics
    assert back.parameters == GrowParameters(2, 0.1, 3)
    assert not back.weights.flags.writeable
    assert back.dependencies().equals(grown.dependencies())


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=edge_lists(names()))
def test_memory_mapped_networks_are_the_same(tmp_path: Path, edges: Edges) -> None:
    hon = network(edges)
    hon.save(tmp_path / "net.hon")
    assert load_network(tmp_path / "net.hon", mmap=True) == hon


def test_a_mapped_file_may_be_written_anew(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    mapped = load_network(tmp_path / "net.hon", mmap=True)
    network({("x", "y"): 1}).save(tmp_path / "net.hon")
    assert mapped == grown
    assert mapped.random_walks(["A"], 3, seed=0).nodes.tolist() == [[0, 5, 3]]


def test_the_same_network_gives_the_same_bytes(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    for name in ("a.hon", "b.hon"):
        grown.save(tmp_path / name)
    assert (tmp_path / "a.hon").read_bytes() == (tmp_path / "b.hon").read_bytes()


def test_arrays_are_aligned(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    back = load_network(tmp_path / "net.hon", mmap=True)
    for name in ("gram_offsets", "grams", "indptr", "indices", "weights"):
        assert getattr(back, name).ctypes.data % 64 == 0


def test_an_empty_network(tmp_path: Path) -> None:
    empty = network({})
    empty.save(tmp_path / "net.hon")
    assert load_network(tmp_path / "net.hon") == load_network(tmp_path / "net.hon", mmap=True) == empty


@pytest.mark.parametrize("mmap", [False, True])
def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path, grown: HigherOrderNetwork, mmap: bool) -> None:
    grown.save(tmp_path / "net.hon")
    whole = (tmp_path / "net.hon").read_bytes()
    for size in range(len(whole)):
        (tmp_path / "net.hon").write_bytes(whole[:size])
        with pytest.raises(FormatError, match=r"the file is damaged|not a honlearn network"):
            load_network(tmp_path / "net.hon", mmap=mmap)
    (tmp_path / "net.hon").write_bytes(whole + b"x")
    with pytest.raises(FormatError, match=r"the file is damaged: [\d,]+ bytes, expected"):
        load_network(tmp_path / "net.hon", mmap=mmap)


def test_a_changed_byte_is_noticed(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    whole = (tmp_path / "net.hon").read_bytes()
    refused = 0
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x5A
        (tmp_path / "net.hon").write_bytes(changed)
        try:
            back = load_network(tmp_path / "net.hon")
        except FormatError:
            refused += 1
        else:  # only padding may change unseen
            assert whole[place] == 0
            assert back == grown
            assert back.statistics == grown.statistics
    assert refused > 0.5 * len(whole)


def test_a_changed_byte_is_noticed_in_a_mapped_file_on_request(
    tmp_path: Path, grown: HigherOrderNetwork
) -> None:
    grown.save(tmp_path / "net.hon")
    raw = bytearray((tmp_path / "net.hon").read_bytes())
    raw[raw.index(np.array([3, 1, 3], np.int64).tobytes())] = 9
    (tmp_path / "net.hon").write_bytes(raw)
    assert load_network(tmp_path / "net.hon", mmap=True).weights[0] == 9
    with pytest.raises(FormatError, match="'weights' does not match its checksum"):
        native.read(tmp_path / "net.hon", mmap=True, verify=True)


def test_foreign_and_newer_files(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    (tmp_path / "net.hon").write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(FormatError, match="not a honlearn network"):
        load_network(tmp_path / "net.hon")
    grown.save(tmp_path / "net.hon")
    raw = bytearray((tmp_path / "net.hon").read_bytes())
    raw[8:12] = struct.pack("<I", 7)
    (tmp_path / "net.hon").write_bytes(raw)
    with pytest.raises(
        FormatError, match="version 7 of the format, and this honlearn reads 1; update honlearn"
    ):
        load_network(tmp_path / "net.hon")


def _with_header(path: Path, change: object) -> None:
    """Rewrite the header of a file, checksum and all, as somebody with bad intentions would."""
    raw = path.read_bytes()
    length = struct.unpack_from("<I", raw, 12)[0]
    header = json.loads(raw[24 : 24 + length])
    data = raw[-header["size"] :]
    change(header)  # type: ignore[operator]
    text = json.dumps(header).encode()
    start = raw[:12] + struct.pack("<III", len(text), zlib.crc32(text), 0) + text
    path.write_bytes(start + bytes(-len(start) % 64) + data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h["arrays"].pop(3), "the array 'grams' is not there"),
        (lambda h: h["arrays"][3].update(length=10**9), "'grams' lies outside the file"),
        (lambda h: h["arrays"][3].update(offset=4), "'grams' lies outside the file"),
        (lambda h: h["arrays"][3].update(offset=-64), "its header is not valid"),
        (lambda h: h["arrays"][3].update(dtype="|O"), "'grams' of |O is not part of the format"),
        (lambda h: h["arrays"][3].update(name="code"), "'code' of <i4 is not part of the format"),
        (lambda h: h["arrays"][3].update(length=8), "offsets must run from 0 to 8"),
        (lambda h: h["arrays"][1].update(length=5), "its names are not valid"),
        (lambda h: h.update(parameters={"surprise": 1}), "unexpected keyword argument 'surprise'"),
        (lambda h: h.update(arrays=7), "its header is not valid"),
    ],
)
def test_a_forged_header_is_refused(
    tmp_path: Path, grown: HigherOrderNetwork, change: object, message: str
) -> None:
    grown.save(tmp_path / "net.hon")
    _with_header(tmp_path / "net.hon", change)
    with pytest.raises(FormatError, match=f"the file is damaged: .*{re.escape(message)}"):
        load_network(tmp_path / "net.hon", mmap=True)
