"""The compiler in front of every hot loop: numba's ``njit``, cached on disk, the GIL released.

Kept apart so that the options are said once and the decorator is typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def njit(function: Function) -> Function: ...
@overload
def njit(**options: Any) -> Callable[[Function], Function]: ...
def njit(function: Any = None, **options: Any) -> Any:
    """Compile `function` on first call and keep the machine code beside the source for the next run."""
    options = {"cache": True, "nogil": True, **options}
    return numba.njit(**options) if function is None else numba.njit(**options)(function)
