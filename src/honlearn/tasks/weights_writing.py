"""Tensors to a file in the safetensors format, one after another, without a copy of all of them.

In: an open file and tensors by name. Out: the bytes that the library of the format's authors would write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from honlearn.errors import InputError
from honlearn.stored import TYPES

if TYPE_CHECKING:
    import torch

# The order of the data in a file: by the width of their types, the widest first.
_ORDER = ("I64", "F64", "F32", "I32", "F16", "I16", "I8", "U8", "BOOL")
_PIECE = 1 << 20


def write_safetensors(file: BinaryIO, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write tensors on the CPU to a file."""
    import numpy as np
    import torch

    kinds = {torch.from_numpy(np.empty(0, dtype)).dtype: kind for kind, dtype in TYPES.items()}
    strange = [name for name, tensor in tensors.items() if tensor.dtype not in kinds]
    if strange:
        raise InputError(
            f"{strange[0]!r} holds {tensors[strange[0]].dtype}, which no model folder keeps; "
            f"use one of {', '.join(str(dtype) for dtype in kinds)}"
        )
    names = sorted(tensors, key=lambda name: (_ORDER.index(kinds[tensors[name].dtype]), name.encode()))
    header: dict[str, Any] = {}
    start = 0
    for name in names:
        tensor = tensors[name]
        stop = start + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": kinds[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, stop],
        }
        start = stop
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in names:
        flat = tensors[name].detach().numpy().reshape(-1)
        for place in range(0, flat.size, _PIECE):
            file.write(flat[place : place + _PIECE].tobytes())
