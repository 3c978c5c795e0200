"""A bounded run of the fuzzer over every target, and tests that the fuzzer sees what it is there to see.

The cases are the same in every run. ``make fuzz`` goes on for as long as it is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import honlearn as hl
from fuzz.cases import KNOWING, make_case, repair_model
from fuzz.faulty_targets import FAULTY
from fuzz.mutate_arrays import (
    hon_file,
    pack_hon,
    pack_safetensors,
    safetensors_file,
    unpack_hon,
    unpack_safetensors,
)
from fuzz.runner import Server
from fuzz.target import labels_of, small_network
from fuzz.targets import TARGETS

SEED = 17
ALWAYS_REFUSED = {"written-only"}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One process for all targets: it imports torch and this package once."""
    with Server() as running:
        yield running


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_our_own_errors_comes_out(name: str, server: Server) -> None:
    report = server.run(name, SEED, last=TARGETS[name].cases)
    assert report.cases == TARGETS[name].cases
    assert not report.failures, (
        f"{len(report.failures)} of {report.cases} cases failed:\n{report.described()}"
    )
    # Damage that is never noticed, or never gets past the door, would test nothing.
    assert report.loaded
    assert report.refused or name in ALWAYS_REFUSED


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("crashes", "SIGSEGV"),
        ("hangs", "hang"),
        ("fills-memory", "MemoryError"),
        ("raises", "KeyError"),
        ("warns", "RuntimeWarning"),
        ("exits", "SystemExit"),
        ("is-wrong", "broken promise: not so: one and one is three"),
        ("tells-nothing", "a message that is not one line"),
    ],
)
def test_every_kind_of_failure_is_seen(name: str, what: str, server: Server, tmp_path: Path) -> None:
    report = server.run(name, SEED, last=FAULTY[name].cases, keep=tmp_path)
    assert [failure.what for failure in report.failures] == [what] * FAULTY[name].cases
    assert report.failures[1].replay == f'make fuzz ARGS="--target {name} --seed {SEED} --case 1"'
    assert (tmp_path / f"{name}-{SEED}-1" / "file.bin").read_bytes() != b"honest\n"


def test_our_own_error_is_no_failure(server: Server) -> None:
    report = server.run("refuses", SEED, last=3, keep=None)
    assert (report.refused, report.loaded, report.failures) == (3, 0, [])


@pytest.mark.parametrize("name", ["csv", "arrow-file", "hon", "folds-and-spaces"])
def test_a_case_is_the_same_in_every_run(name: str, tmp_path: Path) -> None:
    made = []
    for run in ("one", "two"):
        (tmp_path / run / "corpus").mkdir(parents=True)
        TARGETS[name].make(tmp_path / run / "corpus")
        for number in range(20):
            folder = tmp_path / run / str(number)
            folder.mkdir()
            made.append(make_case(tmp_path / run / "corpus", name, SEED, number, folder).read_bytes())
    assert made[:20] == made[20:]
    assert len(set(made[:20])) > 15


def test_networks_are_packed_as_they_were_written(tmp_path: Path) -> None:
    small_network().save(tmp_path / "network.hon")
    content = (tmp_path / "network.hon").read_bytes()
    header, arrays = unpack_hon(content)
    assert hon_file(*pack_hon(header, arrays)) == content
    # Other values with repaired checksums are read: damage gets past them.
    arrays["weights"] = arrays["weights"] + 1
    (tmp_path / "network.hon").write_bytes(hon_file(*pack_hon(header, arrays)))
    assert np.array_equal(hl.load_network(tmp_path / "network.hon").weights, small_network().weights + 1)


def test_models_are_repaired(tmp_path: Path) -> None:
    from honlearn.experiments.registry import find_model

    network = small_network()
    known = labels_of(network)
    model = find_model("majority").make(network).fit(list(known), np.array(list(known.values())))
    model.save(tmp_path / "model")
    before = {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()}
    repair_model(tmp_path / "model")
    assert {file.name: file.read_bytes() for file in (tmp_path / "model").iterdir()} == before
    assert {Path(name).suffix for name in before} <= KNOWING.keys()
    header, arrays = unpack_safetensors(before["weights.safetensors"])
    assert safetensors_file(*pack_safetensors(header, arrays)) == before["weights.safetensors"]
    # Another network in the folder is read once its digest is repaired.
    network.first_order().save(tmp_path / "model" / "network.hon")
    with pytest.raises(hl.HonlearnError, match="changed after it was written"):
        hl.load_model(tmp_path / "model")
    repair_model(tmp_path / "model")
    assert hl.load_model(tmp_path / "model").network == network.first_order()
