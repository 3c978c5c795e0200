"""Checkpoints of a training run: one safetensors file, replaced as a whole, never half written.

In: named tensors and a small record. Out: the same, if they belong to the run that asks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save as as_safetensors

from honlearn.errors import FormatError, HonlearnError, first_line
from honlearn.stored import Fields, parse_json, read_bytes, read_safetensors
from honlearn.writing.atomic import atomic_binary

_FORMAT = "honlearn-checkpoint-3"
_ADVICE = "remove it to start anew"


def save_checkpoint(
    path: Path, fingerprint: str, record: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> None:
    """Write a checkpoint to `path`; until it is on the disk, the one before stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"format": _FORMAT, "fingerprint": fingerprint, "record": json.dumps(record)}
    metadata["digest"] = _digest(
        metadata["record"], {n: t.detach().cpu().numpy() for n, t in tensors.items()}
    )
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_binary(path) as file:
        file.write(as_safetensors(plain, metadata))


def load_checkpoint(path: Path, fingerprint: str) -> tuple[Fields, dict[str, torch.Tensor]]:
    """Return record and tensors of the checkpoint at `path`, or raise if it belongs to another run.

    Losses that are not finite are part of a record, and weights of a training that diverged are not either.
    """
    metadata, arrays = read_safetensors(read_bytes(path), str(path), finite=False, advice=_ADVICE)
    if metadata.get("format") != _FORMAT:
        raise FormatError(f"{path}: not a checkpoint of this version of honlearn; remove it to start anew")
    if metadata.get("fingerprint") != fingerprint:
        raise FormatError(
            f"{path}: this checkpoint belongs to a fit with other data, parameters or seed; "
            "remove it or name another file"
        )
    text = metadata.get("record", "")
    if metadata.get("digest", _digest(text, arrays)) != _digest(text, arrays):
        raise FormatError(f"{path}: changed after it was written; {_ADVICE}")
    record = Fields(
        parse_json(text, str(path), finite=False, advice=_ADVICE), str(path), finite=False, advice=_ADVICE
    )
    return record, {name: torch.from_numpy(array).clone() for name, array in arrays.items()}


@contextmanager
def resuming(path: Path) -> Iterator[None]:
    """Take over a checkpoint inside the block; what does not fit the fit is told as such."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
        if isinstance(error, HonlearnError):
            raise
        raise FormatError(f"{path}: does not fit this training ({first_line(error)}); {_ADVICE}") from None


def _digest(record: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256(record.encode())
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
