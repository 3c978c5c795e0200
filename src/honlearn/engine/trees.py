"""Compiled loops for sampled trees: the first layer and the sums that the second takes of it, in one pass.

In a sampled tree nearly every row of the first layer is read once, by one sum. So no row is kept: it is
looked up, activated and added to its sum while it is in cache, and backward spreads the gradient of the sum
straight to the tables. What is kept of a row is which of its values passed relu and dropout, a byte each.
Arrays are as in :mod:`honlearn.engine.kernels`, and every row has an entry (−1: missing) in each look-up.
Values come out the same to the bit, and so do gradients where each row is read once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.adjacency import Rows
from honlearn.engine.hashing import Site, hash32
from honlearn.engine.neighborhoods import Hop
from honlearn.engine.vectors import add_row, set_row
from honlearn.jit import Floats, Integers, njit

# How many rows are looked up before they are activated; one by one takes up to a tenth longer.
_BLOCK = 64
_FAST = {"contract", "nsz"}

Three = tuple[Floats, Floats, Floats]
"""One array for a row itself, one for those into it, one for those out of it."""


class _Entries(NamedTuple):
    """One learner's entries of a look-up after dropout: those dropped or missing have place 0, factor 0.

    No branch depends on what is dropped, because nobody could predict it.
    """

    indptr: Integers
    columns: Integers
    factors: Floats


class _Scratch(NamedTuple):
    """Memory of one thread: the entries of the three look-ups, and rows [_BLOCK, width]."""

    own: _Entries
    into: _Entries
    out_of: _Entries
    rows: Floats


@njit(error_model="numpy")
def _empty_entries(part: Rows) -> _Entries:
    count = part.indices.shape[1]
    return _Entries(part.indptr, np.empty(count, np.int32), np.empty(count, np.float32))


@njit(error_model="numpy")
def _scratch(hop: Hop, tables: Three) -> _Scratch:
    own, into, out_of = tables
    width = own.shape[2] + into.shape[2] + out_of.shape[2]
    rows = np.empty((_BLOCK, width), np.float32)
    return _Scratch(_empty_entries(hop.own), _empty_entries(hop.parts[0]), _empty_entries(hop.parts[1]), rows)


@njit(fastmath=_FAST, error_model="numpy")
def _drop_entries(learner: int, part: Rows, site: Site, entries: _Entries) -> None:
    """Fill the entries of this learner; `site` is (keys, threshold, scale)."""
    keys, threshold, scale = site
    i = learner if part.indices.shape[0] > 1 else 0
    w = learner if part.weights.shape[0] > 1 else 0
    key = keys[learner]
    for e in range(part.indices.shape[1]):
        kept = (part.indices[i, e] >= 0) & (hash32(np.uint32(e), key) >= threshold)
        entries.columns[e] = part.indices[i, e] if kept else 0
        entries.factors[e] = part.weights[w, e] * scale if kept else np.float32(0)


@njit(error_model="numpy")
def _drop_all(learner: int, hop: Hop, sites: tuple[Site, Site, Site, Site], scratch: _Scratch) -> None:
    _drop_entries(learner, hop.own, sites[0], scratch.own)
    _drop_entries(learner, hop.parts[0], sites[1], scratch.into)
    _drop_entries(learner, hop.parts[1], sites[2], scratch.out_of)


@njit(inline="always", error_model="numpy")
def _look_up(entries: _Entries, row: int, table: Floats, top: int, rows: Floats, place: int) -> None:
    """rows.flat[place : place + d] = Σ factor · table row; `top` is where the learner's table begins."""
    width, start, end = table.shape[2], entries.indptr[row], entries.indptr[row + 1]
    set_row(rows, place, table, top + entries.columns[start] * width, width, entries.factors[start])
    for e in range(start + 1, end):
        add_row(rows, place, table, top + entries.columns[e] * width, width, entries.factors[e])


@njit(inline="always", error_model="numpy")
def _spread(entries: _Entries, row: int, table: Floats, top: int, rows: Floats, place: int) -> None:
    """The transpose of :func:`_look_up`: add factor · rows.flat[place : place + d] to the table's rows."""
    width = table.shape[2]
    for e in range(entries.indptr[row], entries.indptr[row + 1]):
        add_row(table, top + entries.columns[e] * width, rows, place, width, entries.factors[e])


@njit(inline="always", error_model="numpy")
def _top(learner: int, table: Floats) -> int:
    top: int = (learner if table.shape[0] > 1 else 0) * table.shape[1] * table.shape[2]
    return top


@njit(fastmath=_FAST, error_model="numpy")
def _sum(
    learner: int,
    r: int,
    hop: Hop,
    tables: Three,
    bias: Floats,
    site: Site,
    upper: Hop,
    part: Rows,
    out: Floats,
    passed: NDArray[np.uint8],
    scratch: _Scratch,
) -> None:
    """out[l, r] = Σ over the entries of `part` of weight · dropout(relu(look-up + bias))."""
    own, into, out_of = tables
    keys, threshold, scale = site
    key, rows = keys[learner], scratch.rows
    tops = _top(learner, own), _top(learner, into), _top(learner, out_of)
    a, b, width = own.shape[2], own.shape[2] + into.shape[2], rows.shape[1]
    h = learner if hop.rows.shape[0] > 1 else 0
    i = learner if part.indices.shape[0] > 1 else 0
    w = learner if part.weights.shape[0] > 1 else 0
    s = learner if bias.shape[0] > 1 else 0
    for j in range(width):
        out[learner, r, j] = 0
    row = upper.rows[learner if upper.rows.shape[0] > 1 else 0, r]
    end = part.indptr[row + 1]
    for start in range(part.indptr[row], end, _BLOCK):
        stop = min(end, start + _BLOCK)
        for e in range(start, stop):
            c = part.indices[i, e]
            if c >= 0:
                q, place = hop.rows[h, c], (e - start) * width
                _look_up(scratch.own, q, own, tops[0], rows, place)
                _look_up(scratch.into, q, into, tops[1], rows, place + a)
                _look_up(scratch.out_of, q, out_of, tops[2], rows, place + b)
        for e in range(start, stop):
            c = part.indices[i, e]
            if c < 0:
                continue
            weight, k = part.weights[w, e], e - start
            first = np.uint32(hop.rows[h, c] * width)
            for j in range(width):
                value = rows[k, j] + bias[s, j]
                kept = (value > np.float32(0)) & (hash32(first + np.uint32(j), key) >= threshold)
                passed[learner, c, j] = kept
                value = value * scale if kept else np.float32(0)
                out[learner, r, j] += weight * value


@njit(error_model="numpy")
def sum_looked_up(
    first: int,
    last: int,
    hop: Hop,
    upper: Hop,
    tables: Three,
    bias: Floats,
    sites: tuple[Site, Site, Site, Site],
    outs: Three,
    passed: NDArray[np.uint8],
) -> None:
    """Fill outs (own, into, out_of: [L, R, D]) with the sums that `upper` takes of the rows of `hop`."""
    scratch = _scratch(hop, tables)
    given = (hop, tables, bias, sites[3], upper)
    for learner in range(first, last):
        _drop_all(learner, hop, sites, scratch)
        for r in range(upper.rows.shape[1]):
            _sum(learner, r, *given, upper.own, outs[0], passed, scratch)
            _sum(learner, r, *given, upper.parts[0], outs[1], passed, scratch)
            _sum(learner, r, *given, upper.parts[1], outs[2], passed, scratch)


@njit(fastmath=_FAST, error_model="numpy")
def _sum_back(
    learner: int,
    r: int,
    hop: Hop,
    upper: Hop,
    part: Rows,
    grad: Floats,
    passed: NDArray[np.uint8],
    scale: np.float32,
    grad_bias: Floats,
    grad_tables: Three,
    scratch: _Scratch,
) -> None:
    """Add to the gradients of bias and tables what :func:`_sum` spread to out[l, r]."""
    own, into, out_of = grad_tables
    rows = scratch.rows
    tops = _top(learner, own), _top(learner, into), _top(learner, out_of)
    a, b, width = own.shape[2], own.shape[2] + into.shape[2], rows.shape[1]
    h = learner if hop.rows.shape[0] > 1 else 0
    i = learner if part.indices.shape[0] > 1 else 0
    w = learner if part.weights.shape[0] > 1 else 0
    s = learner if grad_bias.shape[0] > 1 else 0
    row = upper.rows[learner if upper.rows.shape[0] > 1 else 0, r]
    end = part.indptr[row + 1]
    for start in range(part.indptr[row], end, _BLOCK):
        stop = min(end, start + _BLOCK)
        for e in range(start, stop):
            c = part.indices[i, e]
            if c < 0:
                continue
            weight, k = part.weights[w, e], e - start
            for j in range(width):
                value = weight * grad[learner, r, j] * scale if passed[learner, c, j] else np.float32(0)
                rows[k, j] = value
                grad_bias[s, j] += value
        for e in range(start, stop):
            c = part.indices[i, e]
            if c >= 0:
                q, place = hop.rows[h, c], (e - start) * width
                _spread(scratch.own, q, own, tops[0], rows, place)
                _spread(scratch.into, q, into, tops[1], rows, place + a)
                _spread(scratch.out_of, q, out_of, tops[2], rows, place + b)


@njit(error_model="numpy")
def sum_looked_up_back(
    first: int,
    last: int,
    hop: Hop,
    upper: Hop,
    grads: Three,
    sites: tuple[Site, Site, Site, Site],
    passed: NDArray[np.uint8],
    grad_bias: Floats,
    grad_tables: Three,
) -> None:
    """Add to grad_bias and grad_tables the gradients of :func:`sum_looked_up`."""
    scratch, scale = _scratch(hop, grad_tables), sites[3][2]
    rest = (passed, scale, grad_bias, grad_tables, scratch)
    for learner in range(first, last):
        _drop_all(learner, hop, sites, scratch)
        # In the order of the rows of a tree: roots, then for each root those into it and those out of it.
        for r in range(upper.rows.shape[1]):
            _sum_back(learner, r, hop, upper, upper.own, grads[0], *rest)
        for r in range(upper.rows.shape[1]):
            _sum_back(learner, r, hop, upper, upper.parts[0], grads[1], *rest)
            _sum_back(learner, r, hop, upper, upper.parts[1], grads[2], *rest)
