"""A slow, obvious builder: dictionaries and nothing else. The compiled one must agree with it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import fsum, log2

Gram = tuple[str, ...]


def count(paths: Iterable[Sequence[str]], order: int, weights: Iterable[int] | None = None) -> Counter[Gram]:
    """Return f(g) for every gram of 1 … order + 1 entities."""
    counts: Counter[Gram] = Counter()
    paths = [tuple(path) for path in paths]
    for path, weight in zip(paths, weights or [1] * len(paths), strict=True):
        for length in range(1, order + 2):
            for start in range(len(path) - length + 1):
                counts[path[start : start + length]] += weight
    return counts


def followers(counts: Counter[Gram]) -> dict[Gram, dict[str, int]]:
    """Return, for each gram g, f(g + x) by x."""
    after: dict[Gram, dict[str, int]] = defaultdict(dict)
    for gram, seen in counts.items():
        after[gram[:-1]][gram[-1]] = seen
    return after


def divergence(gram: Gram, after: dict[Gram, dict[str, int]]) -> float:
    """Return D(g) in bits."""
    mine, base = after.get(gram, {}), after[gram[1:]]
    p = {x: n / sum(mine.values()) for x, n in mine.items()}
    q = {x: base[x] / sum(base.values()) for x in mine}
    return fsum(p[x] * log2(p[x] / q[x]) for x in mine)


def kept(counts: Counter[Gram], order: int, tau: float | None, min_support: int) -> set[Gram]:
    """Return the contexts that become nodes."""
    after = followers(counts)
    keep: set[Gram] = set()
    for length in range(order, 1, -1):
        for gram in [g for g in counts if len(g) == length]:
            if any((*gram, x) in keep for x in after.get(gram, {})):
                keep.add(gram)
            elif counts[gram] >= min_support and gram in after:
                limit = None if tau is None else tau * (length - 1) / log2(1 + counts[gram])
                if limit is None or divergence(gram, after) > limit:
                    keep.add(gram)
    return keep


def label(gram: Gram) -> str:
    """Return a node's label, newest entity first."""
    return "|".join(reversed(gram))


def edges(counts: Counter[Gram], keep: set[Gram], order: int) -> list[tuple[str, str, int]]:
    """Return every edge, sorted by label."""
    found = []
    for gram, seen in counts.items():
        source = gram[:-1]
        if len(gram) == 2 or source in keep:
            suffixes = (gram[i:] for i in range(len(gram)))
            target = next(s for s in suffixes if s in keep or len(s) == 1)
            found.append((label(source), label(target), seen))
    return sorted(found)


def grow(
    paths: Iterable[Sequence[str]],
    order: int,
    tau: float | None = 1.0,
    min_support: int = 1,
    weights: Iterable[int] | None = None,
) -> list[tuple[str, str, int]]:
    """Return the edges of the higher-order network of `paths`."""
    counts = count(paths, order, weights)
    return edges(counts, kept(counts, order, tau, min_support), order)
