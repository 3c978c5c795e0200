"""Sets of next steps that hold the true one with probability 1 − alpha, END among the outcomes.

One part of the paths is held out, the model is that of the others, and the bits of the held-out steps
calibrate it: a set holds every outcome that takes no more bits than a threshold. With K held-out paths, of
which path i has steps of s_ij bits, the p-value of s bits, and the set after history h are

    p(s) = (1 + Σ_i share of the steps of path i with s_ij ≥ s) / (K + 1),
    C(h) = {x : p(bits(x | h)) > alpha}.

Guaranteed (Lee, Barber and Willett, 2023): where a new path and the held-out paths are exchangeable, C(h)
holds a step that is drawn at random from the new path, each step alike, with probability at least 1 − alpha.
It is an average over paths: steps within a path depend on each other, so nothing is guaranteed for the first
steps, say, or after a certain history; and the share of all steps, in which long paths weigh more, is only
measured (``docs/uncertainty.md``). The list of entities is that of all paths, the held-out ones among them.

In: paths; counts alone do not tell which steps are of one path. Out: :class:`StepSets`, which answers with
:class:`NextSets`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.conformal import Rows, check_alpha, threshold
from honlearn.errors import InputError, check_integer
from honlearn.hon.build import count_grams
from honlearn.hon.steps.memory import divided, ratio, weighted
from honlearn.hon.steps.model import StepModel, step_name
from honlearn.hon.steps.within import outcomes_within, sizes_within, unseen_within
from honlearn.paths.vocabulary import Vocabulary
from honlearn.seeds import root_seed

if TYPE_CHECKING:
    import pandas

# Bits of steps are kept as float32; no rounding may put the outcome at the threshold out of a set.
_ROUNDED = 2.0**-18
# One of so many parts of the paths is held out.
PARTS = 10


@dataclass(frozen=True, eq=False)
class NextSets:
    """One set of next steps for each history, the likeliest step first.

    Parameters
    ----------
    codes : int32 [T]
        The steps of set i are ``codes[offsets[i]:offsets[i + 1]]``; −2 is END.
    probabilities : float64 [T]
        Of each step, by the model.
    offsets : int64 [n + 1]
        Where each set begins.
    unseen : bool [n]
        Whether the set also holds any entity that the paths do not have.
    vocabulary : Vocabulary
        The names of the codes.
    alpha : float
        The share of sets that may lack the true step.
    """

    codes: NDArray[np.int32]
    probabilities: NDArray[np.float64]
    offsets: NDArray[np.int64]
    unseen: NDArray[np.bool_]
    vocabulary: Vocabulary
    alpha: float

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many steps are in each set, END among them [n]."""
        return np.diff(self.offsets)

    def names(self, row: int) -> tuple[str, ...]:
        """Return the names of the steps in one set; END is ``<end>``."""
        low, high = self.offsets[row : row + 2].tolist()
        return tuple(step_name(self.vocabulary, code) for code in self.codes[low:high].tolist())

    def table(self) -> pandas.DataFrame:
        """Return history (from 0), set (a tuple), set_size, probability (of the whole set) and unseen."""
        import pandas as pd

        sums = np.concatenate([[0.0], np.cumsum(self.probabilities)])[self.offsets]
        return pd.DataFrame(
            {
                "history": np.arange(len(self)),
                "set": [self.names(row) for row in range(len(self))],
                "set_size": self.sizes,
                "probability": np.minimum(np.diff(sums), 1.0),
                "unseen": self.unseen,
            }
        )

    def __len__(self) -> int:
        return len(self.unseen)


@dataclass(frozen=True)
class StepCoverage:
    """How often sets hold the steps of some paths; ± are half widths of 95 % intervals over paths.

    paths: the mean over paths of the share of steps held, what 1 − alpha is promised for. steps: the share of
    all steps. size: the mean size of the sets over all steps.
    """

    alpha: float
    paths: float
    paths_pm: float
    steps: float
    steps_pm: float
    size: float
    n_paths: int
    n_steps: int


class StepSets:
    """A model of the next step that is calibrated on paths held out; ``StepSets.of`` makes one.

    Parameters
    ----------
    model : StepModel
        Gives the probabilities of next steps.
    scores : array of float64 [n]
        The bits of each step in the paths held out.
    weights : array of float64 [n]
        How much each step counts: the count of its path, shared among the steps of the path.
    n_paths : int
        Number of paths held out.

    Examples
    --------
    >>> sets = StepSets.of([["A", "C", "D"], ["B", "C", "E"]] * 100, order=2)
    >>> sets.next_sets([["A", "C"], ["A", "C", "D"]], alpha=0.1).table()["set"].tolist()
    [('D',), ('<end>',)]
    """

    def __init__(self, model: StepModel, scores: Rows, weights: Rows, n_paths: int) -> None:
        """Keep the model, bits [T] and weights [T] of steps of `n_paths` paths that it was not made of.

        The weights of the steps of one path sum to 1.
        """
        self.model = model
        self.scores = scores
        self.weights = weights
        self.n_paths = n_paths

    @classmethod
    def of(
        cls, paths: Any, order: int = 3, *, parts: int = PARTS, seed: int | None = 0, **reader_options: Any
    ) -> StepSets:
        """Return the model of paths, calibrated on one of `parts` parts of them, which it is not made of.

        Parameters
        ----------
        paths
            What :func:`honlearn.read_paths` takes.
        order : int, default 3
            How many of the last entities a step may depend on.
        parts : int, default 10
            One of so many parts is held out. With fewer than 1 / alpha − 1 paths in it, every outcome is in
            every set.
        seed : int, optional
            Decides which paths are held out.
        **reader_options
            Options of :func:`honlearn.read_paths`.
        """
        from honlearn.paths.source import read_paths

        order = check_integer("StepSets", "order", order, 1)
        parts = check_integer("StepSets", "parts", parts, 2)
        whole = read_paths(paths, **reader_options)
        if whole.total < parts:
            raise InputError(f"{whole.total:,} paths cannot be divided into {parts} parts; give fewer parts")
        times = np.ones(len(whole), np.int64) if whole.counts is None else whole.counts
        out = divided(whole, parts, root_seed(seed))[0]
        model = StepModel.of(count_grams(weighted(whole, times - out), order))
        held = weighted(whole, out)
        assert held.counts is not None
        found = model.score_codes(held.codes, held.offsets)
        steps = np.diff(found.offsets)
        weights = np.repeat(held.counts / steps, steps)
        return cls(model, found.steps.astype(np.float64), weights, int(held.counts.sum()))

    def limit(self, alpha: float = 0.1) -> float:
        """Return the bits that a step of a set takes at most; infinite where too few paths were held out."""
        share = check_alpha("StepSets", alpha)
        return threshold(self.scores, self.weights, self.n_paths, share) + _ROUNDED

    def next_sets(self, histories: Iterable[Sequence[object]], alpha: float = 0.1) -> NextSets:
        """Return for each history the next steps that cannot be ruled out.

        Parameters
        ----------
        histories : lists of names
            Paths so far, from their start, oldest entity first.
        alpha : float, default 0.1
            How often a set may lack the true next step, from 0 to 1.
        """
        asked = _histories(histories)
        model, limit = self.model, self.limit(alpha)
        codes = model.vocabulary.codes(name for one in asked for name in one)
        states = model.states(codes, np.concatenate([[0], np.cumsum([len(one) for one in asked])]))
        offsets, steps, bits = outcomes_within(model.automaton, states, limit)
        unseen = unseen_within(model.automaton, states, limit)
        return NextSets(steps, np.exp2(-bits), offsets, unseen, model.vocabulary, float(alpha))

    def coverage(self, paths: Any, alpha: float = 0.1, **reader_options: Any) -> StepCoverage:
        """Return how often sets hold the steps of other paths, END included, and how large they are.

        Parameters
        ----------
        paths
            Paths that the sets are tested on, as :func:`honlearn.read_paths` takes them.
        alpha : float, default 0.1
            How often a set may lack the true next step, from 0 to 1.
        **reader_options
            Options of :func:`honlearn.read_paths`.
        """
        from honlearn.paths.source import read_paths

        given, limit = read_paths(paths, **reader_options), self.limit(alpha)
        if not len(given):
            raise InputError("StepSets.coverage: there are no paths; give at least one")
        codes, offsets = self.model.translated(given)
        found = self.model.score_codes(codes, offsets)
        times = np.ones(len(given)) if given.counts is None else given.counts.astype(np.float64)
        steps = np.diff(found.offsets).astype(np.float64)
        hits = np.add.reduceat((found.steps <= limit).astype(np.float64), found.offsets[:-1])
        sizes = self._sizes(codes, offsets, limit)
        by_path = ratio(hits / steps, np.ones(len(steps)), times)
        by_step = ratio(hits, steps, times)
        size = float(sizes @ times) / float(steps @ times)
        return StepCoverage(float(alpha), *by_path, *by_step, size, int(times.sum()), int(steps @ times))

    def _sizes(
        self, codes: NDArray[np.int32], offsets: NDArray[np.int64], limit: float
    ) -> NDArray[np.float64]:
        """Return the sizes of the sets before all steps of each path, END included, in sum [n]."""
        before, last = self.model.states_of_steps(codes, offsets), self.model.states(codes, offsets)
        states, place = np.unique(np.concatenate([before, last]), return_inverse=True)
        size = sizes_within(self.model.automaton, states, limit)[place].astype(np.float64)
        sums = np.concatenate([[0.0], np.cumsum(size[: len(before)])])
        return np.asarray(sums[offsets[1:]] - sums[offsets[:-1]] + size[len(before) :])

    def __repr__(self) -> str:
        return f"StepSets({self.model!r}, calibrated on {self.n_paths:,} paths)"


def _histories(given: Iterable[Sequence[object]]) -> list[list[object]]:
    """Return the histories as lists, or raise where it is a single one."""
    rows = [given] if isinstance(given, (str, bytes)) else list(given)
    if any(isinstance(row, (str, bytes)) for row in rows):
        raise InputError(
            'next_sets takes a list of histories, each a list of names, such as [["A", "B"]]. Got a text '
            "in place of a history"
        )
    return [list(row) for row in rows]
