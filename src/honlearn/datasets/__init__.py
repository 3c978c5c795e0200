"""Path data to start with: bundled, downloaded, read from the user's files, or made with a known truth.

In: a name, a folder or files. Out: a :class:`Dataset` (paths, labels, facts about the nodes, licence).
Everything is imported on first use; nothing here imports torch.

>>> from honlearn import datasets
>>> datasets.us_flights()
Dataset('us_flights': 286,810 paths, 175 entities, 175 labelled in 11 classes)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from honlearn.datasets.catalogue import Entry as Entry
    from honlearn.datasets.catalogue import available as available
    from honlearn.datasets.catalogue import load as load
    from honlearn.datasets.coupons import db1b as db1b
    from honlearn.datasets.dataset import Dataset as Dataset
    from honlearn.datasets.flights import us_flights as us_flights
    from honlearn.datasets.folder import load_folder as load_folder
    from honlearn.datasets.folder import save_folder as save_folder
    from honlearn.datasets.planted import Truth as Truth
    from honlearn.datasets.planted import synthetic as synthetic
    from honlearn.datasets.rail import rail_grid as rail_grid
    from honlearn.datasets.wiki import wikispeedia as wikispeedia

# No module has the name of a function: importing it would put the module in the function's place.
_HOME = {
    "Dataset": "dataset",
    "Entry": "catalogue",
    "Truth": "planted",
    "available": "catalogue",
    "db1b": "coupons",
    "load": "catalogue",
    "load_folder": "folder",
    "rail_grid": "rail",
    "save_folder": "folder",
    "synthetic": "planted",
    "us_flights": "flights",
    "wikispeedia": "wiki",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"honlearn.datasets.{_HOME[name]}"), name)
    raise AttributeError(f"module 'honlearn.datasets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
