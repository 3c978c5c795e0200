"""Tasks on a Ray cluster: remote functions, object references, and Ray's own repetition of lost work.

In: ``"ray"`` (the cluster that this process is connected to, or that runs here, else a new local one) or
``"ray://host:port"``. Out: values in Ray's object store until they are asked for. Ray repeats a task whose
worker died, makes a lost object anew, and sends an object to each node once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from honlearn.errors import first_line
from honlearn.executors.base import Executor, Handle
from honlearn.executors.extras import extra
from honlearn.executors.tasks import RETRIES, TaskError, WorkerDiedError, run_task, value_of


class RayTasks(Executor):
    """Runs tasks on Ray; a connection or cluster that was there before stays."""

    def __init__(self, address: str | None) -> None:
        self.address = address
        self._begun: set[Any] = set()

    def open(self) -> None:
        """Connect, or start a local cluster."""
        # Ray asks for these before it is imported: no reports of use, and no copy of the environment that
        # "uv run" would have it make for every worker.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
        self.ray = extra("ray", "ray")
        self._ours = not self.ray.is_initialized()
        if self._ours:
            self._connect()
        self.n_workers = max(1, int(self.ray.cluster_resources().get("CPU", 1)))
        # A task that raises is not repeated; a task whose worker dies is.
        self._call = self.ray.remote(max_retries=RETRIES, retry_exceptions=False)(run_task)

    def _connect(self) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if self.address is None and not os.environ.get("RAY_ADDRESS"):
            options["include_dashboard"] = False
        try:
            self.ray.init(self.address, ignore_reinit_error=True, **options)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise TaskError(
                f"executor {self.address or 'ray'!r}: cannot connect: {first_line(error)}; is the cluster "
                "up, and its address right?"
            ) from error

    def share(self, value: Any) -> Handle:
        """Put a value into the object store."""
        return self.ray.put(value)

    def submit(self, function: Callable[..., Any], *args: Any, pieces: int | None = None) -> Any:
        """Start a task."""
        found = self._call.options(num_returns=pieces or 1).remote(function, pieces, *args)
        handles = found if isinstance(found, list) else [found]
        self._begun.update(handles)
        return found if pieces is None else handles

    def wait(self, handles: Sequence[Handle]) -> list[Handle]:
        """Wait for the first of them."""
        done, _ = self.ray.wait(list(handles), num_returns=1, fetch_local=False)
        return list(done)

    def get(self, handle: Handle) -> Any:
        """Return a value; raise the error of its task."""
        try:
            return value_of(self.ray.get(handle))
        except self.ray.exceptions.RayError as error:
            raise WorkerDiedError(
                f"Ray gave a task up ({type(error).__name__}), {RETRIES} repetitions included: "
                f"{first_line(error)}"
            ) from error

    def release(self, handles: Iterable[Handle]) -> None:
        """Forget references; Ray frees what nobody holds."""
        self._begun.difference_update(handles)

    def close(self, broken_off: bool) -> None:
        """End tasks that may still run, and the connection or cluster if this executor has made it."""
        if broken_off:
            for handle in self._begun:
                self.ray.cancel(handle, force=True)
        self._begun.clear()
        if self._ours:
            self.ray.shutdown()
