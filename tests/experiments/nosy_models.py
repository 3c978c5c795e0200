"""Models of somebody else, registered by name: they remember what they were shown, for tests of leaks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from honlearn.errors import InputError


class NosyClassifier:
    """Predicts the most frequent class it was shown, more surely with a larger `strength`."""

    shown: ClassVar[list[list[str]]] = []

    def __init__(self, network: Any, strength: float = 0.5, random_state: int | None = None) -> None:
        self.network, self.strength, self.random_state = network, strength, random_state

    def fit(self, X: Any, y: Any) -> NosyClassifier:
        NosyClassifier.shown.append(list(X))
        self.classes_, counts = np.unique(np.asarray(y), return_counts=True)
        self.best, self.n_parameters_ = int(counts.argmax()), 1
        return self

    def predict_proba(self, X: Any) -> Any:
        proba = np.full((len(X), len(self.classes_)), (1 - self.strength) / len(self.classes_))
        proba[:, self.best] += self.strength
        return proba


class FussyClassifier(NosyClassifier):
    """The same, but it cannot be fitted with a `strength` above 1."""

    def fit(self, X: Any, y: Any) -> NosyClassifier:
        if self.strength > 1:
            raise InputError("too strong")
        return super().fit(X, y)


class NosyLinkPredictor:
    """Scores pairs by the product of degrees; remembers the network and the pairs it must not use."""

    shown: ClassVar[list[tuple[Any, list[tuple[str, str]]]]] = []

    def __init__(
        self, network: Any, power: float = 1.0, directed: bool = True, random_state: int = 0
    ) -> None:
        self.network, self.power, self.directed, self.random_state = network, power, directed, random_state

    def fit(self, X: Any = None, y: Any = None, *, exclude: Any = None) -> NosyLinkPredictor:
        NosyLinkPredictor.shown.append((self.network, list(exclude)))
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> Any:
        first = self.network.first_order()
        out = dict(zip(first.vocabulary.names, np.diff(first.indptr).tolist(), strict=True))
        scores = np.array([(1.0 + out[u] * out[v]) ** self.power for u, v in X])
        linked = scores / (1.0 + scores)
        return np.stack([1 - linked, linked], 1)
