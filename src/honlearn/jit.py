"""The compiler in front of every hot loop: numba's ``njit``, cached on disk, the GIL released.

Kept apart so that the options are said once and the decorator is typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, overload

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])


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


def _eight_bytes(context: Any, data: Any, start: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = target.make_array(signature.args[0])(target, builder, arguments[0])
        pointer = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(data, types.int64), generate


def _trailing_zeros(context: Any, value: Any) -> Any:
    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


eight_bytes = cast(Callable[[NDArray[np.uint8], int], np.uint64], intrinsic(_eight_bytes))
"""In compiled code: ``data[start:start + 8]`` as one integer, first byte lowest, aligned or not."""

trailing_zeros = cast(Callable[[np.uint64], np.uint64], intrinsic(_trailing_zeros))
"""In compiled code: how many zero bits lie below the lowest set bit of a number that is not 0."""
