"""A real local Dask cluster of two processes; whatever runs on it equals one process, byte for byte."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import cluster_cases as cases
import pytest

from honlearn.executors import TaskError, open_executor

# Dask is not warning-free, and its sockets close when it pleases.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    known = os.environ.get("PYTHONPATH")
    # Workers are started anew, and import the tasks of the tests.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(__file__).parent), known]))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    ) as local:
        yield local.scheduler_address
    if known is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = known


def test_dask_keeps_the_contract(cluster: str, tmp_path: Path) -> None:
    cases.check_tasks(cluster, tmp_path)


def test_counting(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases.check_counting(cluster, tmp_path, monkeypatch)


def test_growing(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases.check_growing(cluster, tmp_path, monkeypatch)


def test_evaluation(cluster: str, tmp_path: Path) -> None:
    cases.check_evaluation(cluster, tmp_path)


def test_bag(cluster: str) -> None:
    cases.check_bag(cluster)


def test_bag_of_links(cluster: str) -> None:
    cases.check_links(cluster)


def test_search(cluster: str, tmp_path: Path) -> None:
    cases.check_search(cluster, tmp_path)


def test_the_client_of_this_process_is_used_and_stays(cluster: str) -> None:
    from distributed import Client

    with Client(cluster) as client:
        with open_executor("dask") as pool:
            assert list(pool.map(pow, [(2, 3)])) == [8]
        assert client.status == "running"


def test_an_address_without_a_scheduler_is_named() -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.2s"}),
        pytest.raises(
            TaskError, match=r"executor 'tcp://127\.0\.0\.1:9': cannot connect: .*is the scheduler up"
        ),
        open_executor("tcp://127.0.0.1:9"),
    ):
        pass
