"""Tasks that are sent to workers."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

from honlearn.errors import InputError


def add(one: int, two: int) -> int:
    return one + two


def total(*parts: list[int]) -> int:
    return sum(map(sum, parts))


def halves(numbers: list[int]) -> tuple[list[int], list[int]]:
    return numbers[::2], numbers[1::2]


def alone(numbers: list[int]) -> list[list[int]]:
    return [numbers]


def refuse(word: str) -> None:
    raise InputError(f"{word} cannot be used")


class PlaceError(InputError):
    """An error with other arguments than a message, which Python cannot make anew from its message alone."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(f"row {row}: {reason}")
        self.row = row


def refuse_row(row: int) -> None:
    raise PlaceError(row, "no name")


class Unreadable:
    """A value that is written without complaint, and that nobody can read."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


def unreadable() -> Unreadable:
    return Unreadable()


def divide(number: int) -> float:
    return number / 0


def unfit(_number: int) -> Any:
    return threading.Lock()


def die_once(marker: str, value: Any) -> Any:
    """Kill the worker, the first time."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def always_die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def note_and_sleep(folder: str, seconds: float) -> int:
    import time

    Path(folder, str(os.getpid())).touch()
    time.sleep(seconds)
    return os.getpid()


def place_of(shared: list[int], place: int) -> tuple[int, int]:
    """Return an item of what is shared, and its address: the same while a process keeps one copy."""
    return shared[place], os.getpid()


def parabola(point: dict[str, Any] | None) -> float:
    """Return a score of a point of a search; one of them fails."""
    if point is None:
        return 0.5
    if point["depth"] == 3 and point["width"] == 8:
        raise InputError("too deep for so little width")
    return float(-((point["width"] - 16) ** 2) / 1000 - point["depth"] + point["rate"])


def dying_divide(marker: str, *args: Any) -> Any:
    """Divide windows, as counting does, but kill the worker first, once."""
    from honlearn.hon.partial import divide

    die_once(marker, None)
    return divide(*args)


def dying_group(marker: str, *args: Any) -> Any:
    """Train a group of learners, but kill the worker first, once."""
    from honlearn.ensemble.groups import on_worker

    die_once(marker, None)
    return on_worker(*args)


def dying_range_network(marker: str, *args: Any) -> Any:
    """Kill the worker, the first time, before a range of a network is finished."""
    from honlearn.hon.family_network import range_network

    return range_network(*die_once(marker, args))
