"""The compiler in front of every hot loop: numba's ``njit``, cached on disk, the GIL released.

Kept apart so that the options are said once and the decorator is typed. The types of the arrays that compiled
code takes are named here too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numba.core.typing.context import BaseContext as Typing
    from numba.core.typing.templates import Signature

    Intrinsic = tuple[Signature, Callable[..., ir.Value]]

Function = TypeVar("Function", bound=Callable[..., Any])

Floats = NDArray[np.float32]
"""What compiled code computes with: float32 of any shape."""

Integers = NDArray[np.integer[Any]]
"""What compiled code looks up by: pointers, rows and columns, int32 or int64 of any shape."""


class Target(Protocol):
    """What instructions are generated for: the part of numba's own class that is used here."""

    def make_array(self, kind: types.Array) -> Callable[..., Any]:
        """Return what reads the fields of an array of this type."""

    def get_dummy_value(self) -> ir.Value:
        """Return the value of a function that returns nothing."""


def _load_array_functions() -> None:
    """Import numba's array functions without scipy's linear algebra, a tenth of a whole run on large data.

    They are imported with the first compiled function anyway. What is left out is one look whether BLAS is
    there: where scipy is installed it is, and a function that calls BLAS still looks for itself.
    """
    from numba.np import linalg

    def installed() -> None:
        if find_spec("scipy") is None:
            raise ImportError("scipy is required for linear algebra")

    look = linalg.ensure_blas
    linalg.ensure_blas = installed
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = look


if "numba.np.arraymath" not in sys.modules and "scipy.linalg" not in sys.modules:
    _load_array_functions()


@overload
def njit(function: Function, **options: Any) -> Function: ...
@overload
def njit(**options: Any) -> Callable[[Function], Function]: ...
def njit(function: Any = None, **options: Any) -> Any:
    """Compile `function` on first call and keep the machine code beside the source for the next run.

    Where neither that folder nor the user's own can be written to, each run compiles anew.
    """
    if function is None:
        return lambda function: njit(function, **options)
    options = {"cache": True, "nogil": True, **options}
    try:
        return numba.njit(**options)(function)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return numba.njit(**{**options, "cache": False})(function)


def _eight_bytes(context: Typing, data: types.Array, start: types.Integer) -> Intrinsic:
    def generate(
        target: Target, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        array = target.make_array(signature.args[0])(target, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(data, types.int64), generate


def _equal_bytes(context: Typing, data: types.Array, start: types.Integer, byte: types.Integer) -> Intrinsic:
    def generate(
        target: Target, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        array = target.make_array(signature.args[0])(target, builder, arguments[0])
        vector, lane = ir.VectorType(ir.IntType(8), 64), ir.IntType(32)
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), vector.as_pointer())
        one = builder.insert_element(ir.Constant(vector, ir.Undefined), arguments[2], lane(0))
        every = builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(lane, 64), [0] * 64))
        equal = builder.icmp_unsigned("==", builder.load(pointer, align=1), every)
        return builder.bitcast(equal, ir.IntType(64))

    return types.uint64(data, types.int64, types.uint8), generate


def _trailing_zeros(context: Typing, value: types.Integer) -> Intrinsic:
    def generate(
        target: Target, builder: ir.IRBuilder, signature: Signature, arguments: list[ir.Value]
    ) -> ir.Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


eight_bytes = cast(Callable[[NDArray[np.uint8], int], np.uint64], intrinsic(_eight_bytes))
"""In compiled code: ``data[start:start + 8]`` as one integer, first byte lowest, aligned or not."""

equal_bytes = cast(Callable[[NDArray[np.uint8], int, int], np.uint64], intrinsic(_equal_bytes))
"""In compiled code: which of ``data[start:start + 64]`` are `byte`, one bit each, first byte lowest."""

trailing_zeros = cast(Callable[[np.uint64], np.uint64], intrinsic(_trailing_zeros))
"""In compiled code: how many zero bits lie below the lowest set bit of a number that is not 0."""
