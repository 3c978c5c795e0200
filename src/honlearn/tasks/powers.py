"""How much the weights of edges count, chosen for the task: the power that they are taken to.

In: a way to train a few learners with a power, a validation part each. Out: the power whose learners lose
least on what they hold back, and a table of all that were tried. The usual power stays unless another is
better by more than the standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from honlearn.ensemble.fitting import Held
from honlearn.learners.base import USUAL_POWER
from honlearn.progress import progress
from honlearn.tasks.held import HeldOutScore, Ledger

if TYPE_CHECKING:
    import pandas

POWERS = (0.0, 0.25, USUAL_POWER, 1.0)
# The share of the learners that judge each power.
_PART = 3 / 16


def choose_power(
    judge: Callable[[float, range], Held],
    n_examples: int,
    n_learners: int,
    show: bool | None,
    ledger: Ledger | None = None,
) -> tuple[float, pandas.DataFrame]:
    """Return the power that suits the examples best, and what was tried, the best first."""
    import pandas as pd

    ledger = Ledger() if ledger is None else ledger
    scores = [
        HeldOutScore(probability=np.zeros(n_examples), n_votes=np.zeros(n_examples, np.int64)) for _ in POWERS
    ]
    tried = dict(zip(POWERS, scores, strict=True))
    ledger.resume(scores)
    with (
        ledger.saved_on_interrupt(scores),
        progress("choosing the power of weights", total=len(POWERS), show=show) as advance,
    ):
        for power, score in tried.items():
            if not score.learners:
                score.update(max(2, math.ceil(n_learners * _PART)), partial(judge, power))
                ledger.maybe_save(scores)
            advance(1, f"best loss {min(one.loss for one in scores):.3f}")
    ledger.save(scores)
    for score in scores:
        score.compare(tried[USUAL_POWER])
    best = min(tried, key=lambda power: tried[power].loss)
    chosen = best if tried[best].gain > tried[best].error else USUAL_POWER
    rows = [
        {
            "edge_power": power,
            "learners": one.learners,
            "loss": one.loss if one.n_votes.any() else math.nan,
            "gain": one.gain,
            "standard_error": one.error,
            "cpu_seconds": round(one.seconds, 3),
            "chosen": power == chosen,
        }
        for power, one in sorted(tried.items(), key=lambda item: item[1].loss)
    ]
    return chosen, pd.DataFrame(rows)
