"""The weights of a model folder: the bytes that are written, the memory that it takes, files that change."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save
from task_cases import FAST, communities

from honlearn import DGEClassifier, load_model
from honlearn.errors import FormatError, InputError
from honlearn.tasks.model_folder import config_digest
from honlearn.tasks.nested import nested
from honlearn.tasks.weights_writing import write_safetensors

WEIGHTS = "weights.safetensors"
NAMES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
TYPES = [getattr(torch, name) for name in NAMES]
# Weights of 64 MB are written and read in a process of their own, which tells by how much its peak grew.
MEASURED = """
import json, torch
from pathlib import Path
from honlearn.hon.formats import load_network
from honlearn.tasks.storage import read_config, read_tensors, write_model

def kilobytes(name):
    return int(Path("/proc/self/status").read_text().split(name)[1].split()[0])

def growth(call, *given):
    Path("/proc/self/clear_refs").write_text("5")
    before = kilobytes("VmRSS:")
    found = call(*given)
    return found, (kilobytes("VmHWM:") - before) / 65_536

network, config = load_network("small/network.hon"), json.loads(Path("small/config.json").read_text())
given = {name: value for name, value in config.items() if name not in ("files", "digest")}
write_model("again", config["kind"], given, read_tensors("small", read_config("small")), network)
weights = {"w": torch.ones(16, 2**20), "v": torch.ones(4)}
_, written = growth(write_model, "large", config["kind"], given, weights, network)
found, read = growth(read_tensors, "large", read_config("large"))
assert torch.equal(found["w"], weights["w"])
print(written, read)
"""


@pytest.fixture(scope="module")
def fitted() -> DGEClassifier:
    hon, nodes, y = communities()
    flat = {**FAST, "max_epochs": 2, "fan_outs": None}
    return DGEClassifier(hon, **nested(DGEClassifier, flat)).fit(nodes[::2], y[::2])


def test_the_bytes_are_those_of_the_library() -> None:
    tensors = {
        f"{name}{number}": torch.arange(6).reshape(2, 3).to(dtype)
        for number, dtype in enumerate(reversed(TYPES))
        for name in ("b", "a", 'ü€😀"\\\n\x7f\u2028')
    }
    tensors |= {f"stride{n}": torch.ones(1, dtype=torch.float64).expand(n).detach() for n in (0, 1, 3)}
    tensors |= {"odd": torch.ones(1, 1).as_strided((1,), (0,)), "grad": torch.ones(2, requires_grad=True)}
    tensors |= {"one": torch.tensor(2.5), "none": torch.empty(0, 3), "turned": torch.ones(2, 3).T}
    for some in (tensors, {}, {"w": torch.zeros(1)}):
        file = io.BytesIO()
        write_safetensors(file, some)
        assert file.getvalue() == save({name: tensor.contiguous() for name, tensor in some.items()})


def test_numbers_that_no_folder_keeps_are_told() -> None:
    with pytest.raises(InputError, match=r"'w' holds torch\.bfloat16, .*torch\.float32"):
        write_safetensors(io.BytesIO(), {"w": torch.zeros(1, dtype=torch.bfloat16)})


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks are measured on Linux")
def test_weights_are_written_without_a_copy_and_read_once(fitted: DGEClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "small")
    made = subprocess.run(
        [sys.executable, "-c", MEASURED], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    written, read = (float(number) for number in made.stdout.split())
    assert written < 0.3
    assert 0.9 < read < 1.3


def test_a_model_in_use_stays_what_it_is(fitted: DGEClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    nodes = communities()[1]
    before = fitted.predict_proba(nodes).tobytes()
    cut, zeros, gone = (load_model(tmp_path / "m") for _ in range(3))
    path = tmp_path / "m" / WEIGHTS
    size = path.stat().st_size
    os.truncate(path, 0)
    assert cut.predict_proba(nodes).tobytes() == before
    path.write_bytes(bytes(size))
    assert zeros.predict_proba(nodes).tobytes() == before
    path.unlink()
    assert gone.predict_proba(nodes).tobytes() == before


@pytest.mark.parametrize("damage", [b"", b"\0" * 8, b"\xff" * 64, b"\x02" + b"\0" * 7 + b"{}"])
def test_weights_with_another_header_are_told_as_changed(
    fitted: DGEClassifier, tmp_path: Path, damage: bytes
) -> None:
    fitted.save(tmp_path / "m")
    path = tmp_path / "m" / WEIGHTS
    path.write_bytes(damage + path.read_bytes()[len(damage) :] if damage else b"")
    with pytest.raises(FormatError, match=rf"{WEIGHTS}: truncated or changed after it was written"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("content", [b"", b"\xff" * 64, b"\x02" + b"\0" * 7 + b"{}" + bytes(4)])
def test_a_header_that_was_made_to_harm_is_told_as_damaged(
    fitted: DGEClassifier, tmp_path: Path, content: bytes
) -> None:
    fitted.save(tmp_path / "m")
    (tmp_path / "m" / WEIGHTS).write_bytes(content)
    config = json.loads((tmp_path / "m" / "config.json").read_text("utf-8"))
    config["files"][WEIGHTS] = hashlib.sha256(content).hexdigest()
    config["digest"] = config_digest(config)
    (tmp_path / "m" / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(FormatError, match=rf"{WEIGHTS}: damaged \(.*\); save the model again"):
        load_model(tmp_path / "m")


def test_tensors_begin_where_torch_lets_them_begin(fitted: DGEClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    state = load_model(tmp_path / "m").components_[0].ensemble.state_dict()
    assert all(tensor.data_ptr() % 64 == 0 for tensor in state.values())
    assert all(np.isfinite(tensor.numpy()).all() for tensor in state.values())
