from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from forged_files import forge, unpack
from hypothesis import HealthCheck, given, settings
from network_cases import FIGURE, Edges, edge_lists, names, network

import honlearn as hl
from honlearn.errors import FormatError
from honlearn.hon.formats import load_network
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


def test_statistics_and_parameters_are_kept(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    back = load_network(tmp_path / "net.hon")
    assert back == grown
    assert back.statistics == grown.statistics
    assert back.parameters == GrowParameters(2, 0.1, 3)
    assert not back.weights.flags.writeable
    assert back.dependencies().equals(grown.dependencies())


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edges=edge_lists(names()))
def test_any_network_comes_back(tmp_path: Path, edges: Edges) -> None:
    hon = network(edges)
    hon.save(tmp_path / "net.hon")
    assert load_network(tmp_path / "net.hon") == hon


def test_the_same_network_gives_the_same_bytes(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    for name in ("a.hon", "b.hon"):
        grown.save(tmp_path / name)
    assert (tmp_path / "a.hon").read_bytes() == (tmp_path / "b.hon").read_bytes()


def test_arrays_are_aligned(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    back = load_network(tmp_path / "net.hon")
    for name in ("gram_offsets", "grams", "indptr", "indices", "weights"):
        assert getattr(back, name).ctypes.data % 64 == 0


def test_an_empty_network(tmp_path: Path) -> None:
    empty = network({})
    empty.save(tmp_path / "net.hon")
    assert load_network(tmp_path / "net.hon") == empty


def test_a_file_cut_short_anywhere_is_refused(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    grown.save(tmp_path / "net.hon")
    whole = (tmp_path / "net.hon").read_bytes()
    for size in range(len(whole)):
        (tmp_path / "net.hon").write_bytes(whole[:size])
        with pytest.raises(FormatError, match=r"the file is damaged|not a honlearn network"):
            load_network(tmp_path / "net.hon")
    (tmp_path / "net.hon").write_bytes(whole + b"x")
    with pytest.raises(FormatError, match=r"the file is damaged: [\d,]+ bytes, expected"):
        load_network(tmp_path / "net.hon")


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


def test_a_file_of_version_1_is_read(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    """Its header has neither alpha nor seed, and there are no arrays of evidence."""
    grown.save(tmp_path / "net.hon")
    _, arrays = unpack((tmp_path / "net.hon").read_bytes())
    assert not {"p_value", "q_value", "ln_bayes_factor"} & arrays.keys()

    def older(about: dict) -> None:
        about["parameters"] = {"order": 2, "tau": 0.1, "min_support": 3}

    forge(tmp_path / "net.hon", header=older)
    assert struct.unpack_from("<I", (tmp_path / "net.hon").read_bytes(), 8) == (1,)
    back = load_network(tmp_path / "net.hon")
    assert (back, back.parameters, back.statistics) == (grown, grown.parameters, grown.statistics)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("alpha", 2, "'alpha'.*a number.*from 0 to 1|'alpha'.*1"),
        ("seed", -1, "'seed'"),
        ("beta", 1, "beta"),
    ],
)
def test_parameters_that_no_builder_has(
    tmp_path: Path, grown: HigherOrderNetwork, name: str, value: object, message: str
) -> None:
    grown.save(tmp_path / "net.hon")
    forge(tmp_path / "net.hon", header=lambda about: about["parameters"].update({name: value}))
    with pytest.raises(FormatError, match=message):
        load_network(tmp_path / "net.hon")


def test_evidence_is_whole_or_not_there(tmp_path: Path) -> None:
    network = hl.grow([["A", "C", "D"], ["B", "C", "E"]] * 9)
    for arrays, message in (
        ({"p_value": None}, "of the evidence, only q_value, ln_bayes_factor is there"),
        ({"frequency": None}, "of the statistics, only"),
        ({"q_value": [0.1, np.nan]}, "a value of q_value that no counts give"),
        ({"ln_bayes_factor": [0.1]}, "ln_bayes_factor has shape"),
    ):
        network.save(tmp_path / "net.hon")
        forge(tmp_path / "net.hon", arrays=arrays)
        with pytest.raises(FormatError, match=message):
            load_network(tmp_path / "net.hon")


def test_foreign_and_newer_files(tmp_path: Path, grown: HigherOrderNetwork) -> None:
    (tmp_path / "net.hon").write_bytes(b"PK\x03\x04 something else")
    with pytest.raises(FormatError, match="not a honlearn network"):
        load_network(tmp_path / "net.hon")
    grown.save(tmp_path / "net.hon")
    raw = bytearray((tmp_path / "net.hon").read_bytes())
    raw[8:12] = struct.pack("<I", 7)
    (tmp_path / "net.hon").write_bytes(raw)
    with pytest.raises(
        FormatError, match="version 7 of the format, and this honlearn reads 1, 2; update honlearn"
    ):
        load_network(tmp_path / "net.hon")
