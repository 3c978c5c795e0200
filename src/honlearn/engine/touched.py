"""Which entities a sampled step reads, and tables of these alone.

In: the entries of a first layer, entities ``[L, E]``. Out: the same entries as places in a small table, and
:class:`Touched`, the entity of each place. A step of a sampled neighbourhood on a million entities reads some
thousands of them: with small tables neither its time nor its memory depends on how many there are. The
gradient of such a table belongs to its rows alone, and goes to the optimiser as a :class:`RowGradient`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine.runtime import Context, Gradients, Runtime
from honlearn.jit import Floats, Integers, njit


class Touched(NamedTuple):
    """Entities that each learner reads, in the order of their first use: rows int32 [L, U], counts int64 [L].

    Behind the last one of a learner, rows are 0; nobody reads these places.
    """

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]


class RowGradient(NamedTuple):
    """The gradient of some rows of a table [L, V, d]: values float32 [L, U, d] of the rows `touched`."""

    touched: Touched
    values: torch.Tensor


class RowGradientOwner(Protocol):
    """Keeps the gradient of a table until the optimiser takes it."""

    row_gradient: RowGradient | None


@njit
def _places(
    entries: NDArray[np.int32], place: NDArray[np.int32], rows: NDArray[np.int32], size: int, count: int
) -> int:
    """Turn the entities of one learner into places; `place` [V] is −1 but for those in rows[:count].

    An entry of `size` or more is the features of entity e − size alone; such entries become −2 − place.
    """
    for i in range(len(entries)):
        entry = entries[i]
        if entry < 0:
            continue
        entity = entry - size if entry >= size else entry
        if place[entity] < 0:
            place[entity] = count
            rows[count] = entity
            count += 1
        entries[i] = place[entity] if entry < size else -2 - place[entity]
    return count


@njit
def _forget(place: NDArray[np.int32], rows: NDArray[np.int32], count: int) -> None:
    for i in range(count):
        place[rows[i]] = -1


class Compactor:
    """Gives entities their places; its memory of V numbers is used again and again.

    Threads that predict at the same time have memory of their own, taken from a list of what is free.
    """

    def __init__(self, n_entities: int) -> None:
        self.n_entities = n_entities
        self._free: list[NDArray[np.int32]] = []

    def compact(self, *parts: NDArray[np.int32]) -> tuple[list[NDArray[np.int32]], Touched]:
        """Return the entries [L, E] of each part as places, and the entity of each place.

        An entry e + V, the features of entity e, becomes U + its place.
        """
        size, learners = self.n_entities, len(parts[0])
        try:
            place = self._free.pop()
        except IndexError:  # all are in use, or another thread was quicker
            place = np.full(size, -1, np.int32)
        parts = tuple(np.array(part, np.int32, order="C") for part in parts)
        most = min(size, sum(part.shape[1] for part in parts))
        rows, counts = np.zeros((learners, most), np.int32), np.zeros(learners, np.int64)
        for learner in range(learners):
            count = 0
            for part in parts:
                count = _places(part[learner], place, rows[learner], size, count)
            _forget(place, rows[learner], count)
            counts[learner] = count
        self._free.append(place)
        used = max(int(counts.max(initial=0)), 1)
        out = [np.where(part < -1, used - 2 - part, part) for part in parts]
        return out, Touched(np.ascontiguousarray(rows[:, :used]), counts)


@njit
def _take(first: int, last: int, table: Floats, rows: Integers, counts: Integers, out: Floats) -> None:
    for learner in range(first, last):
        source = table[learner if table.shape[0] > 1 else 0]
        for place in range(counts[learner]):
            out[learner, place] = source[rows[learner, place]]
        out[learner, counts[learner] :] = 0


def touched_rows(
    run: Runtime, owner: RowGradientOwner, table: torch.Tensor, touched: Touched
) -> torch.Tensor:
    """Return the rows of a table [1|L, V, d] that are touched, [L, U, d]; `owner` is given their gradient.

    Where learners share a table, rows of several are one: then the gradient is that of the whole table.
    """
    if len(table) < len(touched.rows):
        return table[0][torch.from_numpy(touched.rows.astype(np.int64))]
    return _Touched.apply(run, owner, touched, table)  # type: ignore[no-any-return, no-untyped-call]


class _Touched(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Context, run: Runtime, owner: RowGradientOwner, touched: Touched, table: torch.Tensor
    ) -> torch.Tensor:
        out = torch.empty(len(touched.rows), touched.rows.shape[1], table.shape[2])
        run.each(_take, len(out), table.detach().numpy(), *touched, out.numpy())
        ctx.stored = (owner, touched)
        return out

    @staticmethod
    def backward(ctx: Context, grad: torch.Tensor) -> Gradients:
        owner, touched = ctx.stored
        owner.row_gradient = RowGradient(touched, grad.contiguous())
        return None, None, None, None
