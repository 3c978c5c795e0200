"""Paths → parts: at random by path, or by time.

In: paths, and how many parts or which shares. Out: one :class:`Paths` per part, each with the entities that
occur in it. Every observed path is in exactly one part; a row with a count may be in several, with a part of
its count in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError
from honlearn.paths.paths import Paths
from honlearn.paths.stream import occurring
from honlearn.seeds import generator, root_seed

# Beyond it NumPy draws no hypergeometric numbers; then each path draws its part by itself.
_EXACT = 10**9


def split(
    paths: Paths, parts: float | int | Sequence[float], seed: int | None, times: Iterable[Any] | None
) -> list[Paths]:
    """Return the parts; see :meth:`Paths.split`."""
    shares = _shares(parts)
    sizes = _sizes(shares, paths.total)
    if (sizes == 0).any():
        raise InputError(
            f"split: {paths.total:,} paths are too few for {len(shares)} parts of these shares; one would be "
            "empty"
        )
    if times is not None:
        return _by_time(paths, sizes, times)
    random = generator(root_seed(seed), "paths", "split")
    if paths.counts is None:
        order = random.permutation(len(paths))
        return [take(paths, np.sort(rows)) for rows in np.split(order, np.cumsum(sizes)[:-1])]
    return [_with_counts(paths, counts) for counts in _dealt(paths.counts, sizes, random)]


def take(paths: Paths, rows: NDArray[np.int64], counts: NDArray[np.int64] | None = None) -> Paths:
    """Return some rows of the paths, with their own counts unless others are given."""
    codes, offsets = rows_of(paths, rows)
    if counts is None and paths.counts is not None:
        counts = paths.counts[rows]
    return occurring(codes, offsets, paths.vocabulary, counts)


def rows_of(paths: Paths, rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the codes and offsets of some rows."""
    lengths = paths.lengths[rows]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return paths.codes[np.repeat(paths.offsets[rows], lengths) + within], offsets


def _with_counts(paths: Paths, counts: NDArray[np.int64]) -> Paths:
    rows = np.flatnonzero(counts)
    return take(paths, rows, counts[rows])


def _shares(parts: float | int | Sequence[float]) -> NDArray[np.float64]:
    """Return the share of each part: n alike, a fraction and the rest, or as they are given."""
    if isinstance(parts, (int, float, np.integer, np.floating)) and not isinstance(parts, bool):
        if float(parts).is_integer() and parts >= 2:
            return np.full(int(parts), 1.0 / int(parts))
        if 0 < parts < 1:
            return np.array([parts, 1.0 - parts])
    elif isinstance(parts, (list, tuple, np.ndarray)) and len(parts) > 1:
        try:
            shares = np.asarray(parts, np.float64)
        except (TypeError, ValueError):
            shares = np.zeros(1)
        if shares.ndim == 1 and (shares > 0).all() and abs(shares.sum() - 1.0) < 1e-9:
            return shares
    raise ParameterError(
        "The 'parts' parameter of split must be a number of parts, at least 2, a fraction between 0 and 1, "
        f"or a list of fractions that add up to 1. Got {parts!r} instead."
    )


def _sizes(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Return how many paths each part gets: its share, rounded so that all of them are dealt out."""
    ends = np.rint(np.cumsum(shares) * total).astype(np.int64)
    ends[-1] = total
    return np.diff(ends, prepend=0)


def _dealt(
    counts: NDArray[np.int64], sizes: NDArray[np.int64], random: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return the counts of each part: paths dealt out without replacement."""
    left, dealt = counts.copy(), []
    for i, size in enumerate(sizes[:-1].tolist()):
        rest = int(sizes[i:].sum())
        if rest < _EXACT:
            drawn = random.multivariate_hypergeometric(left, size, method="marginals")
        else:
            drawn = random.binomial(left, size / rest)
        dealt.append(drawn)
        left = left - drawn
    return [*dealt, left]


def _by_time(paths: Paths, sizes: NDArray[np.int64], times: Iterable[Any]) -> list[Paths]:
    """Return the earliest paths, then later ones; paths of one time stay together, in the earlier part."""
    values = np.asarray(times if hasattr(times, "__len__") else list(times))
    if values.shape != (len(paths),) or values.dtype.kind not in "iufMm":
        raise InputError(
            f"split: times must be one number or time per row, {len(paths):,} in all; got {values.dtype} "
            f"of shape {values.shape}"
        )
    if np.isnat(values).any() if values.dtype.kind in "Mm" else np.isnan(values).any():
        raise InputError("split: a time is missing; leave out its path, or split at random without times")
    distinct, rank = np.unique(values, return_inverse=True)
    counts = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
    upto = np.cumsum(np.bincount(rank, counts, minlength=len(distinct)))
    # The last time of each part but the last: where at least as many paths are as it is to have.
    cuts = np.searchsorted(upto, np.cumsum(sizes)[:-1], "left")
    part = np.searchsorted(cuts, rank, "left")
    found = [np.flatnonzero(part == i) for i in range(len(sizes))]
    if not all(map(len, found)):
        raise InputError(
            f"split: too many paths have the same time ({len(distinct):,} distinct times) for {len(sizes)} "
            "parts of these shares; one would be empty"
        )
    return [take(paths, rows) for rows in found]
