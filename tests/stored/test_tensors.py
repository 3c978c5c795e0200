"""Files of tensors: what is read from them, and what is told of those that somebody damaged or made up."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from honlearn.errors import FormatError
from honlearn.stored import check_arrays, fill_safetensors, read_safetensors


def packed(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(shape: list[Any], start: int, stop: int, dtype: Any = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


@pytest.mark.parametrize(
    "content",
    [
        bytes(7),
        packed(b"")[:8],
        (2**63).to_bytes(8, "little") + b"{}",
        packed(b"{}")[:9],
        packed(b"[]"),
        packed(b" {}"),
        packed(b'{"w": 1, "w": 1}'),
        packed({"w": 1}),
        packed({"w": ["data_offsets", "dtype", "shape"]}),
        packed({"w": {"dtype": "F32", "shape": None, "data_offsets": [0, 4]}}, bytes(4)),
        packed({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 4]}}, bytes(4)),
        packed({"w": {"dtype": "F32", "shape": {"1": 1}, "data_offsets": [0, 4]}}, bytes(4)),
        packed({"w": entry([1.0], 0, 4)}, bytes(4)),
        packed({"w": entry([1], 0, 4, "F\n32")}, bytes(4)),
        packed({"w": {"dtype": "F32", "shape": [1]}}, bytes(4)),
        packed({"w": entry([1], 0, 4, 32)}, bytes(4)),
        packed({"w": entry([True], 0, 4)}, bytes(4)),
        packed({"w": entry([-1], 0, 4)}, bytes(4)),
        packed({"w": entry([1], 0, 4)}, bytes(3)),
        packed({"w": entry([1], 0, 4)}, bytes(5)),
        packed({"w": entry([1], 4, 8)}, bytes(8)),
        packed({"w": entry([1], 4, 0)}),
        packed({"v": entry([1], 0, 4), "w": entry([1], 0, 4)}, bytes(4)),
        packed({"v": entry([1], 0, 4), "w": entry([2], 2, 10)}, bytes(10)),
        packed({"v": entry([1], 0, 4), "w": entry([1], 8, 12)}, bytes(12)),
        packed({"w": entry([2**40], 0, 4)}, bytes(4)),
        packed({"w": entry([0, 2**60], 0, 0)}),
        packed({"w": entry([1] * 40, 0, 4)}, bytes(4)),
        packed({"__metadata__": {"a": 1}}),
        packed({"__metadata__": []}),
    ],
)
def test_headers_that_do_not_fit_their_file_are_told(content: bytes) -> None:
    with pytest.raises(FormatError, match=r"^w\.safetensors: damaged \(.*\); write or copy it again$"):
        read_safetensors(content, "w.safetensors")


def test_a_file_that_shrinks_while_it_is_read_is_told() -> None:
    content = packed({"w": entry([3], 0, 12)}, bytes(12))
    with pytest.raises(FormatError, match=r"damaged \(cut short while it was read"):
        fill_safetensors(io.BytesIO(content[:-1]), len(content), "w.safetensors")


def test_arrays_are_read_into_the_memory_that_is_made_for_them() -> None:
    made: dict[str, np.ndarray] = {}

    def empty(name: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        made[name] = np.full(shape, 9, dtype)
        return made[name]

    header = {"v": entry([0, 3], 0, 0), "w": entry([], 0, 4), "b": entry([2], 4, 6, "BOOL")}
    content = packed(header, np.float32(2).tobytes() + b"\1\0")
    _, found = fill_safetensors(io.BytesIO(content), len(content), "w", empty)
    assert all(found[name] is made[name] for name in header)
    assert (found["w"], found["b"].tolist(), found["v"].shape) == (2, [True, False], (0, 3))


@pytest.mark.parametrize("place", [0, 2**20 - 1, 2**20, 2**20 + 2])
def test_no_number_of_a_large_array_is_overlooked(place: int) -> None:
    flat = np.zeros(2**20 + 3, np.float32)
    flat[place] = np.nan
    for array in (flat, flat.reshape(-1, 1).T, np.repeat(flat, 2)[::2]):
        with pytest.raises(FormatError, match="'a' holds NaN"):
            check_arrays({"a": array}, {}, "x")
