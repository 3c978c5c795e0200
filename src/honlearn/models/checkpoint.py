"""Checkpoints of a training run: one safetensors file, replaced as a whole, never half written.

In: named tensors and a small record. Out: the same, if they belong to the run that asks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as as_safetensors

from honlearn.errors import FormatError
from honlearn.writing.atomic import atomic_binary

_FORMAT = "honlearn-checkpoint-1"


def save_checkpoint(
    path: Path, fingerprint: str, record: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> None:
    """Write a checkpoint to `path`; until it is on the disk, the one before stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"format": _FORMAT, "fingerprint": fingerprint, "record": json.dumps(record)}
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    with atomic_binary(path) as file:
        file.write(as_safetensors(plain, metadata))


def load_checkpoint(path: Path, fingerprint: str) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return record and tensors of the checkpoint at `path`, or raise if it belongs to another run."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError) as error:
        raise FormatError(f"{path}: not a readable checkpoint ({error}); remove it to start anew") from None
    if metadata.get("format") != _FORMAT:
        raise FormatError(f"{path}: not a checkpoint of this version of honlearn; remove it to start anew")
    if metadata.get("fingerprint") != fingerprint:
        raise FormatError(
            f"{path}: this checkpoint belongs to a fit with other data, parameters or seed; "
            "remove it or name another file"
        )
    record: dict[str, Any] = json.loads(metadata["record"])
    return record, tensors
