"""A network as a model of the next step: the longest kept suffix of a history is the state.

In: a :class:`~honlearn.hon.network.HigherOrderNetwork`, without the counts it was grown from. Out: a
:class:`~honlearn.hon.steps.model.StepModel`. A step out of node u has the weight of its edges, less a
discount that is spread by the distribution of u's longest suffix that is a node, and below the entities by
how often each is entered. Weights do not tell where paths start or end, so the model knows no END, and a
history begins with nothing remembered.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.hon.dependencies import longest_suffixes
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.steps.automaton import Automaton, step
from honlearn.hon.steps.model import StepModel
from honlearn.jit import njit


def network_model(network: HigherOrderNetwork) -> StepModel:
    """Return the model of the next step that a network is.

    >>> from honlearn import grow
    >>> model = network_model(grow([["A", "C", "D"], ["B", "C", "E"]] * 20, order=2))
    >>> model.next_steps(["A", "C"], top=1)["step"].tolist(), model.knows_end
    (['D'], False)
    """
    if not network.n_edges:
        raise InputError("the network has no edges, so nothing comes next")
    n, entities = network.n_nodes, network.n_entities
    symbol, target, weight, first = _collapsed(network)
    # State 0 remembers nothing; node i is state i + 1.
    own = first[entities]  # the rows of entities hold every transition once
    visits = np.bincount(symbol[:own], weight[:own], entities)
    shorter = np.zeros(n + 1, np.int32)
    shorter[entities + 1 :] = longest_suffixes(network) + 1
    first = np.concatenate([[0], first + entities])
    symbol = np.concatenate([np.arange(entities, dtype=np.int32), symbol])
    target = np.concatenate([np.arange(entities, dtype=np.int32), target]) + np.int32(1)
    weight = np.concatenate([visits, weight])
    bits, backoff = np.empty(len(weight)), np.empty(n + 1)
    base = 1.0 / (entities + 1)  # END is no outcome: all entities and an unknown one
    # State 0 first, then nodes by their order.
    states = np.concatenate([[0], np.argsort(network.order, kind="stable") + 1])
    _discounted(
        first, symbol, weight, shorter, states, _discount(weight[entities:]), base, bits, backoff
    )  # fmt: skip
    end = np.full(n + 1, np.inf)
    automaton = Automaton(first, symbol, bits, target, end, backoff, shorter, 0, -math.log2(base), entities)
    return StepModel(automaton, network.vocabulary)


def _collapsed(
    network: HigherOrderNetwork,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Return the edges of each node by ascending entity: symbol, target, weight, and where each row starts.

    Where a node has several targets of one entity, as a network from elsewhere may have, the longest is it.
    """
    symbol = network.base[network.indices]
    by = np.lexsort((-network.order[network.indices], symbol, network.sources))
    source, symbol = network.sources[by], symbol[by]
    new = np.ones(len(by), bool)
    new[1:] = (source[1:] != source[:-1]) | (symbol[1:] != symbol[:-1])
    group = np.cumsum(new) - 1
    weight = np.asarray(np.bincount(group, network.weights[by].astype(np.float64)), np.float64)
    rows = np.bincount(source[new], minlength=network.n_nodes)
    first = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    return symbol[new], network.indices[by][new], weight, first


def _discount(weight: NDArray[np.float64]) -> float:
    """Return Ney's discount n1 / (n1 + 2 n2), from the edges that were seen once and twice."""
    once, twice = int((weight <= 1).sum()), int(((weight > 1) & (weight <= 2)).sum())
    return once / (once + 2 * twice) if once and twice else 0.5


@njit
def _discounted(
    first: NDArray[np.int64], symbol: NDArray[np.int32], weight: NDArray[np.float64],
    shorter: NDArray[np.int32], order: NDArray[np.int64], d: float, base: float,
    bits: NDArray[np.float64], backoff: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill the bits of all edges, states of a lower order first."""
    for s in order:
        low, high = first[s], first[s + 1]
        total, taken = 0.0, 0.0
        for i in range(low, high):
            total += weight[i]
            taken += min(weight[i], d)
        gamma = taken / total if total > 0.0 else 1.0
        total = max(total, 1e-300)
        backoff[s] = -math.log2(gamma)
        for i in range(low, high):
            q = base
            if s > 0:
                edge, spent = step(shorter[s], symbol[i], first, symbol, backoff, shorter)
                q = 2.0 ** -(spent + bits[edge])
            bits[i] = -math.log2((weight[i] - min(weight[i], d)) / total + gamma * q)
