"""A step of training, against the same arithmetic in torch and in PyTorch Geometric.

In: a scale. Out: rows and growth curves. Each row is CPU milliseconds for one step (forward, backward, Adam)
of one learner: GraphSAGE with weighted means over in- and out-neighbours, two layers of 128, on identities,
with dropout, for an eighth of the entities as roots. Ours trains all learners side by side; torch CSR
multiplies with sparse matrices, one learner after another; PyG modules are ``DirGNNConv(SAGEConv)`` over
edges. The limit is the sparse products of one forward and one backward pass alone. The network is a random
one about as large as the paper's Wiki, times the scale.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from honlearn.engine.adjacency import matrix_of, normalized
from honlearn.engine.context import ForwardContext
from honlearn.engine.optimizer import Adam
from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import split_width
from honlearn.ensemble.ensemble import Architecture, Ensemble, surroundings
from honlearn.hon.edgelist import from_edges
from honlearn.learners import GAT, GCN, GCNII, SAGE, GATv2, Learner

sys.path.insert(0, str(Path(__file__).parent))
from bench_large import sampled_step
from measuring import Curve, Row, compared, exponent

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


OURS = "honlearn, SAGE"


def training(scale: float, learners: int, repeat: int) -> list[Row]:
    """Return CPU milliseconds for one step of one learner."""
    network = random_network(scale)
    roots = _roots(network, learners)
    part, rows = f"training, {network.n_nodes:,} nodes, {network.n_edges:,} edges", list[Row]()
    with Runtime(n_threads=1).threads():
        csr = CSRModel(network)
        ours = {"SAGE": SAGE(), "GCN": GCN(), "GCNII": GCNII(), "GAT": GAT(), "GATv2": GATv2()}
        others = {"torch CSR, one learner after another": csr}
        if importlib.util.find_spec("torch_geometric"):
            others["PyG modules"] = PyGModel(network)
        limit = cpu_ms(products_alone(csr, network.n_nodes), repeat)
        rows.append(Row(part, "the sparse products alone", "limit", round(limit, 2), "ms"))
        for name, learner in ours.items():
            ms = cpu_ms(built_in(network, learner, learners, roots), repeat) / learners
            rows.append(Row(part, f"honlearn, {name}", "ours", round(ms, 2), "ms"))
        for name, model in others.items():
            rows.append(Row(part, name, "other", round(cpu_ms(one_by_one(model, roots), repeat), 2), "ms"))
    return compared(rows, OURS)


def growth(scale: float, learners: int, repeat: int) -> list[Curve]:
    """Return how a step grows with edges (whole neighbourhoods), and with entities (sampled ones)."""
    sizes, times = [], []
    with Runtime(n_threads=1).threads():
        for share in (0.25, 0.5, 1, 2):
            network = random_network(scale * share)
            step = built_in(network, SAGE(), learners, _roots(network, learners))
            sizes.append(float(network.n_edges))
            times.append(round(cpu_ms(step, repeat) / learners, 2))
        exact = Curve("a step, whole", "edges", tuple(sizes), tuple(times), "ms", exponent(sizes, times))
        sizes, times = [], []
        for entities in (25_000, 50_000, 100_000):
            sizes.append(float(max(int(entities * scale), 40)))
            times.append(sampled_step(int(sizes[-1]), repeat)["cpu_ms"])
    sampled = Curve("a step, sampled", "entities", tuple(sizes), tuple(times), "ms", exponent(sizes, times))
    return [exact, sampled]


def _roots(network: Any, learners: int) -> np.ndarray:
    random, count = np.random.default_rng(1), max(network.n_entities // 8, 1)
    roots = [random.permutation(network.n_entities)[:count] for _ in range(learners)]
    return np.stack(roots).astype(np.int32)
