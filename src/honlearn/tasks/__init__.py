"""Tasks: scikit-learn estimators on higher-order networks."""

from honlearn.tasks.nodes import DGEClassifier
from honlearn.tasks.saving import load_model

__all__ = ["DGEClassifier", "load_model"]
