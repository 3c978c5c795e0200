"""Modules that are imported now and executed when something of them is used.

In: the names of modules that others import at their start and that a short command does without. Out:
nothing; ``import`` of such a module is instant, and its first attribute executes it. scikit-learn, for one,
imports all of scipy.stats, a quarter of the time that ``honlearn predict`` takes, for functions that it
seldom calls. The command line alone defers; honlearn does not change the imports of the user's own process.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

# One for all: modules use each other, and two locks taken in turn could wait for each other.
_LOCK = threading.RLock()


class _Deferred(ModuleType):
    """A module that is executed when an attribute is asked for that it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        with _LOCK:
            loader = vars(self)["__loader__"]
            if isinstance(loader, _Postponed):
                loader.execute(self)
            return super().__getattribute__(name)


class _Postponed(Loader):
    """Makes the module at once, and executes it with the loader that it has by right, later."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the making to Python."""

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing yet. The import of a submodule asks for `__path__`, and so executes its package."""
        vars(module).pop("__path__", None)
        module.__class__ = _Deferred

    def execute(self, module: ModuleType) -> None:
        """Make the module what it would have been."""
        spec = module.__spec__
        assert spec is not None
        spec.loader = module.__loader__ = self.loader
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        self.loader.exec_module(module)


class _Finder(MetaPathFinder):
    """Finds the modules that are deferred where they lie, and gives them a loader that waits."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a deferred module, None for all others."""
        if fullname not in self.names:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Postponed(spec.loader)
        return spec


_FINDER = _Finder()


def deferred_names() -> tuple[str, ...]:
    """Return the modules that are deferred in this process."""
    return tuple(sorted(_FINDER.names)) if _FINDER in sys.meta_path else ()


def defer(*names: str) -> None:
    """Let these modules, where nothing has imported them yet, be executed on first use."""
    if not names:
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.names.update(names)
