"""Tasks on a Dask cluster: futures of ``dask.distributed``, and its own repetition of lost work.

In: ``"dask"`` (the client of this process, the scheduler that Dask's settings name, else a new local
cluster) or the address of a scheduler. Out: values on the workers until they are asked for. The scheduler
repeats a task whose worker died; inputs are scattered to all workers, and scattered again where all copies
are lost.
"""

from __future__ import annotations

import itertools
import operator
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from honlearn.errors import first_line
from honlearn.executors.base import Executor, Handle
from honlearn.executors.extras import extra
from honlearn.executors.tasks import RETRIES, TaskError, WorkerDiedError, run_task, value_of

_LOST = ("cancelled", "lost")
# By default Dask's processes measure themselves 50 times per second: a cluster of two workers that only waits
# takes an eighth of a core.
_SELDOM = {
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.profile.enabled": False,
}


def _keeping_memory(dask: Any) -> dict[str, Any]:
    """Return the environment of workers that keep freed memory for the next block of a file.

    Dask has the allocator return it to the system at once, which nearly doubles the time of counting.
    """
    known = dict(dask.config.get("distributed.nanny.pre-spawn-environ"))
    return known | {"MALLOC_TRIM_THRESHOLD_": 1 << 27, "MALLOC_MMAP_THRESHOLD_": 1 << 25}


class Scattered:
    """An input that the workers hold, and this process, too: what is scattered cannot be made anew."""

    def __init__(self, value: Any, future: Any) -> None:
        self.value, self.future = value, future


class Begun:
    """A task: its future, and how to begin it again."""

    def __init__(self, begin: Callable[[], Any]) -> None:
        self.begin, self.attempts = begin, 1
        self.future = begin()


class DaskTasks(Executor):
    """Runs tasks on Dask; a client or cluster that was there before stays."""

    def __init__(self, address: str | None) -> None:
        self.address = address
        self._begun: set[Begun] = set()
        self._numbers, self._name = itertools.count(), f"honlearn-{uuid.uuid4().hex[:12]}"

    def open(self) -> None:
        """Connect, or start a local cluster of one process per core."""
        self.distributed = extra("distributed", "dask")
        self._cluster, self._ours = None, True
        try:
            self.client = self._client()
        except (OSError, ValueError) as error:  # a timeout is an OSError
            raise TaskError(
                f"executor {self.address or 'dask'!r}: cannot connect: {error}; is the scheduler up, and its "
                "address right?"
            ) from error
        threads = self.client.nthreads()
        self.n_workers = max(1, sum(threads.values()))

    def _client(self) -> Any:
        import dask

        if self.address is not None:
            return self.distributed.Client(self.address, set_as_default=False)
        try:
            known = self.distributed.get_client()
        except ValueError:
            known = None
        if known is not None:
            self._ours = False
            return known
        if dask.config.get("scheduler-address", None):
            return self.distributed.Client(set_as_default=False)
        environment = {"distributed.nanny.pre-spawn-environ": _keeping_memory(dask)}
        with dask.config.set({**_SELDOM, **environment}):
            self._cluster = self.distributed.LocalCluster(
                processes=True, threads_per_worker=1, dashboard_address="127.0.0.1:0"
            )
            return self.distributed.Client(self._cluster, set_as_default=False)

    def share(self, value: Any) -> Handle:
        """Send a value to every worker."""
        return Scattered(value, self._scatter(value))

    def _scatter(self, value: Any) -> Any:
        return self.client.scatter([value], broadcast=True, hash=False)[0]

    def submit(self, function: Callable[..., Any], *args: Any, pieces: int | None = None) -> Any:
        """Start a task; each piece is a task of its own that takes it from the whole."""
        whole = self._start(run_task, function, pieces, *args)
        if pieces is None:
            return whole
        if pieces == 1:
            return [whole]
        found = [self._start(operator.getitem, whole, place) for place in range(pieces)]
        self.release([whole])
        return found

    def _start(self, function: Callable[..., Any], *args: Any) -> Begun:
        def begin() -> Any:
            key = f"{self._name}-{next(self._numbers)}"
            plain = [self._there(argument) for argument in args]
            return self.client.submit(function, *plain, key=key, pure=False)

        task = Begun(begin)
        self._begun.add(task)
        return task

    def _there(self, argument: Any) -> Any:
        """Return the future of an argument that has one; an input that is lost is scattered again."""
        if isinstance(argument, Scattered):
            if argument.future.status in _LOST:
                argument.future = self._scatter(argument.value)
            return argument.future
        if isinstance(argument, Begun):
            if argument.future.status in _LOST:
                argument.future = argument.begin()
            return argument.future
        return argument

    def wait(self, handles: Sequence[Handle]) -> list[Handle]:
        """Wait for the first of them."""
        done: list[Handle] = []
        while not done:
            with self.client.as_current():
                self.distributed.wait([task.future for task in handles], return_when="FIRST_COMPLETED")
            done = [task for task in handles if task.future.done() and not self._again(task)]
        return done

    def _again(self, task: Begun) -> bool:
        """Begin a task again whose inputs were lost with all workers that held them."""
        if task.future.status not in _LOST or task.attempts > RETRIES:
            return False
        task.attempts += 1
        task.future = task.begin()
        return True

    def get(self, handle: Handle) -> Any:
        """Return a value; raise the error of its task."""
        if isinstance(handle, Scattered):
            return handle.value
        self.wait([handle])
        try:
            return value_of(handle.future.result())
        except (self.distributed.KilledWorker, self.distributed.CancelledError, OSError) as error:
            raise WorkerDiedError(
                f"Dask gave a task up ({type(error).__name__}), {RETRIES} repetitions included: "
                f"{first_line(error)}"
            ) from error

    def release(self, handles: Iterable[Handle]) -> None:
        """Forget futures; Dask frees what nobody holds."""
        for handle in handles:
            handle.future.release()
            self._begun.discard(handle)

    def close(self, broken_off: bool) -> None:
        """Cancel what may still run; close the client or cluster if this executor has made it."""
        if broken_off:
            self.client.cancel([task.future for task in self._begun], force=True)
        self._begun.clear()
        if self._ours:
            self.client.close()
        if self._cluster is not None:
            self._cluster.close()
