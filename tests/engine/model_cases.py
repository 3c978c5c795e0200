"""Small networks and plain dense references that the tests of the models share."""

from __future__ import annotations

import numpy as np
import torch

from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Architecture, Ensemble
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners.layers import Pass

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


def this_pass(
    learners: int = 3, step: int = 0, input_dropout: float = 0.0, hidden_dropout: float = 0.0
) -> Pass:
    return Pass(Runtime(n_threads=1), STREAMS[:learners], step, input_dropout, hidden_dropout)


def ensemble(hon: HigherOrderNetwork, learners: int = 3, seed: int = 0, features=None, **shape) -> Ensemble:  # type: ignore[no-untyped-def]
    given = {
        "variant": "bag",
        "shared": False,
        "widths": (9, 7),
        "aggregator": "mean",
        "normalize": False,
        **shape,
    }
    size = Architecture(n_learners=learners, n_classes=4, n_entities=hon.n_entities, **given)
    out = Ensemble(size, seed, range(learners), features)
    with torch.no_grad():
        # Zero biases would hide mistakes with them.
        for name, parameter in out.named_parameters():
            if "bias" in name or "epsilon" in name:
                parameter.uniform_(-0.5, 0.5, generator=torch.Generator().manual_seed(len(name)))
    return out


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
