"""Tasks on several local processes: started anew, handed one task at a time, and gone when we are.

In: tasks. Out: their values, sent back through a pipe, or left in a file for the tasks that need them. A
process that dies (for want of memory, say) costs its task alone: another takes its place and repeats it.
Processes do not run the user's script again, so a script needs no ``if __name__ == "__main__":``; what it
defines itself is sent by value (:func:`honlearn.executors.tasks.pickled`).
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any

from honlearn.deferred import defer, deferred_names
from honlearn.errors import HonlearnError
from honlearn.executors.base import Executor, Handle
from honlearn.executors.spool import Spool, Ticket, filled
from honlearn.executors.tasks import (
    RETRIES,
    Failure,
    WorkerDiedError,
    pickled,
    run_task,
    unforeseen,
    value_of,
)
from honlearn.interrupts import ending_on_sigterm

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_PATROL_SECONDS = 1.0
_CLEANING_SECONDS = 5.0


def threads_beside(processes: int) -> int:
    """Return how many threads a task may use beside others, each on its own process."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // processes)


class Pending:
    """A task, and once it is done its outcome: a value, a ticket for each piece, or a :class:`Failure`."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], pieces: int | None, tickets: list[Ticket]
    ) -> None:
        self.function, self.args, self.pieces, self.tickets = function, args, pieces, tickets
        self.attempts = 0
        self.done = self.unwanted = False
        self.outcome: Any = None


class Piece:
    """One of the values of a task."""

    def __init__(self, task: Pending, ticket: Ticket) -> None:
        self.task, self.ticket = task, ticket


class LocalProcesses(Executor):
    """Runs tasks on `count` processes of this machine; leaving the block ends them, whatever they are at."""

    def __init__(self, count: int) -> None:
        self.n_workers = count
        self._waiting: deque[Pending] = deque()
        self._workers: dict[Connection, Any] = {}
        self._at: dict[Connection, Pending] = {}

    def open(self) -> None:
        """Make the folder of values; processes start when there is something to do."""
        self._spool = Spool()

    def close(self, broken_off: bool) -> None:
        """End the processes and remove all values."""
        for process in self._workers.values():
            process.terminate()
        for connection, process in self._workers.items():
            # Time to remove what it was writing; compiled code may not notice it at all.
            process.join(_CLEANING_SECONDS)
            process.kill()
            process.join()
            connection.close()
        self._workers, self._at = {}, {}
        self._spool.close()

    def share(self, value: Any) -> Handle:
        """Write a value that each process reads once."""
        return self._spool.share(value)

    def submit(self, function: Callable[..., Any], *args: Any, pieces: int | None = None) -> Any:
        """Start a task, or let it wait for a process and for what it needs."""
        tickets = [self._spool.ticket() for _ in range(pieces or 0)]
        task = Pending(function, args, pieces, tickets)
        self._waiting.append(task)
        self._hand_out()
        return task if pieces is None else [Piece(task, ticket) for ticket in tickets]

    def wait(self, handles: Sequence[Handle]) -> list[Handle]:
        """Work on what arrives until one of these is done."""
        while not (done := [handle for handle in handles if _task(handle).done]):
            if not self._at:  # nothing runs, and nothing that waits can: there is no answer to wait for
                raise LookupError("released")
            for ready in wait(list(self._at)):
                assert isinstance(ready, Connection)
                self._take(ready)
            self._hand_out()
        return done

    def get(self, handle: Handle) -> Any:
        """Return a value; raise the error of its task."""
        if isinstance(handle, Ticket):
            return handle.read()
        self.wait([handle])
        outcome = _task(handle).outcome
        if isinstance(handle, Piece) and not isinstance(outcome, Failure):
            outcome = handle.ticket.read()
        return value_of(outcome)

    def release(self, handles: Iterable[Handle]) -> None:
        """Remove values; a task that has not begun is not begun."""
        for handle in handles:
            if isinstance(handle, Pending):
                handle.unwanted, handle.outcome = True, None
            else:
                self._spool.remove(handle if isinstance(handle, Ticket) else handle.ticket)
        self._waiting = deque(task for task in self._waiting if not task.unwanted)

    # --- processes and what they are at ----------------------------------------------------------------

    def _hand_out(self) -> None:
        """Give every idle process the first task that has all it needs; start processes for the others."""
        for task in list(self._waiting):
            needed = [_task(argument) for argument in task.args if isinstance(argument, (Pending, Piece))]
            if not all(other.done for other in needed):
                continue
            connection = next((one for one in self._workers if one not in self._at), None)
            if connection is None:
                if len(self._workers) == self.n_workers:
                    return
                connection = self._start()
            self._waiting.remove(task)
            self._at[connection] = task
            task.attempts += 1
            message = (task.function, tuple(map(_sent, task.args)), task.pieces, task.tickets)
            # One that died meanwhile is noticed when its answer is waited for.
            with suppress(OSError):
                connection.send_bytes(pickled(message))

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        quick_start = deferred_names(), gc.get_threshold()
        arguments = (theirs, os.getpid(), self._spool.folder, *quick_start)
        process = context.Process(target=_serve, args=arguments, daemon=True)
        threads = str(threads_beside(self.n_workers))
        with _environment(dict.fromkeys(_THREADS, threads)), _without_main():
            process.start()
        theirs.close()
        self._workers[ours] = process
        return ours

    def _take(self, connection: Connection) -> None:
        """Take the answer of a process; one that died is replaced, and its task repeated."""
        task = self._at.pop(connection)
        try:
            content = connection.recv_bytes()
        except (EOFError, OSError):
            process = self._workers.pop(connection)
            process.join()
            connection.close()
            if task.attempts <= RETRIES:
                self._waiting.appendleft(task)
                return
            task.done = True
            task.outcome = Failure(
                WorkerDiedError(
                    f"its process ended with exit code {process.exitcode}, {task.attempts} times; perhaps "
                    "memory ran out: try again with fewer processes"
                )
            )
            return
        task.outcome, task.done = _read(content), True


def _task(handle: Pending | Piece) -> Pending:
    return handle.task if isinstance(handle, Piece) else handle


def _sent(argument: Any) -> Any:
    """Return what is sent to a process for an argument."""
    if isinstance(argument, Piece):
        failed = isinstance(argument.task.outcome, Failure)
        return argument.task.outcome if failed else argument.ticket
    return argument.outcome if isinstance(argument, Pending) else argument


def _serve(
    connection: Connection,
    parent: int,
    folder: str,
    deferred: tuple[str, ...],
    collect_after: tuple[int, int, int],
) -> None:
    """Work on the tasks that arrive, until none does or the parent is gone; start as fast as the parent."""
    defer(*deferred)
    gc.set_threshold(*collect_after)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent, folder), daemon=True).start()
    try:
        with ending_on_sigterm():
            while True:
                try:
                    message = connection.recv_bytes()
                except (EOFError, OSError):
                    return
                connection.send_bytes(pickled(_answer(message)))
    finally:
        # What is in use at the end of a process is not worth a search for cycles.
        gc.freeze()


def _read(content: bytes) -> Any:
    """Return what another process has sent, or what is wrong with it."""
    try:
        return pickle.loads(content)
    except Exception as error:  # a module that is not found here, say
        return Failure(unforeseen(error))


def _answer(content: bytes) -> Any:
    message = _read(content)
    if isinstance(message, Failure):
        return message
    function, args, pieces, tickets = message
    value = run_task(_filled, pieces, function, args)
    if pieces is None:
        return value
    values = (value,) if pieces == 1 else value
    if isinstance(values[0], Failure):
        return values[0]
    try:
        for ticket, each in zip(tickets, values, strict=True):
            ticket.write(each)
    except HonlearnError as error:
        return Failure(error)
    return None


def _filled(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    values = filled(args)
    failed = next((value for value in values if isinstance(value, Failure)), None)
    return failed or function(*values)


def _leave_with(parent: int, folder: str) -> None:
    """End this process when its parent is gone: a run that was killed must not go on in the dark."""
    import shutil

    while os.getppid() == parent:
        time.sleep(_PATROL_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the user's script from processes that start inside the block: they would run it from its top."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for the processes that start inside the block; what the user has set stays."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
