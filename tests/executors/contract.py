"""What every executor promises, asked of one that is open; used by the tests of each engine."""

from __future__ import annotations

from pathlib import Path

import pytest
import tasks_for_tests as tasks

from honlearn.errors import InputError
from honlearn.executors import Executor, TaskError


def check_values(pool: Executor) -> None:
    """Values in order and as they finish, handles as arguments, pieces, shared inputs."""
    assert list(pool.map(tasks.add, [(i, i) for i in range(7)])) == [0, 2, 4, 6, 8, 10, 12]
    begun: list[int] = []
    found = dict(pool.outcomes(tasks.add, [(i, 1) for i in range(5)], begun.append))
    assert (found, begun) == ({i: i + 1 for i in range(5)}, list(range(5)))
    shared = pool.share(list(range(100)))
    even, odd = pool.submit(tasks.halves, shared, pieces=2)
    [whole] = pool.submit(tasks.alone, even, pieces=1)
    assert pool.get(pool.submit(tasks.total, whole, odd)) == 4950
    assert pool.get(odd)[:2] == [1, 3]
    assert [value for value, _ in pool.map(tasks.place_of, [(shared, i) for i in (3, 5)])] == [3, 5]
    pool.release([even, odd, whole, shared])
    assert list(pool.map(tasks.add, [])) == []


def check_errors(pool: Executor) -> None:
    """Errors arrive as they were raised, also where a value is needed that there is not."""
    outcomes = dict(pool.outcomes(tasks.refuse, [("salt",), ("pepper",)]))
    assert [str(outcomes[i]) for i in range(2)] == ["salt cannot be used", "pepper cannot be used"]
    with pytest.raises(InputError, match="first cannot be used"):
        list(pool.map(tasks.refuse, [("first",), ("second",)]))
    with pytest.raises(TaskError, match=r"ZeroDivisionError: (?s:.)*return number / 0"):
        pool.get(pool.submit(tasks.divide, 1))
    _, second = pool.submit(tasks.refuse, "what is needed", pieces=2)
    with pytest.raises(InputError, match="what is needed cannot be used"):
        pool.get(pool.submit(tasks.total, second))
    with pytest.raises(InputError, match="row 7: no name"):
        pool.get(pool.submit(tasks.refuse_row, 7))
    assert pool.get(pool.submit(tasks.add, 1, 2)) == 3


def check_deaths(pool: Executor, folder: Path) -> None:
    """A worker that dies costs nothing but time, whatever it was at."""
    numbers = pool.share([1, 2, 3])
    [kept] = pool.submit(tasks.alone, numbers, pieces=1)
    assert pool.wait([kept]) == [kept]
    calls = [(str(folder / f"died{i}"), i) for i in range(3)]
    assert list(pool.map(tasks.die_once, calls)) == [0, 1, 2]
    assert pool.get(pool.submit(tasks.total, kept, numbers)) == 12
