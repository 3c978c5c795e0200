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

from honlearn.progress import progress
from honlearn.tasks.held import Held, Ledger, Tally

if TYPE_CHECKING:
    import pandas

USUAL = 0.5
POWERS = (0.0, 0.25, USUAL, 1.0)
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
    tallies = [Tally(chance=np.zeros(n_examples), voices=np.zeros(n_examples, np.int64)) for _ in POWERS]
    tried = dict(zip(POWERS, tallies, strict=True))
    ledger.resume(tallies)
    with (
        ledger.saved_on_interrupt(tallies),
        progress("choosing the power of weights", total=len(POWERS), show=show) as advance,
    ):
        for power, tally in tried.items():
            if not tally.learners:
                tally.hear(max(2, math.ceil(n_learners * _PART)), partial(judge, power))
                ledger.maybe_save(tallies)
            advance(1, f"best loss {min(one.loss for one in tallies):.3f}")
    ledger.save(tallies)
    for tally in tallies:
        tally.compare(tried[USUAL])
    best = min(tried, key=lambda power: tried[power].loss)
    chosen = best if tried[best].gain > tried[best].error else USUAL
    rows = [
        {
            "edge_power": power,
            "learners": one.learners,
            "loss": one.loss if one.voices.any() else math.nan,
            "gain": one.gain,
            "standard_error": one.error,
            "cpu_seconds": round(one.seconds, 3),
            "chosen": power == chosen,
        }
        for power, one in sorted(tried.items(), key=lambda item: item[1].loss)
    ]
    return chosen, pd.DataFrame(rows)
