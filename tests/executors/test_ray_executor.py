"""A real local Ray with two workers; whatever runs on it equals one process, byte for byte."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import cluster_cases as cases
import pytest
import tasks_for_tests as tasks

from honlearn.executors import TaskError, open_executor

# Ray is not warning-free, and its sockets close when it pleases.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_ENABLE_UV_RUN_RUNTIME_ENV="0")
    ray = pytest.importorskip("ray")
    # The path of a socket may be no longer than 107 bytes, so the folder has a short name.
    with tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True) as folder:
        ray.init(
            num_cpus=2,
            object_store_memory=200 << 20,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="error",
            _temp_dir=folder,
            runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *path()])}},
        )
        yield "ray"
        ray.shutdown()


def path() -> list[str]:
    import honlearn

    known = os.environ.get("PYTHONPATH", "")
    return [str(Path(honlearn.__file__).parents[1]), *filter(None, known.split(os.pathsep))]


def test_ray_keeps_the_contract(cluster: str, tmp_path: Path) -> None:
    cases.check_tasks(cluster, tmp_path)


def test_counting(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases.check_counting(cluster, tmp_path, monkeypatch)


def test_growing(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases.check_growing(cluster, tmp_path, monkeypatch)


def test_evaluation(cluster: str, tmp_path: Path) -> None:
    cases.check_evaluation(cluster, tmp_path)


def test_a_bag_also_while_a_worker_dies(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = partial(tasks.dying_group, str(tmp_path / "died"))
    monkeypatch.setattr("honlearn.ensemble.groups.on_worker", dying)
    cases.check_bag(cluster)
    assert (tmp_path / "died").exists()


def test_bag_of_links(cluster: str) -> None:
    cases.check_links(cluster)


def test_search(cluster: str, tmp_path: Path) -> None:
    cases.check_search(cluster, tmp_path)


def test_a_connection_that_was_there_stays(cluster: str) -> None:
    import ray

    with open_executor(cluster):
        pass
    assert ray.is_initialized()


def test_an_address_without_a_cluster_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)

    def fail(*args: object, **options: object) -> None:
        raise ConnectionError("ray client connection timeout")

    monkeypatch.setattr(ray, "init", fail)
    message = "executor 'ray://nowhere:1': cannot connect: ray client connection timeout; is the cluster up"
    with pytest.raises(TaskError, match=message), open_executor("ray://nowhere:1"):
        pass
