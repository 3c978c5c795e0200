"""The one door for everything structured that comes from a file: JSON, NumPy's ``.npz`` and safetensors.

In: bytes or a path, and what is expected. Out: plain values and arrays of the expected types and shapes, or a
:class:`~honlearn.errors.HonlearnError` that names the file, the key, what was got and what to do. Whatever a
file contains, nothing in it is run, nothing unpacks to more than a bound, and no other exception comes out.
"""

from honlearn.stored.arrays import Spec, check_arrays, read_npz
from honlearn.stored.fields import Fields
from honlearn.stored.parse import opened, parse_json, read_bytes, read_json, shown
from honlearn.stored.tensors import TYPES, fill_safetensors, read_safetensors

__all__ = [
    "TYPES",
    "Fields",
    "Spec",
    "check_arrays",
    "fill_safetensors",
    "opened",
    "parse_json",
    "read_bytes",
    "read_json",
    "read_npz",
    "read_safetensors",
    "shown",
]
