"""Tasks: scikit-learn estimators on higher-order networks, each imported on first use.

In: networks or paths, names and labels. Out: fitted estimators that predict, explain and are saved.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from honlearn.tasks.link_split import LinkSplit, split_links
    from honlearn.tasks.links import DGELinkPredictor
    from honlearn.tasks.nodes import DGEClassifier
    from honlearn.tasks.path_classifier import PathClassifier
    from honlearn.tasks.saving import load_model

__all__ = ["DGEClassifier", "DGELinkPredictor", "LinkSplit", "PathClassifier", "load_model", "split_links"]

_HOME = {
    "DGEClassifier": "nodes",
    "DGELinkPredictor": "links",
    "LinkSplit": "link_split",
    "PathClassifier": "path_classifier",
    "load_model": "saving",
    "split_links": "link_split",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"honlearn.tasks.{_HOME[name]}"), name)
    raise AttributeError(f"module 'honlearn.tasks' has no attribute {name!r}")
