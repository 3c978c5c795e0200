"""Shapley values: each player's mean gain over all orders in which players can join (Shapley, 1953).

In: the number of players and a function that values coalitions. Out: one value for each player, which sum to
v(all) − v(nobody). Up to eight players every coalition is valued; above, values are means over random orders,
each beside its reverse. A coalition is a whole number whose bit i says that player i is in.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import ParameterError
from honlearn.seeds import generator

Coalitions = NDArray[np.uint64]
Values = NDArray[np.float64]
ValueFunction = Callable[[Coalitions], Values]

# Players up to which all coalitions are valued, and the most that the bits of a coalition can hold.
EXACT, MOST = 8, 63
# Random orders above that, half of them the reverse of another.
ORDERS = 64


def shapley_values(n_players: int, value: ValueFunction, seed: int = 0, orders: int = ORDERS) -> Values:
    """Return the Shapley value of each player, [n, ...].

    Parameters
    ----------
    n_players : the number of players, at most 63.
    value : v(coalitions [B]) → [B, ...]; called once, with distinct coalitions.
    seed : decides the orders where these are sampled.
    orders : how many orders are sampled, an even number.

    >>> shapley_values(3, lambda coalitions: (coalitions >= 6).astype(float)).round(3).tolist()
    [0.0, 0.5, 0.5]
    """
    if not 0 <= n_players <= MOST:
        raise ParameterError(f"Shapley values take 0 to {MOST} players. Got {n_players} instead.")
    coalitions = planned(n_players, seed, orders)
    return from_values(n_players, coalitions, value(coalitions), seed, orders)


def planned(n_players: int, seed: int = 0, orders: int = ORDERS) -> Coalitions:
    """Return the coalitions that are valued, each once, ascending: nobody first, all players last.

    All of them up to eight players; above, those on the way of the sampled orders, and all players but one.
    """
    if n_players <= EXACT:
        return np.arange(1 << n_players, dtype=np.uint64)
    everyone = np.uint64((1 << n_players) - 1)
    but_one = everyone ^ (np.uint64(1) << np.arange(n_players, dtype=np.uint64))
    return np.unique(np.concatenate([_prefixes(_orders(n_players, seed, orders)).ravel(), but_one]))


def _orders(n_players: int, seed: int, orders: int) -> NDArray[np.int64]:
    """Return random orders of the players, [orders, n], each followed by its reverse."""
    random = generator(seed, "shapley", n_players)
    half = [random.permutation(n_players) for _ in range((orders + 1) // 2)]
    return np.array([order for one in half for order in (one, one[::-1])], np.int64)


def from_values(
    n_players: int, coalitions: Coalitions, values: Values, seed: int = 0, orders: int = ORDERS
) -> Values:
    """Return the Shapley values [n, ...] from the values [B, ...] of the :func:`planned` coalitions."""
    if n_players <= EXACT:
        return _weighted(n_players, values)
    drawn = _orders(n_players, seed, orders)
    gains = np.diff(values[np.searchsorted(coalitions, _prefixes(drawn))], axis=1)
    out = np.zeros((n_players, *values.shape[1:]))
    for order, gain in zip(drawn, gains, strict=True):
        out[order] += gain
    return out / len(drawn)


def _weighted(n_players: int, values: Values) -> Values:
    """Return Σ over coalitions S without i of |S|! (n − |S| − 1)! / n! · (v(S + i) − v(S))."""
    everyone = np.arange(1 << n_players)
    size = np.array([number.bit_count() for number in everyone.tolist()])
    factor = [math.factorial(s) * math.factorial(n_players - s - 1) for s in range(n_players)]
    weight = np.array(factor, np.float64) / math.factorial(n_players)
    out = np.zeros((n_players, *values.shape[1:]))
    for player in range(n_players):
        without = everyone[(everyone >> player) & 1 == 0]
        gain = values[without | (1 << player)] - values[without]
        out[player] = np.tensordot(weight[size[without]], gain, axes=1)
    return out


def _prefixes(orders: NDArray[np.int64]) -> Coalitions:
    """Return the coalitions on the way of each order, from nobody to all: [orders, n + 1]."""
    bits = np.uint64(1) << orders.astype(np.uint64)
    ways = np.cumsum(bits, axis=1, dtype=np.uint64)
    return np.concatenate([np.zeros((len(orders), 1), np.uint64), ways], axis=1)
