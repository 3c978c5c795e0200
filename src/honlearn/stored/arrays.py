"""Arrays from a file of NumPy's ``.npz``, without pickles.

In: a path, and the kinds and shapes that are expected. Out: arrays of these, in memory, or an error
that names the file and the array. Nothing unpacks to more than a bound.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from honlearn.errors import FormatError, MissingFileError, first_line
from honlearn.stored.parse import ADVICE, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of the arrays of one file together.
MAX_ARRAY_BYTES = 2**34
_PIECE = 1 << 20

_Size = int | str | None
# The kinds of dtype (NumPy's letters, such as "f" or "iu") or one dtype ("f4"), and the number of axes or the
# size of each.
Spec = tuple[str, int | tuple[_Size, ...]]


def read_npz(
    path: str | os.PathLike[str],
    needed: Mapping[str, Spec],
    optional: Mapping[str, Spec] | None = None,
    *,
    most: int = MAX_ARRAY_BYTES,
    advice: str = ADVICE,
) -> dict[str, NDArray[Any]]:
    """Return the named arrays of a ``.npz`` file; what else is in it stays packed, and pickles always do.

    Each array has kinds of dtype, or one dtype, and a number of axes or a shape, in which a number is a size,
    None any size, and a name the same size wherever it stands: ``{"proba": ("f", ("nodes", "classes"))}``.
    NaN and infinity are refused. All arrays together have at most `most` bytes.
    """
    where = os.fspath(path)
    wanted = {**needed, **(optional or {})}
    found: dict[str, NDArray[Any]] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = [info.filename for info in archive.infolist()]
            for name in wanted:
                if members.count(f"{name}.npy") == 1:
                    found[name] = _member(
                        archive, f"{name}.npy", most - sum(a.nbytes for a in found.values())
                    )
    except FileNotFoundError:
        raise MissingFileError(f"{where}: no such file") from None
    except Exception as error:
        # Parsers that are not ours meet bytes that anyone may have written: whatever they raise means damage.
        raise FormatError(f"{where}: damaged ({first_line(error)}); {advice}") from None
    missing = [name for name in needed if name not in found]
    if missing:
        raise FormatError(f"{where}: the array {missing[0]!r} is not there; {advice}")
    check_arrays(found, wanted, where, advice=advice)
    return found


def _member(archive: zipfile.ZipFile, member: str, most: int) -> NDArray[Any]:
    import numpy as np
    from numpy.lib import format as npy

    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of NumPy's format")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, columns_first, dtype = read(stream)
        if dtype.hasobject or dtype.fields is not None or not dtype.itemsize:
            raise ValueError(f"the array {member!r} holds {dtype}")
        # An empty axis beside a huge one takes no bytes, and yet a loop over it never ends.
        size = math.prod(max(length, 1) for length in shape) * dtype.itemsize
        if any(length < 0 for length in shape) or size > most:
            raise ValueError(f"the array {member!r} is of shape {shape}, more than {most:,} bytes")
        data = bytearray(stream.read(math.prod(shape) * dtype.itemsize))
        # The checksum is compared where the member ends.
        if stream.read(1) or len(data) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"the array {member!r} is not of its shape")
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if columns_first else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def check_arrays(
    arrays: Mapping[str, NDArray[Any]],
    specs: Mapping[str, Spec],
    where: str,
    *,
    finite: bool = True,
    advice: str = ADVICE,
) -> None:
    """Raise unless the arrays are of these kinds and shapes (see :func:`read_npz`) and, if asked, finite."""
    sizes: dict[str, int] = {}
    for name, array in arrays.items():
        kinds, shape = specs.get(name, (array.dtype.kind, array.ndim))
        lengths: tuple[_Size, ...] = (None,) * shape if isinstance(shape, int) else shape
        wanted = [sizes.get(n, n) if isinstance(n, str) else n for n in lengths]
        fits = len(wanted) == array.ndim and all(
            not isinstance(n, int) or n == length for n, length in zip(wanted, array.shape, strict=True)
        )
        exact = f"{array.dtype.kind}{array.dtype.itemsize}"
        good = array.dtype.kind in kinds if kinds.isalpha() else exact == kinds
        if not good or not fits:
            axes = ", ".join("any" if n is None else str(n) for n in wanted)
            named = " or ".join(kinds) if kinds.isalpha() else kinds
            raise FormatError(
                f"{where}: the array {shown(name)} must be of kind {named} and shape ({axes}). "
                f"Got {array.dtype} of shape {array.shape} instead; {advice}"
            )
        sizes.update({n: s for n, s in zip(lengths, array.shape, strict=True) if isinstance(n, str)})
        if finite and array.dtype.kind == "f" and not _is_finite(array):
            raise FormatError(f"{where}: {shown(name)} holds NaN or infinite numbers; {advice}")


def _is_finite(array: NDArray[Any]) -> bool:
    import numpy as np

    if array.size <= _PIECE:
        return bool(np.isfinite(array).all())
    # In pieces, since the answers of all numbers at once take a quarter of a large array.
    flat = array.ravel("K")
    return all(np.isfinite(flat[at : at + _PIECE]).all() for at in range(0, flat.size, _PIECE))
