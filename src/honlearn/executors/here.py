"""The executor that is this process: a task runs when it is submitted.

In: tasks. Out: handles of their values, which are known at once: the others are compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from honlearn.executors.base import Executor, Handle
from honlearn.executors.tasks import Failure, run_task, value_of


class Value:
    """A value under a name of its own, so that it is told from plain arguments."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Here(Executor):
    """Runs each task at once, in this process."""

    def share(self, value: Any) -> Handle:
        """Return the value, wrapped."""
        return Value(value)

    def submit(self, function: Callable[..., Any], *args: Any, pieces: int | None = None) -> Any:
        """Run the task."""
        plain = [argument.value if isinstance(argument, Value) else argument for argument in args]
        found = run_task(function, pieces, *plain)
        if pieces is None:
            return Value(found)
        return [Value(found)] if pieces == 1 else [Value(piece) for piece in found]

    def wait(self, handles: Sequence[Handle]) -> list[Handle]:
        """Return all: every task has run."""
        return list(handles)

    def get(self, handle: Handle) -> Any:
        """Return a value; raise the error of its task."""
        return value_of(handle.value)

    def release(self, handles: Iterable[Handle]) -> None:
        """Drop the values."""
        for handle in handles:
            handle.value = Failure(LookupError("released"))

    def close(self, broken_off: bool) -> None:
        """Do nothing: nothing was started."""
