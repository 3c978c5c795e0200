"""Parts of a graph that random walks find, and what makes up for how often each part is found.

In: a graph and how to walk. Out: subgraphs as a base and an adjacency, ready for an encoder, with the
normalisation of GraphSAINT (Zeng et al., ICLR 2020). Everything is vectorised over roots, walks and edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from honlearn.baselines.graph import Graph, as_tensor
from honlearn.engine.adjacency import Matrix
from honlearn.seeds import generator

# How often a base node is in the subgraphs that the coefficients are counted on, on average.
COVERAGE = 50

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class WalkSubgraphs:
    """Draws the nodes of `n_roots` walks of `walk_length` steps, and induces the graph on them.

    Roots are uniform over the `n_bases` first nodes, the base nodes, since predictions are made there; a
    step goes to one of the neighbours that a node receives messages from, each as likely, and stays where
    there is none. `matrix` [N, N] holds the weights of the graph; row i has the neighbours of node i.
    """

    def __init__(self, matrix: Matrix, n_bases: int, n_roots: int, walk_length: int) -> None:
        self.indptr = matrix.indptr.astype(np.int64)
        self.indices = matrix.indices.astype(np.int64)
        self.n_bases, self.n_roots, self.walk_length = n_bases, n_roots, walk_length

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the whole graph, N."""
        return len(self.indptr) - 1

    def draw(self, random: np.random.Generator) -> Integers:
        """Return the distinct nodes of all walks, ascending, [n]."""
        at = random.integers(0, self.n_bases, self.n_roots)
        found = np.zeros(self.n_nodes, bool)
        found[at] = True
        for _ in range(self.walk_length):
            start, degree = self.indptr[at], self.indptr[at + 1] - self.indptr[at]
            place = start + (random.random(len(at)) * degree).astype(np.int64)
            moving = degree > 0
            at[moving] = self.indices[place[moving]]
            found[at] = True
        return np.flatnonzero(found)

    def induced(self, nodes: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the graph on these nodes: row pointers [n + 1], columns [e], places in the matrix [e]."""
        local = np.full(self.n_nodes, -1)
        local[nodes] = np.arange(len(nodes))
        start, degree = self.indptr[nodes], self.indptr[nodes + 1] - self.indptr[nodes]
        ends = np.cumsum(degree)
        places = np.repeat(start - ends + degree, degree) + np.arange(ends[-1] if len(ends) else 0)
        columns = local[self.indices[places]]
        kept = columns >= 0
        rows = np.repeat(np.arange(len(nodes)), degree)[kept]
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(nodes)))])
        return pointers, columns[kept], places[kept]


@dataclass(frozen=True)
class Coefficients:
    """How often each node [N] and each edge [E'] was in `n_samples` subgraphs drawn before training.

    What was never found counts as found once.
    """

    nodes: Integers
    edges: Integers
    n_samples: int

    @classmethod
    def count(cls, sampler: WalkSubgraphs, seed: int) -> Coefficients:
        """Draw until every base node has been found :data:`COVERAGE` times on average, and count."""
        nodes = np.zeros(sampler.n_nodes, np.int64)
        edges = np.zeros(len(sampler.indices), np.int64)
        drawn = 0
        while nodes[: sampler.n_bases].sum() < COVERAGE * sampler.n_bases:
            some = sampler.draw(generator(seed, "coefficients", drawn))
            nodes[some] += 1
            edges[sampler.induced(some)[2]] += 1
            drawn += 1
        return cls(nodes, edges, drawn)

    @property
    def found(self) -> Floats:
        """λ: the probability that a node is in a subgraph, [N]; a loss divided by it is unbiased."""
        return np.maximum(self.nodes, 1) / max(self.n_samples, 1)

    def kept(self, rows: Integers) -> Floats:
        """α: the probability that an edge is in a subgraph that has its target (its row), [E']."""
        return np.maximum(self.edges, 1) / np.maximum(self.nodes, 1)[rows]


class Parts:
    """Subgraphs of a graph as views for an encoder: the base of each node, and D^-1 A / α among them.

    A sum over such neighbours is, on average over subgraphs that have the node, the mean over all of them.
    """

    def __init__(self, graph: Graph, direction: str, n_roots: int, walk_length: int, seed: int) -> None:
        matrix = graph.adjacency(direction)
        matrix.sort_indices()
        self.base, self.weights, self.seed = graph.base, matrix.data, seed
        self.sampler = WalkSubgraphs(matrix, graph.n_entities, n_roots, walk_length)
        self.rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        self.coefficients = Coefficients.count(self.sampler, seed)
        self.kept = self.coefficients.kept(self.rows)
        self._keys = self.rows * matrix.shape[0] + self.sampler.indices
        self._ends = graph.edges.numpy()

    @property
    def n_steps(self) -> int:
        """How many subgraphs hold as many base nodes as the graph, on average."""
        found = float(self.coefficients.found[: self.sampler.n_bases].mean())
        return max(1, round(1 / found))

    def shown(self, hidden: torch.Tensor | None = None) -> Floats:
        """Return the weights [E'] of D^-1 A, 0 for the edges where `hidden` [E] is true.

        What is hidden of a pair is hidden in both directions, as :class:`PairBatches` does.
        """
        weights = self.weights
        if hidden is not None:
            u, v = (end[hidden.numpy()] for end in self._ends)
            gone = np.concatenate([u * self.sampler.n_nodes + v, v * self.sampler.n_nodes + u])
            weights = np.where(np.isin(self._keys, gone), 0.0, weights)
        totals = np.bincount(self.rows, weights, self.sampler.n_nodes)[self.rows]
        return np.asarray(np.divide(weights, totals, out=np.zeros_like(weights), where=totals > 0))

    def draw(
        self, shown: Floats, epoch: int, step: int
    ) -> tuple[Integers, tuple[torch.Tensor, torch.Tensor]]:
        """Return the nodes [n] of a subgraph, ascending, and its view, of weights that are :meth:`shown`."""
        nodes = self.sampler.draw(generator(self.seed, "subgraph", epoch, step))
        pointers, columns, places = self.sampler.induced(nodes)
        data = shown[places] / self.kept[places]
        matrix = sparse.csr_array((data, columns, pointers), shape=(len(nodes), len(nodes)))
        return nodes, (self.base[torch.from_numpy(nodes)], as_tensor(matrix))
