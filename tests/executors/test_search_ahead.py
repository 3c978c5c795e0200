"""A search on an executor: the same trials as in one process, also where guesses were wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tasks_for_tests as tasks

from honlearn.errors import InputError
from honlearn.executors import open_executor
from honlearn.executors.here import Here
from honlearn.experiments.search import Budget, SearchResult, search
from honlearn.experiments.spaces import Space

SPACE = Space("own", {"width": (8, 16, 32), "depth": (1, 2, 3), "rate": (0.1, 0.2)})
SMALL = Space("own", {"width": (8, 16), "depth": (3,), "rate": (0.1,)})


class Wide(Here):
    """Workers enough for guesses beyond the first ten suggestions, all of them this process."""

    n_workers = 4


def told(found: SearchResult) -> str:
    rows = [(trial.point, trial.score, trial.repeats, trial.error) for trial in found.trials]
    return json.dumps([found.point, found.score, rows])


@pytest.mark.parametrize(("space", "trials"), [(SPACE, 3), (SPACE, 15), (SMALL, 15)])
def test_trials_do_not_depend_on_the_executor(space: Space, trials: int, tmp_path: Path) -> None:
    budget = Budget(None, trials)
    one = search(tasks.parabola, space, budget, 7, tmp_path / "one")
    two = search(tasks.parabola, space, budget, 7, tmp_path / "two", executor=Wide())
    assert told(one) == told(two)
    seen: list[Any] = []
    again = search(seen.append, space, budget, 7, tmp_path / "two", executor=Wide())  # type: ignore[arg-type]
    assert (told(again), seen) == (told(one), [])


def test_a_search_on_local_processes(tmp_path: Path) -> None:
    budget = Budget(None, 12)
    one = search(tasks.parabola, SPACE, budget, 7, tmp_path / "one")
    with open_executor(2) as pool:
        assert told(search(tasks.parabola, SPACE, budget, 7, tmp_path / "two", executor=pool)) == told(one)
        with pytest.raises(InputError, match="every trial of the search failed, the first with: None cannot"):
            search(tasks.refuse, SMALL, budget, 7, tmp_path / "three", executor=pool)  # type: ignore[arg-type]
