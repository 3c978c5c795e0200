"""Tiny ensembles for the battery over learners and variants: one network, every learner, both tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn

import honlearn as hl
from honlearn import DGEClassifier, DGELinkPredictor, Pairs, PathKernel, Training
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import GAT, GCN, GCNII, GIN, SAGE, GATv2, TorchLearner

N_LEARNERS = 3
PAIRS = [("a0", "a3"), ("a1", "b2"), ("b5", "b1"), ("b0", "a6")]


class MeanNetwork(nn.Module):
    """A module as a user writes it: the mean over incoming edges, with running statistics and dropout."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(2 * n_in, n_out), nn.BatchNorm1d(n_out)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor, edge_weight: torch.Tensor) -> torch.Tensor:
        source, target = edge_index
        near = torch.zeros_like(x).index_add(0, target, x[source] * edge_weight[:, None])
        total = torch.zeros(len(x)).index_add(0, target, edge_weight)
        h = self.norm(self.linear(torch.cat([x, near / total.clamp_min(1e-9)[:, None]], 1)))
        return nn.functional.dropout(torch.relu(h), 0.1, self.training)


LEARNERS: dict[str, Any] = {
    "sage": SAGE(widths=(9, 6)),
    "gin": GIN(widths=(8, 6)),
    "gcn": GCN(widths=(8, 6)),
    "gcnii": GCNII(widths=(6, 6)),
    "gat": GAT(widths=(8, 6), heads=2),
    "gatv2": GATv2(widths=(8, 6), heads=2, use_weights=True),
    "torch": TorchLearner(MeanNetwork, in_channels=5, out_channels=6),
}


@dataclass(frozen=True)
class Case:
    """An ensemble of some learners: which variant, for which task, with features or not."""

    learners: tuple[str, ...]
    variant: str = "bag"
    shared: bool = False
    task: str = "nodes"
    with_features: bool = False

    def __str__(self) -> str:
        star, features = "*" if self.shared else "", "-features" if self.with_features else ""
        return f"{self.task}-{self.variant}{star}-{'+'.join(self.learners)}{features}"

    @property
    def make(self) -> Any:
        """What a saved model of this case is loaded with."""
        return MeanNetwork if "torch" in self.learners else None


@cache
def tiny_paths() -> list[list[str]]:
    """Return walks with memory in two groups of seven entities."""
    random = np.random.default_rng(0)
    paths = []
    for _ in range(60):
        group = int(random.integers(2))
        walk = [int(random.integers(7)), int(random.integers(7))]
        for _ in range(3):
            walk.append((walk[-2] * 2 + 1) % 7 if random.random() < 0.6 else int(random.integers(7)))
        names = [f"{'ab'[group]}{place}" for place in walk]
        paths.append([*names, "b0"] if random.random() < 0.1 else names)
    return paths


@cache
def tiny() -> tuple[HigherOrderNetwork, list[str], list[str]]:
    """Return a higher-order network of two groups of seven entities, their names and groups."""
    hon = hl.grow(tiny_paths(), order=2, tau=0.5, min_support=2)
    nodes = list(hon.vocabulary)
    assert (len(nodes), hon.n_conditional > 4) == (14, True)
    return hon, nodes, [name[0] for name in nodes]


def learner_of(names: Sequence[str], masked: bool = False) -> Any:
    """Return the `learner` parameter of these names, with masked roots or as usual."""
    made = [hl.learners.KINDS[name](**LEARNERS[name].get_params()) for name in names]
    for one in made if masked else []:
        one.set_params(mask_self=True)
    return made[0] if len(made) == 1 else made


def make_ensemble(case: Case, **given: Any) -> DGEClassifier | DGELinkPredictor:
    """Return the estimator of a case, trained for a few epochs in a few batches, not fitted."""
    nodes = case.task == "nodes"
    training = Training(
        max_epochs=3, patience=1, batch_size=4 if nodes else 100, refit=2.0, validation_fraction=0.25
    )
    training.set_params(**{name: given.pop(name) for name in list(given) if name in training.get_params()})
    settings = {
        "network": tiny()[0],
        "learner": learner_of(case.learners, masked=nodes),
        "n_learners": N_LEARNERS if len(case.learners) == 1 else 4,
        "variant": case.variant,
        "shared": case.shared,
        "n_heads": 2,
        "features": np.random.default_rng(1).normal(size=(14, 3)) if case.with_features else None,
        "training": training,
        "n_threads": 1,
        "random_state": 0,
    }
    if nodes:
        return DGEClassifier(**settings | {"path_kernel": PathKernel(vectors=0, share=0)} | given)
    return DGELinkPredictor(**settings | {"pairs": Pairs(width=5)} | given)


def fit(case: Case, **given: Any) -> Any:
    """Return the fitted estimator of a case."""
    _, nodes, y = tiny()
    model = make_ensemble(case, **given)
    return model.fit(nodes[1:-1], y[1:-1]) if case.task == "nodes" else model.fit()


@cache
def fitted(case: Case) -> Any:
    """Return the fitted estimator of a case, the same one every time."""
    return fit(case)


def asked(case: Case) -> list[Any]:
    """Return what a fitted estimator of a case is asked for."""
    return tiny()[1] if case.task == "nodes" else PAIRS
