"""Which executor is meant: what the user gives → an open executor.

In: None or 1 (this process), a number of local processes, ``"ray"`` or ``"ray://…"``, ``"dask"`` or the
address of a scheduler, any ``concurrent.futures.Executor``, or an executor that is open already. Out: an
:class:`~honlearn.executors.base.Executor`. No engine is imported before it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

from honlearn.errors import ParameterError
from honlearn.executors.base import Executor
from honlearn.executors.here import Here

ALLOWED = (
    "a number of local processes, 'ray' or 'ray://host:port', 'dask' or the address of its scheduler such as "
    "'tcp://host:8786', or, in Python, a concurrent.futures.Executor"
)
_DASK = ("tcp://", "tls://", "ucx://", "ws://", "wss://", "inproc://")


@contextmanager
def open_executor(spec: Any) -> Iterator[Executor]:
    """Open an executor for a block; one that is open already stays open.

    Parameters
    ----------
    spec : int, str, Executor or None
        So many local processes (1 and None: this process), ``"ray"`` or ``"ray://…"``, ``"dask"`` or the
        address of its scheduler, or any ``concurrent.futures.Executor``.

    Examples
    --------
    >>> with open_executor(1) as pool:
    ...     pool.n_workers
    1
    """
    if isinstance(spec, Executor):
        yield spec
        return
    with executor_of(spec) as pool:
        yield pool


def executor_of(spec: Any) -> Executor:
    """Return the executor that `spec` means, not yet open; raise for what means none."""
    spec = read_spec(spec)
    if spec == 1:
        return Here()
    if isinstance(spec, int):
        from honlearn.executors.processes import LocalProcesses

        return LocalProcesses(spec)
    if isinstance(spec, futures.Executor):
        from honlearn.executors.futures import Futures

        return Futures(spec)
    if isinstance(spec, Executor):
        return spec
    if spec.startswith("ray"):
        from honlearn.executors.ray_tasks import RayTasks

        return RayTasks(None if spec == "ray" else spec)
    from honlearn.executors.dask_tasks import DaskTasks

    return DaskTasks(None if spec == "dask" else spec.replace("dask://", "tcp://", 1))


def read_spec(spec: Any) -> Any:
    """Return a number, an executor or an address; None is 1, and text that is a number is the number."""
    if spec is None:
        return 1
    if isinstance(spec, str) and spec.strip().isdecimal():
        spec = int(spec)
    if hasattr(spec, "__index__") and not isinstance(spec, bool) and spec >= 1:
        return int(spec)
    if isinstance(spec, (futures.Executor, Executor)):
        return spec
    if isinstance(spec, str) and _is_address(spec):
        return spec
    raise ParameterError(f"The 'executor' parameter must be {ALLOWED}. Got {spec!r} instead.")


def _is_address(text: str) -> bool:
    prefixes = ("ray://", "dask://", *_DASK)
    return text in ("ray", "dask") or any(text.startswith(p) and len(text) > len(p) for p in prefixes)


def is_here(spec: Any) -> bool:
    """Return whether `spec` means this process."""
    return bool(read_spec(spec) == 1)


def threads_on(spec: Any) -> int | None:
    """Return how many threads a task may use on an executor; None, all cores, where it is alone."""
    spec = read_spec(spec)
    if spec == 1:
        return None
    if isinstance(spec, int):
        from honlearn.executors.processes import threads_beside

        return threads_beside(spec)
    return 1
