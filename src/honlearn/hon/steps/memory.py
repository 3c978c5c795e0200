"""How much does memory help? Bits per step and accuracy of orders 1 … k on paths held out.

The paths are divided into parts; for each part, models of all orders are fitted on the others and asked
about it. Order 1 knows where one is, order 2 where one came from, too, and so on, all with the same
smoothing, END an outcome. Sums over the paths of all parts give bits per step and top-1 accuracy; their
standard errors treat a path, not a step, as the unit: for a ratio R = Σb / Σn of path totals,
√Σ(b − R n)² / Σn.

In: paths. Out: :class:`MemoryGain`, one row per order, and one sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_integer
from honlearn.hon.build import count_grams
from honlearn.hon.steps.automaton import END
from honlearn.hon.steps.model import StepModel
from honlearn.paths.paths import Paths
from honlearn.paths.split import rows_of
from honlearn.progress import progress
from honlearn.seeds import generator, root_seed

if TYPE_CHECKING:
    import pandas

_Z = 1.959964  # 95 % of a normal distribution lie within so many standard errors
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class OrderGain:
    """What one order reaches on held-out paths; ± are half widths of 95 % intervals over paths.

    saved, saved_pm: bits per step less than the order below has, of the same paths; NaN for order 1.
    """

    order: int
    bits: float
    bits_pm: float
    top1: float
    top1_pm: float
    saved: float
    saved_pm: float


@dataclass(frozen=True)
class MemoryGain:
    """How much memory helps: one :class:`OrderGain` per order, and how much was asked."""

    orders: tuple[OrderGain, ...]
    n_paths: int
    n_steps: int
    n_parts: int

    @property
    def best(self) -> int:
        """The highest order that saves bits beyond doubt, each order below it doing so, too."""
        found = 1
        for row in self.orders[1:]:
            if not row.saved - row.saved_pm > 0:
                break
            found = row.order
        return found

    def table(self) -> pandas.DataFrame:
        """Return one row per order."""
        import pandas as pd

        return pd.DataFrame([vars(row) for row in self.orders])

    def sentence(self) -> str:
        """Return the result in one sentence.

        >>> one = OrderGain(1, 4.6, 0.1, 0.2, 0.01, np.nan, np.nan)
        >>> two = OrderGain(2, 4.2, 0.1, 0.3, 0.01, 0.41, 0.02)
        >>> MemoryGain((one, two), 10, 40, 5).sentence()
        'Knowing one step back saves 0.41 ± 0.02 of 4.60 bits per step.'
        """
        total = f"{self.orders[0].bits:.2f} bits"
        if self.best == 1:
            return f"Knowing where a path came from saves none of the {total} per step."
        parts = []
        for row in self.orders[1:]:
            back = _WORDS[row.order - 1] if row.order <= len(_WORDS) else str(row.order - 1)
            steps = f"{back} step{'s' if row.order > 2 else ''} back"
            if row.order > self.best:
                parts.append(f"{steps} nothing more")
                break
            digits = 2 if row.saved_pm >= 0.005 else 3
            gain = f"{row.saved:.{digits}f} ± {row.saved_pm:.{digits}f}"
            parts.append(
                f"Knowing {steps} saves {gain} of {total} per step"
                if row.order == 2
                else f"{steps} another {gain}"
            )
        return "; ".join(parts) + "."


def memory_gain(
    paths: Any,
    order: int = 3,
    *,
    parts: int = 5,
    seed: int | None = 0,
    show: bool | None = None,
    **reader_options: Any,
) -> MemoryGain:
    """Return how well orders 1 … `order` predict held-out paths; paths as :func:`honlearn.read_paths` takes.

    Each path is held out once, in one of `parts`; a row that stands for many paths is divided among them.
    """
    from honlearn.paths.source import read_paths

    order = check_integer("memory_gain", "order", order, 1)
    parts = check_integer("memory_gain", "parts", parts, 2)
    whole = read_paths(paths, **reader_options)
    if whole.total < parts:
        raise InputError(f"{whole.total:,} paths cannot be divided into {parts} parts; give fewer parts")
    return gain_of_parts(whole, divided(whole, parts, root_seed(seed)), order, show=show)


def gain_of_parts(
    paths: Paths, held: NDArray[np.int64], order: int, *, show: bool | None = None
) -> MemoryGain:
    """Return the gain where each part holds out ``held[part, row]`` of the paths of each row."""
    times = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
    sums = _Sums(order)
    with progress("how much memory helps", len(held), show=show) as advance:
        for out in held:
            counts = count_grams(weighted(paths, times - out), order)
            asked = weighted(paths, out)
            for k in range(1, order + 1):
                sums.add(k, StepModel.of(counts, k), asked)
            advance(1)
    return sums.result(int(held.sum()), len(held))


def divided(paths: Paths, parts: int, root: int) -> NDArray[np.int64]:
    """Return how many of the paths of each row each part holds, int64 [parts, rows].

    Up to 50 million paths the sizes of parts differ by 1 at most; beyond, each path draws its part.
    """
    times = np.ones(len(paths), np.int64) if paths.counts is None else paths.counts
    total = int(times.sum())
    random = generator(root, "memory", "parts")
    if total <= 50_000_000:
        part = np.arange(total, dtype=np.int32) % parts
        random.shuffle(part)
        rows = np.repeat(np.arange(len(times)), times)
        return np.stack([np.bincount(rows[part == i], minlength=len(times)) for i in range(parts)])
    return np.ascontiguousarray(random.multinomial(times, np.full(parts, 1 / parts)).T)


def weighted(paths: Paths, times: NDArray[np.int64]) -> Paths:
    """Return the rows whose `times` is above 0, with these counts."""
    rows = np.flatnonzero(times)
    codes, offsets = rows_of(paths, rows)
    return Paths(codes, offsets, paths.vocabulary, times[rows])


class _Sums:
    """Totals of the paths asked about, one entry for each row of each part."""

    def __init__(self, order: int) -> None:
        self.bits: list[list[NDArray[np.float64]]] = [[] for _ in range(order)]
        self.hits: list[list[NDArray[np.float64]]] = [[] for _ in range(order)]
        self.steps: list[NDArray[np.int64]] = []
        self.times: list[NDArray[np.int64]] = []

    def add(self, order: int, model: StepModel, asked: Paths) -> None:
        scores = model.score_codes(asked.codes, asked.offsets)
        self.bits[order - 1].append(scores.bits)
        self.hits[order - 1].append(hits_per_path(model, asked))
        if order == 1:
            assert asked.counts is not None
            self.steps.append(np.diff(scores.offsets))
            self.times.append(asked.counts)

    def result(self, n_paths: int, parts: int) -> MemoryGain:
        steps = np.concatenate(self.steps).astype(np.float64)
        times = np.concatenate(self.times).astype(np.float64)
        found, before = [], None
        for k, (some_bits, some_hits) in enumerate(zip(self.bits, self.hits, strict=True), start=1):
            bits = np.concatenate(some_bits)
            saved = (np.nan, np.nan) if before is None else ratio(before - bits, steps, times)
            found.append(
                OrderGain(
                    k, *ratio(bits, steps, times), *ratio(np.concatenate(some_hits), steps, times), *saved
                )
            )
            before = bits
        return MemoryGain(tuple(found), n_paths, int(steps @ times), parts)


def hits_per_path(model: StepModel, paths: Paths) -> NDArray[np.float64]:
    """Return how many steps of each path, END included, are the likeliest of their state [n]."""
    before = model.states_of_steps(paths.codes, paths.offsets)
    after = model.states(paths.codes, paths.offsets)
    top = model.likeliest(np.arange(len(model.automaton.end), dtype=np.int32), 1).codes[:, 0]
    right = np.concatenate([[0], np.cumsum(top[before] == paths.codes)])
    inside = right[paths.offsets[1:]] - right[paths.offsets[:-1]]
    return np.asarray(inside + (top[after] == END), np.float64)


def ratio(
    sums: NDArray[np.float64], steps: NDArray[np.float64], times: NDArray[np.float64]
) -> tuple[float, float]:
    """Return Σb / Σn over paths, each `times` often, and the half width of its 95 % interval."""
    n = float(steps @ times)
    value = float(sums @ times) / n
    return value, _Z * float(np.sqrt(((sums - value * steps) ** 2) @ times)) / n
