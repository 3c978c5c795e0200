"""Executors: the same tasks in this process, on local processes, on Ray, on Dask or on one's own executor.

They serve counting, learners, evaluations and searches, and import none of them. What comes in: top-level
functions whose arguments pickle. What comes out: their values, the same on every executor.
"""

from __future__ import annotations

from honlearn.executors.base import Executor
from honlearn.executors.spec import executor_of, is_here, open_executor, read_spec, threads_on
from honlearn.executors.tasks import TaskError, WorkerDiedError

__all__ = [
    "Executor",
    "TaskError",
    "WorkerDiedError",
    "executor_of",
    "is_here",
    "open_executor",
    "read_spec",
    "threads_on",
]
