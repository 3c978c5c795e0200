"""Every variant with every learner, for nodes and links: it trains, and probabilities sum to 1.

Bags and pools of every learner are in test_learners_in_ensembles.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from honlearn import DGEClassifier, DGELinkPredictor, PathKernel, Training
from honlearn.hon.edgelist import from_edges
from honlearn.learners import GAT, GCN, GCNII, GIN, SAGE, GATv2, TorchLearner

VARIANTS = [
    ("bag", True), ("pool", True), ("concat", False), ("concat", True), ("attn", False), ("attn", True),
    ("batch", True),
]  # fmt: skip


class Mean(torch.nn.Module):
    """A node's own input and the mean of its neighbours'."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.own, self.near = torch.nn.Linear(n_in, n_out), torch.nn.Linear(n_in, n_out)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        degree = torch.zeros(len(x), 1).index_add(0, edge_index[1], torch.ones(edge_index.shape[1], 1))
        near = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return self.own(x) + self.near(near / degree.clamp_min(1))


LEARNERS: list[Any] = [
    SAGE(widths=(6, 6)),
    SAGE(widths=(6, 6), aggregator="max"),
    SAGE(widths=(6, 6), fan_outs=(3, 2)),
    GIN(widths=(6, 6)),
    GCN(widths=(6, 6)),
    GCNII(widths=(6, 6)),
    GAT(widths=(6, 6), heads=2),
    GATv2(widths=(6, 6), heads=2),
    TorchLearner(Mean, in_channels=4, out_channels=6),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=[f"{i}-{one.kind}" for i, one in enumerate(LEARNERS)])
@pytest.mark.parametrize("task", ["nodes", "links"])
def test_every_variant_trains(task: str, learner: Any) -> None:
    near = [(f"{s}{i}", f"{s}{(i + k) % 7}") for s in "ab" for i in range(7) for k in (1, 2)]
    near += [("a0", "b1|a0"), ("b1|a0", "b2"), ("b3", "a4|b3"), ("a4|b3", "a5")]
    hon = from_edges(*zip(*near, strict=True))
    names = list(hon.vocabulary)
    for variant, shared in VARIANTS:
        given: dict[str, Any] = {"learner": learner, "variant": variant, "shared": shared, "n_learners": 2}
        given |= {"training": Training(max_epochs=1), "n_threads": 1, "random_state": 0}
        if task == "nodes":
            model = DGEClassifier(hon, path_kernel=PathKernel(0, 0), **given).fit(
                names, [n[0] for n in names]
            )
            proba = model.predict_proba(names)
        else:
            proba = DGELinkPredictor(hon, **given).fit().predict_proba([("a0", "b5"), ("a1", "a2")])
        assert proba.shape[1] == 2, (variant, shared)
        np.testing.assert_allclose(proba.sum(1), 1, rtol=1e-5, err_msg=f"{variant} {shared}")
