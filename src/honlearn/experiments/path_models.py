"""Models of the class of a whole path that are compared, by name.

In: a name and a seed. Out: an estimator with ``fit(paths, labels)``, ``predict_proba(paths)``, ``classes_``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.experiments.registry import find_among
from honlearn.paths.paths import Paths

Make = Callable[..., Any]


class MajorityOfPaths:
    """The floor: how often each class occurs, whatever the path."""

    def fit(self, X: Paths, y: Any) -> MajorityOfPaths:
        """Count the classes; a path with a count is one example, as it is tested."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.shares_ = np.bincount(codes) / len(codes)
        self.n_parameters_ = len(self.shares_)
        return self

    def predict_proba(self, X: Paths) -> NDArray[np.float64]:
        """Return the same shares for every path, [n, C]."""
        return np.tile(self.shares_, (len(X), 1))


def _path_classifier(seed: int, **settings: Any) -> Any:
    from honlearn.tasks.path_classifier import PathClassifier

    return PathClassifier(**settings, random_state=seed)


def _bag_of_entities(seed: int, **settings: Any) -> Any:
    return _path_classifier(seed, **{"order": 0, "vectors": 0, **settings})


def _majority(seed: int) -> Any:
    return MajorityOfPaths()


def _gru(seed: int) -> Any:
    from honlearn.baselines.path_gru import PathGRUClassifier

    return PathGRUClassifier(random_state=seed)


MODELS: Mapping[str, Make] = {
    "path-classifier": _path_classifier,
    "bag-of-entities": _bag_of_entities,
    "gru": _gru,
    "majority": _majority,
}
SETTABLE = ("path-classifier", "bag-of-entities")
"""Models that take keywords of :class:`~honlearn.PathClassifier`."""


def find_path_model(name: str) -> str:
    """Return the name as it is known, or raise."""
    return find_among(name, MODELS, "paths")


def parameters_of(model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the results of a model: its parameters with defaults, as plain values."""
    if model in SETTABLE:
        made = MODELS[model](0, **settings)
        made.check()
        given = made.get_params()
        return {name: value for name, value in given.items() if name != "random_state"}
    if model == "gru":
        from dataclasses import asdict

        from honlearn.baselines.path_gru import SETTINGS

        return asdict(SETTINGS)
    return {}
