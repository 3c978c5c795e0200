"""honlearn: higher-order networks from observed paths, and deep graph ensembles that learn from them.

Everything below is imported on first use, so ``import honlearn`` stays quick and building a network
never imports torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from honlearn import datasets as datasets
    from honlearn import learners as learners
    from honlearn.baselines.saving import load_model as load_model
    from honlearn.errors import HonlearnError as HonlearnError
    from honlearn.executors import open_executor as open_executor
    from honlearn.hon import GramCounts as GramCounts
    from honlearn.hon import HigherOrderNetwork as HigherOrderNetwork
    from honlearn.hon import count_grams as count_grams
    from honlearn.hon import grow as grow
    from honlearn.hon import load_network as load_network
    from honlearn.hon.counts_file import load_counts as load_counts
    from honlearn.hon.edgelist import from_edges as from_edges
    from honlearn.hon.grow_parts import grow_parts as grow_parts
    from honlearn.hon.networkx_graphs import from_networkx as from_networkx
    from honlearn.hon.steps.sets import StepSets as StepSets
    from honlearn.paths import Paths as Paths
    from honlearn.paths import read_paths as read_paths
    from honlearn.paths import stream_paths as stream_paths
    from honlearn.pipeline.evaluation import evaluate as evaluate
    from honlearn.pipeline.learn import learn as learn
    from honlearn.pipeline.report import report as report
    from honlearn.tasks import DGEClassifier as DGEClassifier
    from honlearn.tasks import DGELinkPredictor as DGELinkPredictor
    from honlearn.tasks import PathClassifier as PathClassifier
    from honlearn.tasks import split_links as split_links
    from honlearn.tasks.model_card import model_card as model_card
    from honlearn.tasks.settings import Pairs as Pairs
    from honlearn.tasks.settings import PathKernel as PathKernel
    from honlearn.tasks.settings import PlainPairs as PlainPairs
    from honlearn.tasks.settings import Structure as Structure
    from honlearn.tasks.settings import Training as Training

_HOME = {
    "HonlearnError": "honlearn.errors",
    "open_executor": "honlearn.executors",
    "Paths": "honlearn.paths",
    "read_paths": "honlearn.paths",
    "stream_paths": "honlearn.paths",
    "GramCounts": "honlearn.hon",
    "HigherOrderNetwork": "honlearn.hon",
    "count_grams": "honlearn.hon",
    "from_edges": "honlearn.hon.edgelist",
    "from_networkx": "honlearn.hon.networkx_graphs",
    "grow": "honlearn.hon",
    "grow_parts": "honlearn.hon.grow_parts",
    "evaluate": "honlearn.pipeline.evaluation",
    "learn": "honlearn.pipeline.learn",
    "report": "honlearn.pipeline.report",
    "load_counts": "honlearn.hon.counts_file",
    "load_network": "honlearn.hon",
    "StepSets": "honlearn.hon.steps.sets",
    "DGEClassifier": "honlearn.tasks",
    "DGELinkPredictor": "honlearn.tasks",
    "PathClassifier": "honlearn.tasks",
    "load_model": "honlearn.baselines.saving",
    "model_card": "honlearn.tasks.model_card",
    "split_links": "honlearn.tasks",
    "Pairs": "honlearn.tasks.settings",
    "PlainPairs": "honlearn.tasks.settings",
    "PathKernel": "honlearn.tasks.settings",
    "Structure": "honlearn.tasks.settings",
    "Training": "honlearn.tasks.settings",
}
_PACKAGES = ("datasets", "learners")

__all__ = ["__version__", *_PACKAGES, *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"honlearn.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'honlearn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
