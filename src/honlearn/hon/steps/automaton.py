"""Following a path: states, what may come next with how many bits, and where that leads.

A state is what a model remembers: a context, or a node of a network. From state s, edges ``first[s]`` to
``first[s + 1]`` lead to the steps that it knows, by ascending code; any other step costs ``backoff[s]`` bits
and is looked up in the state ``shorter[s]``, down to state 0, which remembers nothing and knows every entity.

In: arrays, from counts (:mod:`honlearn.hon.steps.model`) or a network
(:mod:`honlearn.hon.steps.network_model`). Out: compiled loops that follow paths, list the likeliest next
steps, and draw paths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from honlearn.jit import njit
from honlearn.mixing import splitmix64

UNKNOWN = -1
"""The code of an entity that the model never saw."""
END = -2
"""The code of the end of a path, where codes of next steps are given."""
_FEW = 24
_ALL = 1 << 62


@dataclass(frozen=True, eq=False)
class Automaton:
    """The arrays; bits are −log2 of probabilities, float64.

    first: int64 [S + 1]. symbol: int32 [E], the code of each edge's step. bits: [E]. target: int32 [E].
    end: [S], bits of END; infinite where the model does not know how paths end. backoff: [S].
    shorter: int32 [S]. start: the state before the first step. base: bits of a step that was never seen, in
    state 0, before its backoff. memory: how many last entities of a longer path decide its state.
    """

    first: NDArray[np.int64]
    symbol: NDArray[np.int32]
    bits: NDArray[np.float64]
    target: NDArray[np.int32]
    end: NDArray[np.float64]
    backoff: NDArray[np.float64]
    shorter: NDArray[np.int32]
    start: int
    base: float
    n_entities: int
    memory: int = _ALL

    @property
    def knows_end(self) -> bool:
        """Whether END is an outcome."""
        return bool(np.isfinite(self.end[0]))

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """The fewest bits of any next step from each state [S]."""
        out = np.empty(len(self.end))
        _fewest_bits(self.first, self.bits, self.end, self.backoff, self.shorter, out)
        return out

    @cached_property
    def popular(self) -> NDArray[np.int64]:
        """The edges of state 0, fewest bits first."""
        return np.argsort(self.bits[self.first[0] : self.first[0] + self.n_entities], kind="stable")

    @cached_property
    def own(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What a state does not take from the shorter one: running sums over its edges [E], and END's [S].

        p(x | s) = own(x) + 2^−backoff · p(x | shorter): a draw takes an edge by its own part or goes shorter.
        """
        sums, ends = np.empty(len(self.bits)), np.empty(len(self.end))
        _own_parts(
            self.first, self.symbol, self.bits, self.end, self.backoff, self.shorter, self.base, sums, ends
        )
        return sums, ends


@njit(inline="always")
def find(symbol: NDArray[np.int32], low: int, high: int, wanted: int) -> int:
    """Return the edge with this symbol in the ascending ``symbol[low:high]``, or −1."""
    size = high - low
    if size <= 0:
        return -1
    while size > 1:
        half = size >> 1
        low = low + half if symbol[np.uint64(low + half)] <= wanted else low
        size -= half
    return low if symbol[np.uint64(low)] == wanted else -1


@njit(inline="always")
def step(
    state: int, wanted: int, first: NDArray[np.int64], symbol: NDArray[np.int32],
    backoff: NDArray[np.float64], shorter: NDArray[np.int32],
) -> tuple[int, float]:  # fmt: skip
    """Return the edge for a known entity from a state, and the bits spent on shorter states before it."""
    spent = 0.0
    while state != 0:
        edge = find(symbol, first[np.uint64(state)], first[np.uint64(state + 1)], wanted)
        if edge >= 0:
            return edge, spent
        spent += backoff[state]
        state = shorter[state]
    return first[0] + wanted, spent


@njit
def follow(
    codes: NDArray[np.int32], offsets: NDArray[np.int64], first: NDArray[np.int64], symbol: NDArray[np.int32],
    target: NDArray[np.int32], backoff: NDArray[np.float64], shorter: NDArray[np.int32], start: int,
    memory: int,
) -> NDArray[np.int32]:  # fmt: skip
    """Return the state in which each history ends; of a long one the last `memory` entities are followed."""
    states = np.empty(len(offsets) - 1, np.int32)
    for path in range(len(states)):
        state, low = start, offsets[path]
        if offsets[path + 1] - low >= memory:
            state, low = 0, offsets[path + 1] - memory
        for i in range(low, offsets[path + 1]):
            if codes[i] >= 0:
                edge, _ = step(state, codes[i], first, symbol, backoff, shorter)
                state = target[edge]
            else:
                state = 0
        states[path] = state
    return states


@njit
def follow_steps(
    codes: NDArray[np.int32], offsets: NDArray[np.int64], first: NDArray[np.int64], symbol: NDArray[np.int32],
    target: NDArray[np.int32], backoff: NDArray[np.float64], shorter: NDArray[np.int32], start: int,
) -> NDArray[np.int32]:  # fmt: skip
    """Return the state before each step."""
    states = np.empty(len(codes), np.int32)
    for path in range(len(offsets) - 1):
        state = start
        for i in range(offsets[path], offsets[path + 1]):
            states[i] = state
            if codes[i] >= 0:
                edge, _ = step(state, codes[i], first, symbol, backoff, shorter)
                state = target[edge]
            else:
                state = 0
    return states


@njit
def _rank(edges: NDArray[np.int32], bits: NDArray[np.float64], low: int, high: int) -> None:
    """Fill low … high with the edges of one state, from its first on, in ascending order of bits."""
    if high - low > _FEW:
        order = np.argsort(bits[low:high], kind="mergesort")
        for i in range(high - low):
            edges[low + i] = order[i]
        return
    for i in range(high - low):
        place = low + i
        while place > low and bits[low + edges[place - 1]] > bits[low + i]:
            edges[place] = edges[place - 1]
            place -= 1
        edges[place] = i


@njit(inline="always")
def _insert(codes: NDArray[np.int32], bits: NDArray[np.float64], held: int, code: int, value: float) -> int:
    """Put an outcome into the ascending list, if it is among the first; return how many there are."""
    if held == len(codes):
        if value >= bits[held - 1]:
            return held
        held -= 1
    place = held
    while place > 0 and bits[place - 1] > value:
        codes[place], bits[place] = codes[place - 1], bits[place - 1]
        place -= 1
    codes[place], bits[place] = code, value
    return held + 1


@njit(inline="always")
def known_before(
    state: int, stop: int, code: int, first: NDArray[np.int64], symbol: NDArray[np.int32],
    shorter: NDArray[np.int32],
) -> bool:  # fmt: skip
    """Return whether a state from `state` on, before `stop`, has an edge for the entity."""
    while state != stop:
        if find(symbol, first[state], first[state + 1], code) >= 0:
            return True
        state = shorter[state]
    return False


@njit
def likeliest(
    states: NDArray[np.int32], by_state: NDArray[np.int64], first: NDArray[np.int64],
    symbol: NDArray[np.int32], bits: NDArray[np.float64], end: NDArray[np.float64],
    backoff: NDArray[np.float64], shorter: NDArray[np.int32],
    out: NDArray[np.int32], out_bits: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill the outcomes with the fewest bits from each state, best first [n, top]; the code of END is −2.

    `by_state` are the rows in the order of their states, so that each state is asked once and neighbours in
    memory follow each other. The edges of a state are ranked when it is first met: each look ends with the
    first edge that is too far down.
    """
    top, s, previous = out.shape[1], -1, 0
    ranked, edges = np.zeros(len(end), np.bool_), np.empty(len(bits), np.int32)
    for row in by_state:
        codes, found = out[row], out_bits[row]
        if states[row] == s:
            codes[:], found[:] = out[previous], out_bits[previous]
            continue
        s, previous = int(states[row]), row
        held, spent = 0, 0.0
        if end[s] < np.inf:
            held = _insert(codes, found, held, END, end[s])
        now = s
        while True:
            low, high = first[now], first[now + 1]
            if not ranked[now]:
                _rank(edges, bits, low, high)
                ranked[now] = True
            for place in range(low, high):
                edge = low + edges[place]
                value = spent + bits[edge]
                if (held == top and value >= found[top - 1]) or value == np.inf:
                    break
                if not known_before(s, now, symbol[edge], first, symbol, shorter):
                    held = _insert(codes, found, held, symbol[edge], value)
            if now == 0:
                break
            spent += backoff[now]
            now = int(shorter[now])
        for place in range(held, top):
            codes[place], found[place] = UNKNOWN, np.inf


@njit
def _fewest_bits(
    first: NDArray[np.int64], bits: NDArray[np.float64], end: NDArray[np.float64],
    backoff: NDArray[np.float64], shorter: NDArray[np.int32], out: NDArray[np.float64],
) -> None:  # fmt: skip
    for s in range(len(end)):
        least = end[s]
        for i in range(first[s], first[s + 1]):
            least = min(least, bits[i])
        # Exact for what the state knows, a bound for what it does not.
        out[s] = least if s == 0 else min(least, backoff[s] + out[shorter[s]])


@njit
def _own_parts(
    first: NDArray[np.int64], symbol: NDArray[np.int32], bits: NDArray[np.float64], end: NDArray[np.float64],
    backoff: NDArray[np.float64], shorter: NDArray[np.int32], base: float,
    sums: NDArray[np.float64], ends: NDArray[np.float64],
) -> None:  # fmt: skip
    for s in range(len(end)):
        gamma, total = 2.0 ** -backoff[s], 0.0
        for i in range(first[s], first[s + 1]):
            q = 2.0**-base
            if s > 0:
                edge, spent = step(shorter[s], symbol[i], first, symbol, backoff, shorter)
                q = 2.0 ** -(spent + bits[edge])
            if bits[i] < np.inf:
                total += max(2.0 ** -bits[i] - gamma * q, 0.0)
            sums[i] = total
        q = 2.0 ** -end[shorter[s]] if s > 0 else 2.0**-base
        ends[s] = max(2.0 ** -end[s] - gamma * q, 0.0)


@njit
def draw_walks(
    stream: np.uint64, n: int, first: NDArray[np.int64], symbol: NDArray[np.int32], bits: NDArray[np.float64],
    target: NDArray[np.int32], end: NDArray[np.float64], backoff: NDArray[np.float64],
    shorter: NDArray[np.int32], start: int, n_entities: int, sums: NDArray[np.float64],
    codes: NDArray[np.int32], walk_bits: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill walks that never end, [n, length]: the entity of each step, and the bits of the walk so far.

    Drawn from p(x | s) / (1 − p(END | s)), the steps of a path that is known to go on.
    """
    place = np.uint64(0)
    for walk in range(n):
        state, total = int(start), 0.0
        for i in range(codes.shape[1]):
            now, code = state, -1
            while code < 0:
                low, high = first[now], first[now + 1]
                mine = sums[high - 1] if high > low else 0.0
                below = 2.0 ** -backoff[now]
                if now > 0:
                    below *= 1.0 - 2.0 ** -end[shorter[now]]
                u = (splitmix64(stream, place) >> np.uint64(11)) * 2.0**-53 * (mine + below)
                place += np.uint64(1)
                if u < mine:
                    while low < high - 1:
                        middle = (low + high - 1) // 2
                        if sums[middle] > u:
                            high = middle + 1
                        else:
                            low = middle + 1
                    code = int(symbol[low])
                elif now > 0:
                    now = int(shorter[now])
                else:
                    code = int(np.int64(splitmix64(stream, place) % np.uint64(n_entities)))
                    place += np.uint64(1)
            edge, spent = step(state, code, first, symbol, backoff, shorter)
            total += spent + bits[edge] + math.log2(max(1.0 - 2.0 ** -end[state], 1e-300))
            codes[walk, i], walk_bits[walk, i] = code, total
            state = int(target[edge])
