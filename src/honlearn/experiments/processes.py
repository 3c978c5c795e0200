"""Jobs on several local processes: started anew, handed one job at a time, and gone when we are.

In: the work and its jobs, pickled once for each process. Out: each job with its record or its error as it
finishes. A process that dies (for want of memory, say) costs its job alone; another takes its place.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any, Generic

from honlearn.errors import HonlearnError
from honlearn.experiments.runner import Job, JobError, JobT, Watch, Work, name_of, threads_for
from honlearn.interrupts import ending_on_sigterm
from honlearn.results.record import Record

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
_PATROL_SECONDS = 1.0
_CLEANING_SECONDS = 5.0


class Pool(Generic[JobT]):
    """Processes that work on jobs; leaving the block ends them, whatever they are at."""

    def __init__(self, work: Work, jobs: Sequence[JobT], processes: int) -> None:
        self.jobs = list(jobs)
        self._payload = pickle.dumps((work, self.jobs), protocol=pickle.HIGHEST_PROTOCOL)
        self._count = processes
        self._threads = threads_for(processes) or 1
        self._workers: dict[Connection, Any] = {}
        self._at: dict[Connection, int] = {}

    def __enter__(self) -> Pool[JobT]:
        for _ in range(self._count):
            self._start()
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._workers.values():
            process.terminate()
        for connection, process in self._workers.items():
            # Time to remove what it was writing; compiled code may not notice it at all.
            process.join(_CLEANING_SECONDS)
            process.kill()
            process.join()
            connection.close()

    def _start(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, os.getpid()), daemon=True)
        with _environment(dict.fromkeys(_THREADS, str(self._threads))):
            process.start()
        theirs.close()
        # One that died at once (no memory, say) is noticed when its first answer is waited for.
        with suppress(OSError):
            ours.send_bytes(self._payload)
        self._workers[ours] = process
        return ours

    def run(self, watch: Watch) -> Iterator[tuple[JobT, Record | Exception | None]]:
        """Yield every job with its record or its error, as they finish."""
        waiting = list(reversed(range(len(self.jobs))))
        for connection in list(self._workers):
            self._hand(connection, waiting, watch)
        while self._at:
            for ready in wait(list(self._at)):
                assert isinstance(ready, Connection)
                place = self._at.pop(ready)
                connection, outcome = ready, self._answer(ready, place)
                if connection not in self._workers and waiting:
                    connection = self._start()
                if connection in self._workers:
                    self._hand(connection, waiting, watch)
                yield self.jobs[place], outcome

    def _hand(self, connection: Connection, waiting: list[int], watch: Watch) -> None:
        """Give a process its next job, if there is one."""
        if not waiting:
            return
        self._at[connection] = waiting.pop()
        watch.started(self.jobs[self._at[connection]])
        with suppress(OSError):
            connection.send(self._at[connection])

    def _answer(self, connection: Connection, place: int) -> Record | Exception:
        try:
            answer: Record | Exception = connection.recv()
            return answer
        except (EOFError, OSError):
            process = self._workers.pop(connection)
            process.join()
            connection.close()
            return JobError(
                f"{name_of(self.jobs[place])}: its process ended with exit code {process.exitcode}; "
                "perhaps memory ran out: run again with fewer --jobs, what is done stays done"
            )


def _serve(connection: Connection, parent: int) -> None:
    """Work on the jobs whose places arrive, until none does or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    with ending_on_sigterm():
        work, jobs = pickle.loads(connection.recv_bytes())
        while True:
            try:
                place = connection.recv()
            except (EOFError, OSError):
                return
            connection.send(_outcome(work, jobs[place]))


def _outcome(work: Work, job: Job) -> Record | Exception:
    try:
        return work.run(job)
    except HonlearnError as error:
        return error
    except Exception as error:
        lines = "".join(traceback.format_exception(error))
        return JobError(f"{name_of(job)}: {type(error).__name__}: {error}\n{lines}")


def _leave_with(parent: int) -> None:
    """End this process when its parent is gone: a run that was killed must not go on in the dark."""
    while os.getppid() == parent:
        time.sleep(_PATROL_SECONDS)
    os._exit(1)


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
