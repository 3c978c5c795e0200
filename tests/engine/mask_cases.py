"""SAGE and GIN with masked roots, written slowly: nodes by name, one root at a time, dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.ensemble import Ensemble
from honlearn.hon.build import grow
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork

Vector = NDArray[np.float64]


def returning_paths() -> HigherOrderNetwork:
    """Return a network of order 3 whose walks like to return."""
    random = np.random.default_rng(1)
    paths = []
    for _ in range(60):
        path = random.integers(0, 8, 5).tolist()
        path[3] = path[1]
        paths.append([f"n{i}" for i in path])
    hon = grow(paths, order=3, alpha=1, min_support=2)
    assert hon.max_order == 3
    return hon


def returning() -> HigherOrderNetwork:
    """Return a network where every neighbour of r comes from r: no other node reveals the identity of r."""
    edges = [
        ("r", "a|r", 3), ("r", "b|r", 2), ("a|r", "c", 1), ("a|r", "r", 4), ("b|r", "r", 2), ("b|r", "d", 1),
        ("c", "d", 5), ("d", "c", 1), ("a", "c", 2), ("b", "d", 2),
    ]  # fmt: skip
    return from_edges(*zip(*edges, strict=True))


class SlowLearner:
    """One learner of a model over named nodes; where `masked`, a root does not look itself up."""

    def __init__(
        self,
        hon: HigherOrderNetwork,
        model: Ensemble,
        learner: int,
        features: NDArray[Any] | None,
        masked: bool,
        power: float = 1.0,
    ) -> None:
        (kind,) = model.shape.kinds
        self.kind, self.masked = getattr(kind, "aggregator", kind.kind), masked
        self.entities = list(hon.vocabulary)
        self.features = np.zeros((len(self.entities), 0)) if features is None else features
        self.weights = [
            {name: _weight(part, learner) for name, part in _parts(one)} for one in model.stacks[0].layers
        ]
        self.edges: dict[str, dict[str, dict[str, float]]] = {"into": {}, "out_of": {}}
        for source, target, weight in hon.to_pandas().itertuples(index=False):
            self.edges["out_of"].setdefault(source, {})[target] = float(weight) ** power
            self.edges["into"].setdefault(target, {})[source] = float(weight) ** power

    def represent(self, root: str) -> Vector:
        """Return the output of the last layer for a root."""
        return self._layer(root, len(self.weights), is_root=True)

    def _look_up(self, entity: str, named: bool) -> Vector:
        one_hot = np.array([float(named and entity == other) for other in self.entities])
        return np.concatenate([one_hot, self.features[self.entities.index(entity)]])

    def _layer(self, node: str, depth: int, is_root: bool) -> Vector:
        """Return the output of layer `depth` (1: the first) for a node, with relu unless it is the last."""
        base, *before = node.split("|")
        own = (
            self._look_up(base, named=not (self.masked and is_root))
            if depth == 1
            else self._layer(node, depth - 1, is_root)
        )
        around = {}
        for side, edges in self.edges.items():
            found, degree = edges.get(node, {}), len(edges.get(node, {}))
            total = sum(found.values())
            near = [
                (weight * degree / total, self._look_up(other.split("|")[0], True))
                if depth == 1
                else (weight * degree / total, self._layer(other, depth - 1, is_root=False))
                for other, weight in found.items()
                if depth > 1 or not self.masked or before[:1] != [other.split("|")[0]]
            ]
            around[side] = near
        out = getattr(self, f"_{self.kind}")(self.weights[depth - 1], own, around)
        return np.asarray(out if depth == len(self.weights) else np.maximum(out, 0))

    def _mean(self, w: dict[str, Any], own: Vector, around: dict[str, Any]) -> Vector:
        parts = [own @ w["own"]]
        for side, near in around.items():
            total = sum(weight for weight, _ in near)
            mean = sum((weight / total * vector for weight, vector in near), np.zeros(len(own)))
            parts.append(mean @ w[side])
        return np.asarray(np.concatenate(parts) + w["bias"])

    def _gin(self, w: dict[str, Any], own: Vector, around: dict[str, Any]) -> Vector:
        hidden = [
            ((1 + w["epsilon"][i]) * own + sum((a * vector for a, vector in near), np.zeros(len(own))))
            @ w[side]
            for i, (side, near) in enumerate(around.items())
        ]
        width = len(hidden[0])
        inner = np.maximum(np.concatenate(hidden) + w["bias"], 0)
        return np.concatenate([inner[:width] @ w["into_2"], inner[width:] @ w["out_of_2"]]) + w["bias_2"]

    def _max(self, w: dict[str, Any], own: Vector, around: dict[str, Any]) -> Vector:
        parts, start = [own @ w["own"]], 0
        for side, near in around.items():
            width = w[f"pool_{side}"].shape[1]
            values = [vector @ w[f"pool_{side}"] for _, vector in near]
            best = np.max(values, axis=0) if values else np.zeros(width)
            parts.append(np.maximum(best + w["pool_bias"][start : start + width], 0) @ w[side])
            start += width
        return np.asarray(np.concatenate(parts) + w["bias"])


def _parts(layer: torch.nn.Module) -> list[tuple[str, Any]]:
    return [*layer.named_children(), *layer.named_parameters(recurse=False)]


def _weight(part: Any, learner: int) -> NDArray[np.float64]:
    """Return a weight of one learner; one over look-ups with the rows of features below those of names."""
    if not isinstance(part, torch.nn.Parameter):
        part = torch.cat([rows for rows in (part.identity, part.matrix) if rows is not None], 1)
    return np.asarray(part[learner].detach().double().numpy())
