"""Tasks: scikit-learn estimators on higher-order networks."""

from honlearn.tasks.link_split import LinkSplit, split_links
from honlearn.tasks.links import DGELinkPredictor
from honlearn.tasks.nodes import DGEClassifier
from honlearn.tasks.path_classifier import PathClassifier
from honlearn.tasks.saving import load_model

__all__ = ["DGEClassifier", "DGELinkPredictor", "LinkSplit", "PathClassifier", "load_model", "split_links"]
