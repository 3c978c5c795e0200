"""Tasks on any ``concurrent.futures.Executor`` that the user brings: thin, since it promises little.

In: an executor that someone else has started and will end. Out: values, which come back to this process and
are sent again to the tasks that need them. A shared input is sent once to each process of a pool of this
machine, not at all to threads, and with every task to other executors. A process pool whose process dies is
broken for good by its own rules; the error tells so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from typing import Any

from honlearn.executors.base import Executor, Handle
from honlearn.executors.here import Value
from honlearn.executors.spool import Spool, Ticket, filled
from honlearn.executors.tasks import Failure, WorkerDiedError, run_task, unforeseen, value_of


class Promised:
    """A value of a future: all of it, or one piece."""

    def __init__(self, future: futures.Future[Any], place: int | None = None) -> None:
        self.future, self.place = future, place

    def outcome(self) -> Any:
        """Wait for the value, or for what went wrong."""
        try:
            value = self.future.result()
        except (futures.BrokenExecutor, futures.CancelledError) as error:
            return Failure(
                WorkerDiedError(
                    f"the executor broke ({error or type(error).__name__}), as its kind does when a worker "
                    "dies; a number of local processes, Ray or Dask repeat such a task"
                )
            )
        except Exception as error:  # what a foreign executor raises is of any kind
            return Failure(unforeseen(error))
        return value if self.place is None or isinstance(value, Failure) else value[self.place]


class Futures(Executor):
    """Runs tasks on a ``concurrent.futures.Executor``, which stays open."""

    def __init__(self, pool: futures.Executor) -> None:
        self.pool = pool
        self.n_workers = int(getattr(pool, "_max_workers", None) or os.cpu_count() or 1)
        self._spool: Spool | None = None
        self._begun: set[Promised] = set()

    def share(self, value: Any) -> Handle:
        """Return a handle of a value; for a pool of processes it is a file that each reads once."""
        if not isinstance(self.pool, futures.ProcessPoolExecutor):
            return Value(value)
        self._spool = self._spool or Spool()
        return self._spool.share(value)

    def submit(self, function: Callable[..., Any], *args: Any, pieces: int | None = None) -> Any:
        """Start a task once all that it needs is known."""
        plain = [_plain(argument) for argument in args]
        try:
            future = self.pool.submit(_run, function, pieces, tuple(plain))
        except RuntimeError as error:  # broken, or shut down
            future = futures.Future()
            future.set_exception(futures.BrokenExecutor(str(error)))
        places: list[int | None] = [None] if pieces in (None, 1) else list(range(pieces or 0))
        made = [Promised(future, place) for place in places]
        self._begun.update(made)
        return made[0] if pieces is None else made

    def wait(self, handles: Sequence[Handle]) -> list[Handle]:
        """Wait for the first of them."""
        futures.wait([handle.future for handle in handles], return_when=futures.FIRST_COMPLETED)
        return [handle for handle in handles if handle.future.done()]

    def get(self, handle: Handle) -> Any:
        """Return a value; raise the error of its task."""
        return value_of(_plain(handle) if not isinstance(handle, Ticket) else handle.read())

    def release(self, handles: Iterable[Handle]) -> None:
        """Cancel what has not begun and forget the rest."""
        for handle in handles:
            if isinstance(handle, Promised):
                handle.future.cancel()
                self._begun.discard(handle)
            elif isinstance(handle, Ticket) and self._spool is not None:
                self._spool.remove(handle)

    def close(self, broken_off: bool) -> None:
        """Cancel what has not begun; the executor is its owner's to end."""
        self.release(list(self._begun))
        if self._spool is not None:
            self._spool.close()


def _plain(argument: Any) -> Any:
    if isinstance(argument, Promised):
        return argument.outcome()
    return argument.value if isinstance(argument, Value) else argument


def _run(function: Callable[..., Any], pieces: int | None, args: tuple[Any, ...]) -> Any:
    return run_task(function, pieces, *filled(args))
