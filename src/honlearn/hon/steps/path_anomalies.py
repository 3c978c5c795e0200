"""Which paths are anomalous, and at which step? Bits of paths against paths that the model itself draws.

A long path has more bits than a short one, so a path is compared with drawn ones of its own length: what
counts is Σ −log2 p(x | s) / (1 − p(END | s)), the bits of its entities given that it goes on. One set of
walks serves all lengths, since the first L steps of a walk are a walk of L steps. The p-value of a path is
(1 + walks at least as surprising) / (1 + walks); q-values hold the false discovery rate over all paths.

In: a model and paths. Out: :class:`PathAnomalies`, a value with one row per path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import check_integer
from honlearn.hon.false_discovery import q_values
from honlearn.hon.steps.automaton import draw_walks
from honlearn.hon.steps.model import END_NAME, PathScores, StepModel
from honlearn.paths.paths import Paths
from honlearn.progress import progress
from honlearn.seeds import derive_seed, root_seed

if TYPE_CHECKING:
    import pandas

_AT_ONCE = 1 << 12
_MOST_STEPS = 20_000_000


@dataclass(frozen=True, eq=False)
class PathAnomalies:
    """Bits and p-values of paths, and the step of each that is hardest to explain; one row per path.

    p, q: p-value, and q-value by Benjamini and Hochberg, float64 [n]. hardest: the step with most bits, 0 for
    the first, int64 [n]; the number of entities where it is END. n_walks: how many walks were drawn.
    """

    scores: PathScores
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    hardest: NDArray[np.int64]
    n_walks: int
    paths: Paths

    def __len__(self) -> int:
        return len(self.p)

    def table(self, top: int | None = None) -> pandas.DataFrame:
        """Return one row per path, in the order of the paths, or the `top` most anomalous first.

        path: its row. entities: how many. bits, bits_per_step. p_value, q_value. step: the hardest, 1 for the
        first, 0 in a path without any; step_entity: what was there (``<end>`` for END); step_before: where it
        came from; step_bits.
        """
        import pandas as pd

        rows = np.arange(len(self))
        if top is not None:
            rows = np.lexsort((rows, -self.scores.bits_per_step, self.p))[:top]
        paths, at = self.paths, self.hardest[rows]
        codes = np.append(paths.codes, -1)
        lengths, starts = paths.lengths[rows], paths.offsets[:-1][rows]
        names = np.array([*paths.vocabulary.names, ""], object)
        here = np.where((at >= 0) & (at < lengths), codes[np.minimum(starts + at, len(codes) - 1)], -1)
        before = np.where(at > 0, codes[starts + np.maximum(at, 1) - 1], -1)
        step = names[here]
        step[at == lengths] = END_NAME
        step_bits = np.append(self.scores.steps, np.nan)
        step_at = np.where(at >= 0, self.scores.offsets[:-1][rows] + at, -1)
        return pd.DataFrame(
            {
                "path": rows,
                "entities": lengths,
                "bits": self.scores.bits[rows],
                "bits_per_step": self.scores.bits_per_step[rows],
                "p_value": self.p[rows],
                "q_value": self.q[rows],
                "step": at + 1,
                "step_entity": step,
                "step_before": names[before],
                "step_bits": step_bits[step_at].astype(np.float64),
            }
        )


def path_anomalies(
    model: StepModel,
    paths: Paths,
    *,
    walks: int = 100_000,
    seed: int | None = 0,
    show: bool | None = None,
) -> PathAnomalies:
    """Return the bits of each path with p-values against `walks` paths drawn from the model.

    The same `seed` gives the same values. Very long paths get fewer walks, so that all take at most 20
    million steps. A path that the model was fitted on looks a little less surprising than a new one.
    """
    walks = check_integer("path_anomalies", "walks", walks, 1)
    codes, offsets = model.translated(paths)
    scores = model.score_codes(codes, offsets)
    lengths = np.diff(offsets)
    longest = int(lengths.max(initial=1))
    n = max(min(walks, _MOST_STEPS // max(longest, 1)), min(walks, 1000))
    drawn = _walk_bits(model, n, np.unique(lengths[lengths > 0]), root_seed(seed), show)
    observed = _going_on(model, codes, offsets, scores)
    p = np.ones(len(paths))
    for length, sample in drawn.items():
        rows = np.flatnonzero(lengths == length)
        # A tie within rounding is a tie: the sums of a walk and of a path are added in another order.
        harder = n - np.searchsorted(sample, observed[rows] - 1e-6 * length, "left")
        p[rows] = (1.0 + harder) / (1.0 + n)
    q = q_values(p)
    return PathAnomalies(scores, p, q, scores.hardest(), n, paths)


def _walk_bits(
    model: StepModel, n: int, lengths: NDArray[np.int64], root: int, show: bool | None
) -> dict[int, NDArray[np.float64]]:
    """Return the sorted bits of `n` walks of each of these lengths."""
    if not len(lengths):
        return {}
    a, longest = model.automaton, int(lengths.max())
    kept = {int(length): np.empty(n) for length in lengths}
    part = max(1, min(n, _AT_ONCE * 64 // longest))
    codes, bits = np.empty((part, longest), np.int32), np.empty((part, longest))
    with progress("drawing paths", n, show=show) as advance:
        for begin in range(0, n, part):
            size = min(part, n - begin)
            stream = np.uint64(derive_seed(root, "walks", begin // part))
            draw_walks(
                stream, size, a.first, a.symbol, a.bits, a.target,
                a.end, a.backoff, a.shorter, a.start, a.n_entities, a.own[0], codes, bits,
            )  # fmt: skip
            for length, sample in kept.items():
                sample[begin : begin + size] = bits[:size, length - 1]
            advance(size)
    for sample in kept.values():
        sample.sort()
    return kept


def _going_on(
    model: StepModel, codes: NDArray[np.int32], offsets: NDArray[np.int64], scores: PathScores
) -> NDArray[np.float64]:
    """Return the bits of the entities of each path, given at each step that the path goes on."""
    if not model.knows_end:
        return scores.bits
    states = model.states_of_steps(codes, offsets)
    goes_on = np.log2(np.maximum(-np.expm1(-model.automaton.end[states] * np.log(2.0)), 1e-300))
    ends = scores.steps[scores.offsets[1:] - 1] if len(scores) else np.empty(0, np.float32)
    sums = np.concatenate([[0.0], np.cumsum(goes_on)])
    given: NDArray[Any] = scores.bits - ends + sums[offsets[1:]] - sums[offsets[:-1]]
    return np.asarray(given, np.float64)
