"""Trials ahead of a search: on an executor, points that will probably be suggested are tried before they are.

In: the trials so far and the suggestion that follows from them. Out: its trial. Which point is suggested
depends on the trials before it alone, so a search on many workers must wait for each; meanwhile the others
try what would be suggested next if the trials under way had the median score. The first ten suggestions of
optuna's sampler do not depend on scores at all, so all of these are right. A wrong guess costs time of a
worker that had nothing else to do, and never changes a trial: one that is not suggested is not kept.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from honlearn.executors import Executor
from honlearn.experiments.search import MOST_REPEATS, Trial, attempt, point_key

Point = Mapping[str, Any]


class TrialsAhead:
    """Tries the point that is asked for and, on the other workers, what may follow; the most is `trials`."""

    def __init__(
        self,
        pool: Executor,
        evaluate: Callable[[Point | None], float],
        suggest: Callable[[list[Trial]], Point],
        trials: int | None,
    ) -> None:
        self.pool, self.suggest, self.most = pool, suggest, trials
        self.shared = pool.share(evaluate)
        self._begun: dict[str | None, Any] = {}

    def __enter__(self) -> TrialsAhead:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pool.release([*self._begun.values(), self.shared])

    def __call__(self, trials: list[Trial], point: Point | None, limit: float | None) -> Trial:
        """Return the trial of `point`, which follows from `trials`."""
        self._begin(trials, point, limit)
        handle = self._begun.pop(point_key(point))
        trial: Trial = self.pool.get(handle)
        self.pool.release([handle])
        return trial

    def _begin(self, trials: list[Trial], point: Point | None, limit: float | None) -> None:
        """Begin a trial of `point` and of what may follow, until every worker has one."""
        scores = [trial.score for trial in trials if trial.score is not None]
        guess = statistics.median(scores) if scores else 0.0
        imagined, repeats = list(trials), 0
        known = {point_key(trial.point) for trial in trials}
        fits = sum(not trial.repeats for trial in trials)
        expected: Point | None = point
        while repeats < MOST_REPEATS and (self.most is None or fits < self.most):
            key = point_key(expected)
            if key in known:
                repeats += 1
            else:
                if key not in self._begun:
                    self._begun[key] = self.pool.submit(attempt, self.shared, expected, limit)
                known.add(key)
                fits, repeats = fits + 1, 0
            imagined.append(Trial(expected, guess, 0.0, repeats=repeats > 0))
            if len(self._begun) >= self.pool.n_workers:
                return
            expected = self.suggest(imagined)
