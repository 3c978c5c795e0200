"""Tasks: scikit-learn estimators on higher-order networks."""

from honlearn.tasks.link_split import LinkSplit, split_links
from honlearn.tasks.links import DGELinkPredictor
from honlearn.tasks.nodes import DGEClassifier
from honlearn.tasks.saving import load_model

__all__ = ["DGEClassifier", "DGELinkPredictor", "LinkSplit", "load_model", "split_links"]
