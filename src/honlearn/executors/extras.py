"""Optional packages: imported when they are needed; one that is missing is named with how to get it.

In: the name of a module and of the extra that it is in. Out: the module.
"""

from __future__ import annotations

import importlib
from typing import Any

from honlearn.errors import HonlearnError


class MissingExtraError(HonlearnError, ImportError):
    """A package that only some executors need is not installed."""


def extra(module: str, name: str) -> Any:
    """Return a module of the optional dependencies `name`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"executor {name!r} needs a package that is not installed ({error}): pip install honlearn[{name}]"
        ) from error
