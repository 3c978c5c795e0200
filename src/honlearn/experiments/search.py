"""Search for settings, inside a training part: suggestions by optuna, every trial kept as it finishes.

In: a space, a budget and a function that fits with some settings and scores them on a validation part. Out:
the best settings and what was tried. The first trial is what the model does by default, so a search never
chooses worse, by its own validation, than no search. A trial's suggestion depends on the seed and on the
trials before it alone, so that a search that was killed goes on as if it had not been.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from honlearn.errors import FormatError, HonlearnError, InputError, check_integer, check_real, first_line
from honlearn.executors import is_here, open_executor
from honlearn.experiments.spaces import Space
from honlearn.results.records import JsonObjects
from honlearn.seeds import derive_seed
from honlearn.stored import Fields, shown

# Suggestions in a row that were tried before; a small space is then as good as exhausted.
MOST_REPEATS = 50


@dataclass(frozen=True)
class Budget:
    """When a search ends: after so many minutes, or so many trials, whichever is first; None is no limit.

    With `trials` alone the result does not depend on the speed of the machine.
    """

    minutes: float | None = 2.0
    trials: int | None = None

    def __post_init__(self) -> None:
        if self.minutes is not None:
            check_real("search", "minutes", self.minutes, 0)
        if self.trials is not None:
            check_integer("search", "trials", self.trials, 1)
        if self.minutes is None and self.trials is None:
            raise InputError("a search needs a budget: minutes, trials, or both")

    def is_spent(self, trials: int, seconds: float) -> bool:
        """Return whether another trial may not begin."""
        late = self.minutes is not None and seconds >= 60 * self.minutes
        return late or (self.trials is not None and trials >= self.trials)

    def expected(self, fit: float, points: int) -> float:
        """Return the seconds that a search among so many points may take where one fit takes `fit`."""
        fits = points + 1 if self.trials is None else min(points + 1, self.trials)
        return fits * fit if self.minutes is None else min(fits * fit, 60 * self.minutes)

    def left(self, seconds: float) -> float | None:
        """Return the seconds that are left after so many, None without a limit."""
        return None if self.minutes is None else max(60 * self.minutes - seconds, 0.0)


@dataclass(frozen=True)
class Trial:
    """One point that was tried: None is the model's default; a score of None means that the fit failed."""

    point: Mapping[str, Any] | None
    score: float | None
    seconds: float
    repeats: bool = False
    error: str = ""


@dataclass(frozen=True)
class SearchResult:
    """The outcome of a search: the best point (None: the defaults), its score, and all trials."""

    point: Mapping[str, Any] | None
    score: float | None
    trials: tuple[Trial, ...]

    def described(self) -> dict[str, Any]:
        """Return what a record holds of the search."""
        fits = [trial for trial in self.trials if not trial.repeats]
        return {
            "point": None if self.point is None else _plain_point(self.point),
            "validation_score": self.score,
            "default_score": fits[0].score if fits else None,
            "trials": len(fits),
            "failed": sum(trial.score is None for trial in fits),
            "seconds": round(sum(trial.seconds for trial in fits), 3),
        }


def search(
    evaluate: Callable[[Mapping[str, Any] | None], float],
    space: Space,
    budget: Budget,
    seed: int,
    folder: str | Path,
    executor: Any = None,
) -> SearchResult:
    """Try points of `space` until the budget is spent; trials found in `folder` are not run again.

    `evaluate` takes a point, or None for the defaults, and returns a score, the higher the better. On an
    `executor` (:mod:`honlearn.executors`) it must pickle, and points that are expected to be suggested are
    tried ahead (:mod:`honlearn.experiments.ahead`); the trials are the same.
    """
    suggest = _Suggestions(space, seed)
    if is_here(executor):
        return _search(lambda trials, *asked: attempt(evaluate, *asked), suggest, space, budget, folder)
    from honlearn.experiments.ahead import TrialsAhead

    with open_executor(executor) as pool, TrialsAhead(pool, evaluate, suggest.next, budget.trials) as ahead:
        return _search(ahead, suggest, space, budget, folder)


def _search(
    tried: Callable[[list[Trial], Mapping[str, Any] | None, float | None], Trial],
    suggest: _Suggestions,
    space: Space,
    budget: Budget,
    folder: str | Path,
) -> SearchResult:
    kept = JsonObjects(folder)
    trials = _read_trials(kept, space)
    repeats = 0
    while True:
        fits = [trial for trial in trials if not trial.repeats]
        if trials and (not space.size or budget.is_spent(len(fits), sum(trial.seconds for trial in fits))):
            break
        if len({point_key(trial.point) for trial in fits if trial.point is not None}) == space.size > 0:
            break
        point = None if not trials else suggest.next(trials)
        known = next((trial for trial in fits if trials and point_key(trial.point) == point_key(point)), None)
        if known is not None:
            trial = Trial(point, known.score, 0.0, repeats=True)
        else:
            # The default has the time that it takes; whatever comes after it has what is left.
            limit = budget.left(sum(trial.seconds for trial in fits)) if trials else None
            trial = tried(trials, point, limit)
        trials.append(trial)
        kept.append(_written(trial, len(trials) - 1))
        repeats = repeats + 1 if trial.repeats else 0
        if repeats >= MOST_REPEATS:
            break
    good = [trial for trial in trials if trial.score is not None]
    if not good:
        raise InputError(f"every trial of the search failed, the first with: {trials[0].error}")
    best = max(good, key=lambda trial: trial.score or 0.0)
    return SearchResult(best.point, best.score, tuple(trials))


def attempt(
    evaluate: Callable[[Mapping[str, Any] | None], float],
    point: Mapping[str, Any] | None,
    limit: float | None,
) -> Trial:
    """Return the trial of a point, which may take `limit` seconds; one that fails has no score."""
    begun = time.perf_counter()
    try:
        with at_most(limit):
            score, error = float(evaluate(point)), ""
    except HonlearnError as failure:
        score, error = None, first_line(failure)
    return Trial(point, score, round(time.perf_counter() - begun, 4), error=error)


class OutOfTimeError(HonlearnError):
    """A trial took longer than what was left of the budget."""


@contextmanager
def at_most(seconds: float | None) -> Iterator[None]:
    """Raise an :class:`OutOfTimeError` in the block after so many seconds; None is no limit.

    It needs the system's alarm, which only the main thread of a process can set; elsewhere nothing is cut.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise OutOfTimeError("it took longer than what was left of the budget")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _Suggestions:
    """Points by optuna's tree-structured Parzen estimator, from the trials so far."""

    def __init__(self, space: Space, seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.optuna, self.seed = optuna, seed
        self.choices = {
            name: {_word(choice): choice for choice in row} for name, row in space.dimensions.items()
        }
        self.axes: dict[str, Any] = {
            name: optuna.distributions.CategoricalDistribution(list(row))
            for name, row in self.choices.items()
        }

    def next(self, trials: list[Trial]) -> dict[str, Any]:
        """Return a point that depends on the trials before it and on the seed alone."""
        seed = derive_seed(self.seed, "trial", len(trials)) % 2**32
        study = self.optuna.create_study(
            direction="maximize", sampler=self.optuna.samplers.TPESampler(seed=seed)
        )
        # The default is no point of the space and gives no information about it.
        study.add_trials([self._as_optuna(trial) for trial in trials if trial.point is not None])
        words = study.ask(self.axes).params
        return {name: self.choices[name][words[name]] for name in self.axes}

    def _as_optuna(self, trial: Trial) -> Any:
        state, point = self.optuna.trial.TrialState, trial.point or {}
        return self.optuna.trial.create_trial(
            state=state.FAIL if trial.score is None else state.COMPLETE,
            params={name: _word(point[name]) for name in self.axes},
            distributions=self.axes,
            value=trial.score,
        )


def _word(choice: object) -> str:
    return json.dumps(list(choice) if isinstance(choice, tuple) else choice)


def point_key(point: Mapping[str, Any] | None) -> str | None:
    """Return by what equal points are known; None is the default."""
    return None if point is None else json.dumps(_plain_point(point), sort_keys=True)


def _plain_point(point: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in point.items()}


def _written(trial: Trial, number: int) -> dict[str, Any]:
    point = None if trial.point is None else _plain_point(trial.point)
    facts = {"point": point, "score": trial.score, "seconds": trial.seconds}
    return {"digest": str(number), **facts, "repeats": trial.repeats, "error": trial.error}


def _read_trials(kept: JsonObjects, space: Space) -> list[Trial]:
    """Return the trials in their order, each a point of the space or the default."""
    advice = "remove the file to search anew"
    found = {record["digest"]: Fields(record, str(kept.path), advice=advice) for record in kept}
    numbers = [str(number) for number in range(len(found))]
    if set(numbers) != found.keys():
        raise FormatError(f"{kept.path}: not the trials of a search, one after another; {advice}")
    return [_read(found[number], space) for number in numbers]


def _read(record: Fields, space: Space) -> Trial:
    point = None
    if record.has("point"):
        given = record.mapping("point").values
        point = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        choices = {name: {_word(choice) for choice in row} for name, row in space.dimensions.items()}
        if point.keys() != choices.keys() or any(_word(v) not in choices[name] for name, v in point.items()):
            raise FormatError(f"{record.where}: {shown(point)} is not a point of the space; {record.advice}")
    score = record.number("score") if record.has("score") else None
    return Trial(point, score, record.number("seconds", 0), record.flag("repeats"), record.text("error"))
