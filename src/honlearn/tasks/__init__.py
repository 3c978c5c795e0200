"""Tasks: scikit-learn estimators on higher-order networks."""

from honlearn.tasks.nodes import DGEClassifier

__all__ = ["DGEClassifier"]
