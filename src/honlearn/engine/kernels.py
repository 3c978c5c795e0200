"""Compiled loops of the learners: sparse rows times dense rows, for learners `first` to `last`.

Arrays carry the learner axis first, so a learner's table stays in cache and learners can run on threads
without touching each other's rows. An axis of length 1 where L is expected means: shared by all learners.
``indptr [R' + 1], indices [1|L, E], weights [1|L, E]`` are CSR rows (index −1: missing); ``rows [1|L, R]``
says which CSR row each output row takes, and names the row for dropout, so that a mask does not depend on
which other rows are computed; ``keys [L]`` and `threshold` drop entries (see hashing).
"""

from __future__ import annotations

import numpy as np

from honlearn.engine.hashing import Keys, hash32
from honlearn.jit import Floats, Integers, njit


@njit(error_model="numpy")
def longest_row(indptr: Integers) -> int:
    """Return the number of entries of the longest row."""
    most = 0
    for row in range(len(indptr) - 1):
        most = max(most, indptr[row + 1] - indptr[row])
    return most


@njit(inline="always", error_model="numpy")
def _kept(
    start: int,
    end: int,
    column: Integers,
    weight: Floats,
    scale: np.float32,
    key: np.uint32,
    threshold: np.uint32,
    places: Integers,
    factors: Floats,
) -> int:
    """List the entries of a row that are there and that dropout keeps; return how many.

    Nothing branches on a random bit, which no processor foresees.
    """
    count = 0
    for e in range(start, end):
        places[count], factors[count] = column[e], weight[e] * scale
        count += (column[e] >= 0) & (hash32(np.uint32(e), key) >= threshold)
    return count


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def sum_rows(
    first: int,
    last: int,
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    rows: Integers,
    x: Floats,
    out: Floats,
    offset: int,
    scale: np.float32,
    keys: Keys,
    threshold: np.uint32,
) -> None:
    """out[l, r, offset : offset + d] = scale · Σ_e weights[e] · x[l, indices[e]] over the entries kept."""
    width, most = x.shape[2], longest_row(indptr) if threshold > 0 else 0
    places, factors = np.empty(most + 1, np.int32), np.empty(most + 1, np.float32)
    for learner in range(first, last):
        table = x[learner if x.shape[0] > 1 else 0]
        column = indices[learner if indices.shape[0] > 1 else 0]
        weight = weights[learner if weights.shape[0] > 1 else 0]
        which = rows[learner if rows.shape[0] > 1 else 0]
        key = keys[learner]
        for r in range(len(which)):
            target = out[learner, r, offset : offset + width]
            target[:] = 0
            start, end = indptr[which[r]], indptr[which[r] + 1]
            if threshold > 0:
                count = _kept(start, end, column, weight, scale, key, threshold, places, factors)
                # Two at a time, in the same order: the sum is loaded and stored half as often.
                for k in range(0, count - 1, 2):
                    a, b = table[places[k]], table[places[k + 1]]
                    w_a, w_b = factors[k], factors[k + 1]
                    for j in range(width):
                        target[j] = (target[j] + w_a * a[j]) + w_b * b[j]
                if count % 2:
                    a, w_a = table[places[count - 1]], factors[count - 1]
                    for j in range(width):
                        target[j] += w_a * a[j]
                continue
            for e in range(start, end):
                if column[e] < 0:
                    continue
                w, source = weight[e] * scale, table[column[e]]
                for j in range(width):
                    target[j] += w * source[j]


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def sum_rows_back(
    first: int,
    last: int,
    indptr: Integers,
    indices: Integers,
    weights: Floats,
    rows: Integers,
    grad: Floats,
    offset: int,
    scale: np.float32,
    keys: Keys,
    threshold: np.uint32,
    grad_x: Floats,
) -> None:
    """Add to grad_x[l, indices[e]] what :func:`sum_rows` spread from it; its transpose."""
    width, most = grad_x.shape[2], longest_row(indptr) if threshold > 0 else 0
    places, factors = np.empty(most + 1, np.int32), np.empty(most + 1, np.float32)
    for learner in range(first, last):
        table = grad_x[learner if grad_x.shape[0] > 1 else 0]
        column = indices[learner if indices.shape[0] > 1 else 0]
        weight = weights[learner if weights.shape[0] > 1 else 0]
        which = rows[learner if rows.shape[0] > 1 else 0]
        key = keys[learner]
        for r in range(len(which)):
            source = grad[learner, r, offset : offset + width]
            start, end = indptr[which[r]], indptr[which[r] + 1]
            if threshold > 0:
                count = _kept(start, end, column, weight, scale, key, threshold, places, factors)
                for k in range(count):
                    target, w = table[places[k]], factors[k]
                    for j in range(width):
                        target[j] += w * source[j]
                continue
            for e in range(start, end):
                if column[e] < 0:
                    continue
                w, target = weight[e] * scale, table[column[e]]
                for j in range(width):
                    target[j] += w * source[j]


@njit(error_model="numpy")
def max_rows(
    first: int,
    last: int,
    indptr: Integers,
    indices: Integers,
    rows: Integers,
    x: Floats,
    out: Floats,
    winner: Integers,
    keys: Keys,
    threshold: np.uint32,
) -> None:
    """out[l, r] = elementwise max of x[l, indices[e]] over the entries kept, 0 if none; winner: its place."""
    width = x.shape[2]
    for learner in range(first, last):
        table = x[learner if x.shape[0] > 1 else 0]
        column = indices[learner if indices.shape[0] > 1 else 0]
        which = rows[learner if rows.shape[0] > 1 else 0]
        key = keys[learner]
        for r in range(len(which)):
            target, place = out[learner, r], winner[learner, r]
            place[:] = -1
            target[:] = 0
            for e in range(indptr[which[r]], indptr[which[r] + 1]):
                c = column[e]
                if c < 0 or (threshold > 0 and hash32(np.uint32(e), key) < threshold):
                    continue
                source = table[c]
                for j in range(width):
                    if place[j] < 0 or source[j] > target[j]:
                        target[j] = source[j]
                        place[j] = c


@njit(error_model="numpy")
def max_rows_back(first: int, last: int, grad: Floats, winner: Integers, grad_x: Floats) -> None:
    """Add grad[l, r] to the rows that won in :func:`max_rows`."""
    for learner in range(first, last):
        table = grad_x[learner if grad_x.shape[0] > 1 else 0]
        for r in range(grad.shape[1]):
            for j in range(grad.shape[2]):
                c = winner[learner, r, j]
                if c >= 0:
                    table[c, j] += grad[learner, r, j]


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def activate(
    first: int,
    last: int,
    x: Floats,
    bias: Floats,
    rows: Integers,
    keys: Keys,
    threshold: np.uint32,
    scale: np.float32,
) -> None:
    """In place: x = dropout(relu(x + bias)), kept values times `scale`; rows [1|L, R] number the rows."""
    for learner in range(first, last):
        which = rows[learner if rows.shape[0] > 1 else 0]
        shift = bias[learner if bias.shape[0] > 1 else 0]
        key = keys[learner]
        width = x.shape[2]
        for r in range(x.shape[1]):
            row = x[learner, r]
            start = np.uint32(which[r] * width)
            if threshold > 0:
                for j in range(width):
                    value = row[j] + shift[j]
                    kept = (value > 0) & (hash32(start + np.uint32(j), key) >= threshold)
                    row[j] = value * scale if kept else np.float32(0)
            else:
                for j in range(width):
                    value = row[j] + shift[j]
                    row[j] = value if value > 0 else np.float32(0)


@njit(fastmath={"contract", "nsz"}, error_model="numpy")
def activate_back(
    first: int, last: int, y: Floats, grad: Floats, scale: np.float32, grad_x: Floats, grad_bias: Floats
) -> None:
    """grad_x = grad where :func:`activate` let y through, times `scale`; sums of it into grad_bias."""
    for learner in range(first, last):
        shift = grad_bias[learner if grad_bias.shape[0] > 1 else 0]
        for r in range(y.shape[1]):
            value, gradient, target = y[learner, r], grad[learner, r], grad_x[learner, r]
            for j in range(y.shape[2]):
                kept = gradient[j] * scale if value[j] > 0 else np.float32(0)
                target[j] = kept
                shift[j] += kept


@njit(error_model="numpy")
def drop(
    first: int,
    last: int,
    x: Floats,
    out: Floats,
    rows: Integers,
    keys: Keys,
    threshold: np.uint32,
    scale: np.float32,
) -> None:
    """out = dropout(x), kept values times `scale`; its own transpose."""
    for learner in range(first, last):
        which = rows[learner if rows.shape[0] > 1 else 0]
        key = keys[learner]
        width = x.shape[2]
        for r in range(x.shape[1]):
            source, target = x[learner, r], out[learner, r]
            start = np.uint32(which[r] * width)
            for j in range(width):
                kept = hash32(start + np.uint32(j), key) >= threshold
                target[j] = source[j] * scale if kept else np.float32(0)
