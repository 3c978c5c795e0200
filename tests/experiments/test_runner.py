"""The runner: the same records on any number of processes and after any kill; errors stop nobody else."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import honlearn as hl
from honlearn.errors import DamageWarning, InputError
from honlearn.experiments.estimate import duration, planned, seconds_of
from honlearn.experiments.evaluate import Job, ModelSpec, NodeData, evaluate, plan
from honlearn.experiments.folds import Folds
from honlearn.experiments.link_data import LinkData, LinkProtocol, grown_from
from honlearn.experiments.links import LinkWork, plan_links
from honlearn.experiments.registry import find_model
from honlearn.experiments.runner import JobError, Watch, run_all
from honlearn.results.artefacts import answers_path
from honlearn.results.record import Configuration, DataDigests, Record, Sizes, Times
from honlearn.results.records import FILE, Records

QUICK = {"n_learners": 2, "widths": (6, 6), "max_epochs": 3, "patience": 2}


@dataclass(frozen=True)
class Small:
    """A job whose work is told by its name."""

    name: str

    @property
    def configuration(self) -> Configuration:
        data = DataDigests(network="n", test="t")
        return Configuration(self.name, "gk", seed=0, fold=0, folds="stratified 2", data=data)

    @property
    def digest(self) -> str:
        return self.name


@dataclass(frozen=True)
class SmallWork:
    """Answers, raises, breaks or dies, as the job's name says."""

    folder: Path

    def lacks(self, job: Small) -> bool:
        return False

    def run(self, job: Small) -> Record:
        with open(self.folder / "ran.txt", "a") as file:
            file.write(f"{job.name}\n")
        if job.name.startswith("wrong"):
            raise InputError(f"{job.name} cannot be used")
        if job.name.startswith("broken"):
            raise ZeroDivisionError("by zero")
        if job.name.startswith("dies"):
            os.kill(os.getpid(), signal.SIGKILL)
        if job.name.startswith("slow"):
            time.sleep(60)
        sizes, times = Sizes(train=2, test=1), Times(fit_seconds=0.0, fit_cpu_seconds=0.0)
        made_by = {"honlearn": job.name}
        return Record(job.digest, job.configuration, {"micro_f1": 0.5}, sizes, times, made_by)


class Recorder(Watch):
    def __init__(self) -> None:
        self.events: list[str] = []

    def started(self, job: Any) -> None:
        self.events.append(f"started {job.digest}")

    def failed(self, job: Any, error: Exception) -> None:
        self.events.append(f"failed {job.digest}")


def small(*names: str) -> list[Small]:
    return [Small(name) for name in names]


def without_times(folder: Path) -> list[str]:
    kept = [replace(record, times=Times()).to_json() for record in Records(folder)]
    return sorted(json.dumps(record, sort_keys=True) for record in kept)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_job_that_fails_stops_no_other(tmp_path: Path, processes: int) -> None:
    jobs, seen = small("a", "wrong1", "b", "wrong2", "c", "a"), Recorder()
    done, run = [], run_all(SmallWork(tmp_path), jobs, tmp_path, processes=processes, watch=seen)
    message = r"wrong1 cannot be used \(so failed 2 of 5 jobs, also wrong2 higher-order"
    with pytest.raises(InputError, match=message):
        done.extend((job.name, record.versions["honlearn"], ran) for job, record, ran in run)
    assert sorted(done) == [("a", "a", True), ("b", "b", True), ("c", "c", True)]
    assert sorted(seen.events) == sorted(
        [f"started {name}" for name in ("a", "wrong1", "b", "wrong2", "c")]
        + ["failed wrong1", "failed wrong2"]
    )
    with pytest.raises(InputError, match="wrong1 cannot be used"):
        list(run_all(SmallWork(tmp_path), jobs, tmp_path, processes=processes))
    ran = (tmp_path / "ran.txt").read_text().split()
    assert sorted(ran) == ["a", "b", "c", "wrong1", "wrong1", "wrong2", "wrong2"]


def test_bugs_and_deaths_elsewhere_are_told_with_their_job(tmp_path: Path) -> None:
    jobs = small("dies", "broken", "a", "b")
    done, run = [], run_all(SmallWork(tmp_path), jobs, tmp_path, processes=2)
    with pytest.raises(
        JobError, match=r"dies higher-order seed 0 fold 0: its process ended with exit code -9"
    ) as raised:
        done.extend(job.name for job, *_ in run)
    assert "so failed 2 of 4 jobs, also broken" in str(raised.value)
    assert sorted(done) == ["a", "b"]
    with pytest.raises(ZeroDivisionError, match="by zero"):
        list(run_all(SmallWork(tmp_path), small("broken"), tmp_path))


def test_leaving_a_run_ends_its_processes(tmp_path: Path) -> None:
    steps = run_all(SmallWork(tmp_path), small("a", "slow1", "slow2", "slow3"), tmp_path, processes=2)
    assert next(steps)[0].name == "a"
    begun = time.monotonic()
    steps.close()
    assert time.monotonic() - begun < 20
    assert set((tmp_path / "ran.txt").read_text().split()) <= {"a", "slow1", "slow2"}


@pytest.fixture(scope="module")
def data() -> NodeData:
    made = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    return NodeData.of(hl.grow(made.paths), list(made.labels), list(made.labels.values()), "both")


def jobs_on(data: NodeData) -> list[Job]:
    return plan(data, [ModelSpec(find_model("dge-bag"), QUICK)], Folds("stratified", 3), [0])


def test_records_do_not_depend_on_the_number_of_processes(data: NodeData, tmp_path: Path) -> None:
    jobs = jobs_on(data)
    list(evaluate(data, jobs, tmp_path / "one", keep_predictions=True, keep_artefacts=True))
    with open(tmp_path / "one" / FILE) as file:
        first = file.readline()
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / FILE).write_text(first + '{"digest": "cut')
    with pytest.warns(DamageWarning, match="the last line was cut short"):
        again = list(evaluate(data, jobs, tmp_path / "two", keep_artefacts=True, processes=2))
    assert sorted(ran for *_, ran in again) == [False, *[True] * 5]
    assert without_times(tmp_path / "one") == without_times(tmp_path / "two")
    assert answers_path(tmp_path / "two", jobs[-1].digest).exists()
    assert not answers_path(tmp_path / "two", jobs[0].digest).exists()


def test_work_on_links_that_was_sent_elsewhere_gives_the_same_record() -> None:
    made = hl.datasets.synthetic(3, n_nodes=40, n_hubs=4, n_destinations=8)
    hon = hl.grow(made.paths, order=2)
    data = LinkData(hon, LinkProtocol(0.1, 1), source=grown_from(made.paths, hon, "paths"))
    settings = {**QUICK, "pair_width": 4, "n_threads": 1}
    jobs = plan_links(data, [ModelSpec(find_model("dge-bag", "links"), settings)], 0)
    work, [sent] = pickle.loads(pickle.dumps((LinkWork(data), jobs)))
    assert work.run(sent).scores == LinkWork(data).run(jobs[0]).scores
    assert (sent.digest, work.lacks(sent)) == (jobs[0].digest, False)


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_runner import SmallWork, small
from honlearn.experiments.runner import run_all
folder = Path(sys.argv[1])
for job, *_ in run_all(SmallWork(folder), small("a", "slow1", "b", "slow2", "c"), folder, processes=2):
    print(job.name, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_run_takes_its_processes_along(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(KILLED)
    words = [sys.executable, str(script), str(tmp_path), str(Path(__file__).parent)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "a\n"
        assert process.stdout.readline() == "b\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.kill()
    assert children
    for _ in range(100):
        left = [child for child in children if Path(f"/proc/{child}").exists()]
        if not left:
            break
        time.sleep(0.1)
    assert not left
    assert {record.digest for record in Records(tmp_path)} == {"a", "b"}


def test_the_plan_says_what_is_done_and_what_it_may_take(data: NodeData, tmp_path: Path) -> None:
    jobs = jobs_on(data)
    n_edges = {name: hon.n_edges for name, hon in data.inputs.items()}
    guessed = planned(jobs, [], n_edges)
    assert [(row.model, row.input, row.jobs, row.done, row.basis) for row in guessed] == [
        ("dge-bag", "gk", 3, 0, "(a guess)"),
        ("dge-bag", "g1", 3, 0, "(a guess)"),
    ]
    steps = evaluate(data, jobs, tmp_path)
    next(steps)
    steps.close()
    known = list(Records(tmp_path))
    rows = planned(jobs, known, n_edges, search_seconds=lambda fit: 60.0)
    times = known[0].times
    assert times.fit_seconds is not None
    assert times.predict_seconds is not None
    measured = times.fit_seconds + times.predict_seconds
    assert [(row.done, row.basis) for row in rows] == [(1, "(from 1)"), (0, "(from 1)")]
    assert rows[0].left == pytest.approx(2 * (measured + 60))
    wide = replace(jobs[0].configuration, parameters={"n_learners": 16, "widths": [128, 128]})
    other = replace(wide, model="gcn")
    assert seconds_of(other, known, 84_806) == (pytest.approx(41.7, abs=0.1), "(a guess)")
    assert seconds_of(replace(wide, task="links"), known, 84_806)[0] == pytest.approx(208, abs=1)
    assert (duration(99.4), duration(100), duration(6000)) == ("99 s", "2 min", "1.7 h")
