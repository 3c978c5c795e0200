"""Executors without a cluster: this process, local processes, executors of the standard library."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import Any

import contract
import pytest
import tasks_for_tests as tasks

from honlearn.errors import ParameterError
from honlearn.executors import Executor, TaskError, WorkerDiedError, extras, open_executor, threads_on
from honlearn.executors.processes import LocalProcesses

HERE = Path(__file__).parent


def test_this_process_keeps_the_contract() -> None:
    with open_executor(None) as pool:
        contract.check_values(pool)
        contract.check_errors(pool)


def test_local_processes_keep_the_contract(tmp_path: Path) -> None:
    with open_executor(2) as pool:
        assert pool.n_workers == 2
        contract.check_values(pool)
        contract.check_errors(pool)
        contract.check_deaths(pool, tmp_path)
        with pytest.raises(TaskError, match=r"(?i)pickle"):
            pool.get(pool.submit(tasks.unfit, 1))
        with pytest.raises(TaskError, match=r"(?i)pickle"):
            pool.get(pool.submit(tasks.add, threading.Lock(), 2))
        with pytest.raises(TaskError, match="ValueError: invalid literal"):
            pool.get(pool.submit(tasks.unreadable))
        with pytest.raises(WorkerDiedError, match="exit code -9, 4 times; perhaps memory ran out"):
            pool.get(pool.submit(tasks.always_die))
        with open_executor(pool) as same:
            assert same is pool
        folder = Path(pool._spool.folder)  # type: ignore[attr-defined]
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_executors_of_the_standard_library_keep_the_contract() -> None:
    with futures.ThreadPoolExecutor(2) as threads, open_executor(threads) as pool:
        assert pool.n_workers == 2
        contract.check_values(pool)
        contract.check_errors(pool)
    import multiprocessing

    spawn = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(2, mp_context=spawn) as processes, open_executor(processes) as pool:
        contract.check_values(pool)
        contract.check_errors(pool)
        with pytest.raises(WorkerDiedError, match="the executor broke"):
            pool.get(pool.submit(tasks.always_die))
        with pytest.raises(WorkerDiedError, match="Ray or Dask repeat such a task"):
            pool.get(pool.submit(tasks.add, 1, 2))


def leave(folder: Path) -> None:
    with open_executor(2) as pool:
        pool.submit(tasks.note_and_sleep, str(folder), 60)
        while not list(folder.iterdir()):
            time.sleep(0.01)
        raise KeyboardInterrupt


def test_a_value_that_was_released_is_not_waited_for() -> None:
    with LocalProcesses(1) as pool:
        running, waiting = pool.submit(tasks.add, 1, 2), pool.submit(tasks.add, 3, 4)
        pool.release([waiting])
        assert pool.get(running) == 3
        with pytest.raises(LookupError, match="released"):
            pool.get(waiting)


def test_leaving_the_block_ends_what_runs(tmp_path: Path) -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        leave(tmp_path)
    assert time.monotonic() - begun < 30
    assert not any(Path(f"/proc/{worker.name}").exists() for worker in tmp_path.iterdir())


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
import tasks_for_tests as tasks
from honlearn.executors import open_executor
with open_executor(2) as pool:
    print(pool._spool.folder, flush=True)
    list(pool.map(tasks.note_and_sleep, [(sys.argv[1], 60)] * 2))
"""

# A script as people write it: nothing guards its lines, and the model is its own.
PLAIN = """
import torch
import honlearn as hl
from honlearn.executors import open_executor
print("begun", flush=True)

class Mean(torch.nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = torch.nn.Linear(n_in, n_out)

    def forward(self, x, edge_index, edge_weight=None):
        mixed = x.index_add(0, edge_index[1], x[edge_index[0]])
        return self.linear(mixed)

made = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
network = hl.grow(made.paths, order=2)
names, classes = list(made.labels), list(made.labels.values())
learner = hl.learners.TorchLearner(lambda n_in, n_out: Mean(n_in, n_out))
given = dict(n_learners=4, training=hl.Training(max_epochs=2, patience=2), n_threads=1, random_state=0)
fits = [hl.DGEClassifier(network, learner, executor=where, **given) for where in (None, 2)]
one, other = (fit.fit(names, classes).member_proba(names) for fit in fits)
print(one.tobytes() == other.tobytes())
print(__name__, Mean.__module__)
"""


def test_a_script_needs_no_guard_and_may_bring_its_own_model(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(PLAIN)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["begun", "True", "__main__ __main__"]


class Absent:
    """What cannot be read where it is sent to."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, ("no_such_module",)


def test_what_a_process_cannot_read_is_told_at_once() -> None:
    with open_executor(2) as pool, pytest.raises(TaskError, match="No module named 'no_such_module'"):
        pool.get(pool.submit(tasks.add, Absent(), 2))


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_a_killed_program_leaves_no_processes_and_no_files(tmp_path: Path) -> None:
    script, seen = tmp_path / "run.py", tmp_path / "seen"
    script.write_text(KILLED)
    seen.mkdir()
    words = [sys.executable, str(script), str(seen), str(HERE)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        while len(workers := list(seen.iterdir())) < 2:
            time.sleep(0.05)
        process.kill()
    for _ in range(200):
        left = [worker for worker in workers if Path(f"/proc/{worker.name}").exists()]
        if not left and not folder.exists():
            break
        time.sleep(0.1)
    assert not left
    assert not folder.exists()


@pytest.mark.parametrize(
    "spec", [0, -1, True, 1.5, "", "rays", "ray://", "tcp://", "http://x", "two", object, [2]], ids=repr
)
def test_what_means_no_executor_is_refused(spec: Any) -> None:
    with (
        pytest.raises(ParameterError, match=r"must be a number of local processes, 'ray'.* Got .* instead"),
        open_executor(spec),
    ):
        pass


def test_a_missing_engine_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in (("ray", "ray"), ("distributed", "dask")):
        monkeypatch.setitem(sys.modules, module, None)
        with (
            pytest.raises(extras.MissingExtraError, match=rf"pip install honlearn\[{name}\]"),
            open_executor(name),
        ):
            pass


def test_threads_are_shared_out_among_local_processes() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    assert (threads_on(None), threads_on("1"), threads_on("ray"), threads_on(100)) == (None, None, 1, 1)
    assert threads_on(2) == max(1, cores // 2)
    assert issubclass(LocalProcesses, Executor)
