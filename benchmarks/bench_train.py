"""How long a step of training takes, against the same arithmetic in torch and in PyTorch Geometric.

    python benchmarks/bench_train.py [--scale 0.1] [--learners 16] [--json FILE] [NETWORK]

Each row is CPU milliseconds for one step (forward, backward, Adam) of one learner: GraphSAGE with weighted
means over in- and out-neighbours, two layers of 128, on identities, with dropout, for an eighth of the
entities as roots. `built-in` trains all learners side by side; `torch CSR` multiplies with sparse matrices,
one learner after another; `PyG modules` are ``DirGNNConv(SAGEConv)`` over edges. `one product` is the limit:
the sparse products of one forward and one backward pass alone. Without NETWORK a random network about as
large as the paper's Wiki is made, times the scale.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import honlearn as hl
from honlearn.engine.adjacency import matrix_of, normalized
from honlearn.engine.context import ForwardContext
from honlearn.engine.optimizer import Adam
from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import split_width
from honlearn.ensemble.ensemble import Architecture, Ensemble, surroundings
from honlearn.hon.edgelist import from_edges
from honlearn.learners import GAT, GCN, GCNII, SAGE, GATv2, Learner

WIDTH, CLASSES = 128, 10
ENTITIES, EDGES = 4_200, 72_000


def random_network(scale: float) -> Any:
    random = np.random.default_rng(0)
    entities, edges = max(int(ENTITIES * scale), 30), max(int(EDGES * scale), 200)
    # Degrees as uneven as those of links between pages.
    chance = 1 / np.arange(1, entities + 1) ** 0.7
    ends = random.choice(entities, (edges, 2), p=chance / chance.sum())
    pairs, weights = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0, return_counts=True)
    names = [f"n{i:06d}" for i in range(entities)]
    return from_edges([names[i] for i in pairs[:, 0]], [names[i] for i in pairs[:, 1]], weights)


def cpu_ms(step: Callable[[], None], repeat: int) -> float:
    step()  # compiles, and fills the caches
    started = time.process_time()
    for _ in range(repeat):
        step()
    return (time.process_time() - started) / repeat * 1000


def built_in(network: Any, learner: Learner, learners: int, roots: np.ndarray) -> Callable[[], None]:
    """Return a step of an ensemble of ours."""
    kind = learner.resolved("nodes")
    shape = Architecture("bag", False, learners, CLASSES, network.n_entities, (kind,))
    ensemble, near = Ensemble(shape, 0, range(learners)), surroundings(network, shape, False)
    run, labels = Runtime(n_threads=1), torch.from_numpy(roots % CLASSES).long()
    optimizer, streams, at = Adam(ensemble, run, 0.01, 1e-7, 0.0), np.arange(learners, dtype=np.uint64), [0]

    def step() -> None:
        at[0] += 1
        with run.step():
            logits = ensemble(roots, near, ForwardContext(run, streams, at[0], training=True))
            F.cross_entropy(logits.flatten(0, 1), labels.flatten()).backward()
            optimizer.step()
            optimizer.clear()

    return step


class CSRModel(nn.Module):
    """The same network on sparse matrices of torch, with transposed ones for the backward pass."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        sides = [normalized(matrix_of(network, 0.5, side), "rows", False) for side in ("in", "out")]
        self.sides = [(_csr(side), _csr(side.T.tocsr())) for side in sides]
        self.base = torch.from_numpy(network.base.astype(np.int64))
        shapes = [(size, width) for width in split_width(WIDTH, 3) for size in (network.n_entities, WIDTH)]
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(*shape) * 0.05) for shape in shapes)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, roots: torch.Tensor) -> torch.Tensor:
        """Return logits of the roots."""
        h = self._layer([F.dropout(weight, 0.6)[self.base] for weight in self.weights[::2]])
        h = F.dropout(torch.relu(h), 0.6)
        h = self._layer([h @ weight for weight in self.weights[1::2]])
        return self.head(F.normalize(h[roots]))

    def _layer(self, parts: list[torch.Tensor]) -> torch.Tensor:
        near = [_Product.apply(*side, x) for side, x in zip(self.sides, parts[1:], strict=True)]
        return torch.cat([parts[0], *near], 1)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: torch.Tensor, transposed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        ctx.transposed = transposed
        return matrix @ x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return None, None, ctx.transposed @ grad


def _csr(matrix: Any) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        parts = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
        return torch.sparse_csr_tensor(*parts, torch.from_numpy(matrix.data.astype(np.float32)), matrix.shape)


class PyGModel(nn.Module):
    """GraphSAGE of PyTorch Geometric over both directions."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        from torch_geometric.nn import DirGNNConv, SAGEConv

        edges = matrix_of(network, 1.0, "in").tocoo()
        self.edges = torch.from_numpy(np.stack([edges.col, edges.row]).astype(np.int64))
        self.base = torch.from_numpy(network.base.astype(np.int64))
        self.identity = nn.Embedding(network.n_entities, WIDTH)
        self.layers = nn.ModuleList(DirGNNConv(SAGEConv(WIDTH, WIDTH)) for _ in range(2))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, roots: torch.Tensor) -> torch.Tensor:
        """Return logits of the roots."""
        h = F.dropout(self.identity(self.base), 0.6)
        h = F.dropout(torch.relu(self.layers[0](h, self.edges)), 0.6)
        return self.head(F.normalize(self.layers[1](h, self.edges)[roots]))


def one_by_one(model: nn.Module, roots: np.ndarray) -> Callable[[], None]:
    """Return a step of one learner in torch."""
    rows = torch.from_numpy(roots[0]).long()
    labels, optimizer = rows % CLASSES, torch.optim.Adam(model.parameters(), 0.01, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(rows), labels).backward()
        optimizer.step()

    return step


def products_alone(model: CSRModel, n_nodes: int) -> Callable[[], None]:
    x = torch.randn(n_nodes, WIDTH // 3)

    def step() -> None:
        for side in model.sides:
            for matrix in side:
                matrix @ x
                matrix @ x

    return step


def main(arguments: list[str] | None = None) -> list[dict[str, object]]:
    parser = argparse.ArgumentParser(description="Benchmark of a training step")
    parser.add_argument("network", nargs="?")
    parser.add_argument("--scale", type=float, default=float(os.environ.get("SCALE", 1)))
    parser.add_argument("--learners", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    network = hl.load_network(options.network) if options.network else random_network(options.scale)
    count = max(network.n_entities // 8, 1)
    random = np.random.default_rng(1)
    roots = np.stack([random.permutation(network.n_entities)[:count] for _ in range(options.learners)])
    roots = roots.astype(np.int32)
    rows: list[dict[str, object]] = []
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        csr = CSRModel(network)
        steps: dict[str, tuple[Callable[[], None], int]] = {
            "one product": (products_alone(csr, network.n_nodes), 1),
            "built-in SAGE": (built_in(network, SAGE(), options.learners, roots), options.learners),
            "torch CSR": (one_by_one(csr, roots), 1),
            "PyG modules": (one_by_one(PyGModel(network), roots), 1),
        }
        for learner in (GCN(), GCNII(), GAT(), GATv2()):
            made = built_in(network, learner, options.learners, roots)
            steps[f"built-in {learner.name}"] = (made, options.learners)
        sizes = f"{network.n_nodes:,} nodes, {network.n_edges:,} edges, {count:,} roots"
        print(f"{sizes}, {options.learners} learners")
        print(f"{'step of one learner':<22}{'CPU ms':>9}{'x SAGE':>9}")
        for name, (step, learners) in steps.items():
            rows.append({"what": name, "cpu_ms": round(cpu_ms(step, options.repeat) / learners, 2)})
        ours = next(float(str(row["cpu_ms"])) for row in rows if row["what"] == "built-in SAGE")
        for row in rows:
            row["times"] = round(float(str(row["cpu_ms"])) / max(ours, 1e-9), 2)
            print(f"{row['what']:<22}{row['cpu_ms']:>9}{row['times']:>9}")
    finally:
        torch.set_num_threads(before)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return rows


if __name__ == "__main__":
    main()
