"""Small networks and plain dense references that the tests of the models share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from honlearn.engine.adjacency import Adjacency, directed_means, directed_sums
from honlearn.engine.context import ForwardContext
from honlearn.engine.neighborhoods import NO_MASK, ExactNeighborhood, SelfMask
from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Architecture, Ensemble, Surroundings, surroundings
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import GIN, SAGE, Learner

STREAMS = np.array([11, 222, 3333], np.uint64)


def small_network(seed: int = 0, entities: int = 12, extra: int = 8, edges: int = 70) -> HigherOrderNetwork:
    """Return a random network with conditional nodes, sinks, sources and self-loops."""
    random = np.random.default_rng(seed)
    names = [f"n{i:02d}" for i in range(entities)]
    pairs = [(names[i], names[j]) for i in range(entities) for j in range(entities) if i != j]
    chosen = random.permutation(len(pairs))[:extra]
    labels = [*names, *(f"{a}|{b}" for a, b in (pairs[i] for i in chosen))]
    # n00 has no in-edges, n01 no out-edges.
    all_edges = [(s, t) for s in labels for t in labels if s != "n01" and t != "n00"]
    picked = [all_edges[i] for i in random.permutation(len(all_edges))[:edges]]
    picked += [(s, "n01") for s in labels if s not in {"n01"} and (s, "n01") not in picked]
    return from_edges(*zip(*picked, strict=True), random.integers(1, 9, len(picked)))


def context(learners: int = 3, step: int = 0, training: bool = False) -> ForwardContext:
    return ForwardContext(Runtime(n_threads=1), STREAMS[:learners], step, training)


def sage_or_gin(kind: str = "mean", **parameters: Any) -> Learner:
    """Return a learner with every parameter set: SAGE with this aggregator, or GIN; without dropout."""
    given = {
        "widths": (9, 7),
        "edge_power": 1.0,
        "input_dropout": 0.0,
        "hidden_dropout": 0.0,
        "normalize": False,
        "mask_self": False,
        **parameters,
    }
    return GIN(**given) if kind == "gin" else SAGE(aggregator=kind, **given)


def ensemble(
    hon: HigherOrderNetwork,
    kind: str | Learner = "mean",
    learners: int = 3,
    seed: int = 0,
    features: Any = None,
    variant: str = "bag",
    shared: bool = False,
    **parameters: Any,
) -> Ensemble:
    learner = sage_or_gin(kind, **parameters) if isinstance(kind, str) else kind
    learner.check()
    size = Architecture(variant, shared, learners, 4, hon.n_entities, (learner,))
    out = Ensemble(size, seed, range(learners), features)
    stir(out)
    return out


@torch.no_grad()
def stir(model: torch.nn.Module) -> None:
    """Draw biases and the like at random: zeros would hide mistakes with them."""
    for name, parameter in model.named_parameters():
        if any(word in name for word in ("bias", "epsilon", "mask", "of_weights")):
            parameter.uniform_(-0.5, 0.5, generator=torch.Generator().manual_seed(len(name)))


def around(hon: HigherOrderNetwork, model: Ensemble, features: bool = False) -> Surroundings:
    """Return the neighbourhoods that the learners of a model read."""
    return surroundings(hon, model.shape, features)


def exact(
    hon: HigherOrderNetwork,
    n_layers: int,
    sums: bool = False,
    power: float = 1.0,
    mask: SelfMask = NO_MASK,
) -> ExactNeighborhood:
    """Return whole neighbourhoods by direction, with means or sums."""
    adjacency: Adjacency = (directed_sums if sums else directed_means)(hon, power)
    return ExactNeighborhood(hon, n_layers, adjacency, mask)


def dense(hon: HigherOrderNetwork, direction: str, kind: str) -> torch.Tensor:
    """Return the neighbourhood matrix [N, N]: shares (mean), shares × degree (sum), or zeros and ones."""
    weights = hon.to_scipy().toarray().astype(float)
    weights = weights if direction == "out" else weights.T
    there = weights > 0
    if kind == "there":
        return torch.tensor(there)
    total = np.where(weights.sum(1) > 0, weights.sum(1), 1)[:, None]
    scale = there.sum(1)[:, None] if kind == "sum" else 1
    return torch.tensor(weights / total * scale, dtype=torch.float32)
