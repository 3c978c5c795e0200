"""Numbers and names for the page: compact typed arrays, and JSON that no HTML parser can mistake.

In: NumPy arrays and plain values. Out: what ``assets/data.js`` unpacks in the browser.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[Any]
_KINDS: dict[str, Any] = {
    "u1": np.uint8,
    "u2": np.uint16,
    "u4": np.uint32,
    "i2": np.int16,
    "i4": np.int32,
    "f4": np.float32,
}
# A parser ends a script at "</script", and old ones read U+2028 as the end of a line.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def pack(values: ArrayLike, kind: str) -> dict[str, Any]:
    """Return an array as ``{"k": kind, "s": shape, "d": base64}``, little-endian.

    >>> pack([1, 2], "u2")
    {'k': 'u2', 's': [2], 'd': 'AQACAA=='}
    """
    array = np.ascontiguousarray(values, np.dtype(_KINDS[kind]).newbyteorder("<"))
    return {"k": kind, "s": list(array.shape), "d": base64.b64encode(array.tobytes()).decode()}


def pack_integers(values: ArrayLike) -> dict[str, Any]:
    """Return non-negative integers in the narrowest kind that holds them."""
    array = np.asarray(values)
    top = int(array.max()) if array.size else 0
    return pack(array, "u1" if top < 1 << 8 else "u2" if top < 1 << 16 else "u4")


def pack_shares(values: ArrayLike, kind: str = "u2") -> dict[str, Any]:
    """Return numbers from 0 to 1 as integers; the page divides them by the largest of their kind."""
    top = np.iinfo(_KINDS[kind]).max
    scaled = np.rint(np.clip(np.nan_to_num(np.asarray(values, np.float64)), 0.0, 1.0) * top)
    return {**pack(scaled, kind), "q": int(top)}


def plain(value: object, digits: int = 6) -> Any:
    """Return a value as JSON holds it: floats rounded to significant digits, None for what is no number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, digits) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist(), digits)
    return value


def embedded(value: object) -> str:
    """Return JSON for a ``<script type="application/json">``: it holds no ``<``, whatever the names are.

    >>> embedded({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPED.items():
        text = text.replace(character, escape)
    return text
