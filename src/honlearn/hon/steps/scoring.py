"""The bits of paths, many at once: codes and offsets → bits per step and per path.

One path is a chain of look-ups, each of which waits for the one before it. Sixteen paths go side by side, so
that the processor fetches for all of them while it waits for one, and each round searches the edges of all
with the same number of halvings, which takes no branch that has to be guessed. 17.1 million Air-like paths,
at order 2, take 4.2 to 5.8 CPU s on a busy machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.steps.automaton import Automaton
from honlearn.jit import njit

_LANES = 16


@njit
def _score(
    codes: NDArray[np.int32], offsets: NDArray[np.int64], first: NDArray[np.int64], symbol: NDArray[np.int32],
    bits: NDArray[np.float64], target: NDArray[np.int32], end: NDArray[np.float64],
    backoff: NDArray[np.float64], shorter: NDArray[np.int32], start: int, base: float, ends: bool,
    opening: NDArray[np.int32], step_bits: NDArray[np.float32], path_bits: NDArray[np.float64],
) -> None:  # fmt: skip
    """Fill the bits of each step (END behind the last, where `ends`) and of each path, none of them empty."""
    path, at, stop = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    state, low, size = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    code, spent, total = np.zeros(_LANES, np.int64), np.zeros(_LANES), np.zeros(_LANES)
    n = len(offsets) - 1
    active = min(_LANES, n)
    for lane in range(active):
        path[lane], at[lane], stop[lane], state[lane] = lane, offsets[lane], offsets[lane + 1], start
    upcoming = active
    while active:
        most = 1
        for lane in range(active):
            s, wanted = state[lane], np.int64(codes[np.uint64(at[lane])])
            code[lane] = wanted
            if s == start and s != 0:
                edge = np.int64(opening[np.uint64(wanted)]) if wanted >= 0 else -1
                low[lane], size[lane] = max(edge, 0), edge >= 0
                continue
            edge, width = first[np.uint64(s)], first[np.uint64(s + 1)] - first[np.uint64(s)]
            if s == 0:
                edge, width = edge + max(wanted, 0), 1
            low[lane], size[lane] = edge, width
            most = max(most, width)
        while most > 1:
            for lane in range(active):
                half, edge = size[lane] >> 1, low[lane]
                low[lane] = edge + half if symbol[np.uint64(edge + half)] <= code[lane] else edge
                size[lane] -= half
            most -= most >> 1
        lane = 0
        while lane < active:
            now, hit = np.uint64(state[lane]), np.uint64(low[lane])
            if size[lane] > 0 and symbol[hit] == code[lane]:
                cost, reached = spent[lane] + bits[hit], np.int64(target[hit])
            elif now != 0:
                spent[lane] += backoff[now]
                state[lane] = shorter[now]
                lane += 1
                continue
            else:
                cost, reached = spent[lane] + backoff[0] + base, np.int64(0)
            step_bits[np.uint64(at[lane] + ends * path[lane])] = cost
            total[lane] += cost
            at[lane] += 1
            state[lane], spent[lane] = reached, 0.0
            if at[lane] < stop[lane]:
                lane += 1
                continue
            if ends:
                step_bits[np.uint64(at[lane] + path[lane])] = end[np.uint64(reached)]
                total[lane] += end[np.uint64(reached)]
            path_bits[np.uint64(path[lane])] = total[lane]
            if upcoming < n:
                path[lane], at[lane], stop[lane] = upcoming, offsets[upcoming], offsets[upcoming + 1]
                state[lane], total[lane] = start, 0.0
                upcoming += 1
                lane += 1
            else:  # the last lane takes the place of this one
                active -= 1
                path[lane], at[lane], stop[lane], state[lane] = (
                    path[active],
                    at[active],
                    stop[active],
                    state[active],
                )
                low[lane], size[lane], code[lane] = low[active], size[active], code[active]
                spent[lane], total[lane] = spent[active], total[active]


def _opening(a: Automaton) -> NDArray[np.int32]:
    """Return the edge from the start by the code of the first entity, −1 where there is none [V]."""
    edges = np.full(a.n_entities, -1, np.int32)
    low, high = a.first[a.start], a.first[a.start + 1]
    within = a.symbol[low:high] < a.n_entities
    edges[a.symbol[low:high][within]] = np.arange(low, high)[within]
    return edges


def path_bits(
    a: Automaton, codes: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float32], NDArray[np.int64]]:
    """Return the bits of each path [n], of each step [T], and the offsets of the paths in the steps [n + 1].

    Where the automaton knows END, it is the last step of each path. Steps are kept as float32.
    """
    ends, n = a.knows_end, len(offsets) - 1
    filled = np.flatnonzero(np.diff(offsets))
    if len(filled) < n:  # an empty path is END alone
        bits, steps, places = path_bits(a, codes, np.append(offsets[filled], len(codes)))
        whole, all_steps = np.full(n, a.end[a.start] if ends else 0.0), offsets + np.arange(n + 1) * ends
        whole[filled] = bits
        spread = np.full(all_steps[-1], a.end[a.start] if ends else 0.0, np.float32)
        rows = np.repeat(all_steps[filled] - places[:-1], np.diff(places)) + np.arange(len(steps))
        spread[rows] = steps
        return whole, spread, all_steps
    bits, steps = np.empty(n), np.empty(len(codes) + n * ends, np.float32)
    _score(
        codes, offsets, a.first, a.symbol, a.bits, a.target, a.end, a.backoff, a.shorter, a.start, a.base,
        ends, _opening(a), steps, bits,
    )  # fmt: skip
    return bits, steps, offsets + np.arange(n + 1) * ends
