"""The compiler in front of every hot loop: numba's ``njit``, cached on disk, the GIL released.

Kept apart so that the options stand in one place and the decorator is typed. Machine code that was kept is
loaded without numba's tables of what can be compiled (:class:`QuickCache`). The types of the arrays that
compiled code takes are named here too.
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
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
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

    They are imported with the first function that is compiled anyway. What is left out is one look whether
    BLAS is there: where scipy is installed it is, and a function that calls BLAS still looks for itself.
    """
    if "numba.np.arraymath" in sys.modules or "scipy.linalg" in sys.modules:
        return
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


class QuickCache(FunctionCache):
    """numba's cache on disk; what it holds is loaded without what only a compilation needs.

    numba imports everything that it can compile before it looks whether there is anything to compile, a
    quarter of the time that a small file takes. Kept machine code needs numba's runtime only. (It may not
    hash text, whose functions numba registers among the rest.)
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the kept result for a signature, or None: then the caller compiles."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            if found is not None:
                return found
        _load_array_functions()
        return None


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
    compiled = numba.njit(**{"nogil": True, **options})(function)
    # Disabled by NUMBA_DISABLE_JIT, numba returns the function itself.
    if compiled is not function:
        try:
            compiled._cache = QuickCache(function)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
    return compiled


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
