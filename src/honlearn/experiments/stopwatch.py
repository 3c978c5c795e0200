"""How long a fit and its predictions took, by the clock and of the processor.

In: two moments or three. Out: :class:`~honlearn.results.record.Times` of a record.
"""

from __future__ import annotations

import datetime
import time
from typing import NamedTuple

from honlearn.results.record import Times


class Moment(NamedTuple):
    """Seconds of the clock and of the processor, both since some fixed moment."""

    clock: float
    processor: float

    @classmethod
    def now(cls) -> Moment:
        """Return this moment."""
        return cls(time.perf_counter(), time.process_time())


def fit_times(start: Moment, fitted: Moment, done: Moment | None = None) -> Times:
    """Return the times of a fit from `start` to `fitted` and of its predictions until `done`.

    Without `done` the predictions are part of the fit.

    >>> times = fit_times(Moment(1.0, 0.5), Moment(3.0, 1.5), Moment(3.5, 1.75))
    >>> times.fit_seconds, times.fit_cpu_seconds, times.predict_seconds, times.predict_cpu_seconds
    (2.0, 1.0, 0.5, 0.25)
    """
    return Times(
        fit_seconds=round(fitted.clock - start.clock, 4),
        fit_cpu_seconds=round(fitted.processor - start.processor, 4),
        predict_seconds=None if done is None else round(done.clock - fitted.clock, 4),
        predict_cpu_seconds=None if done is None else round(done.processor - fitted.processor, 4),
        finished=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    )
