"""Fixtures that every test may use; which tests are slow, and what each takes."""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

# The first example of a property compiles its kernels; a deadline would only measure the compiler.
settings.register_profile("honlearn", deadline=None)
settings.load_profile("honlearn")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; absent on most machines."""
    if not (SHARED / "data").is_dir():
        pytest.skip("needs the reference data in ../shared, which this machine does not have")
    return SHARED


# Tests that fit models again and again, start other processes or drive a browser: folders and modules below
# `tests`. `make test-fast` leaves them out; `pytest --cpu-times 30` tells what belongs here. Some
# tests elsewhere that start one process after another carry the mark themselves.
SLOW = {
    "baselines", "benchmarks", "cli", "docs", "ensemble", "executors", "experiments", "faults", "fuzz",
    "learners", "mutation", "pages", "pipeline", "reporting", "tasks", "test_packaging.py", "test_readme.py",
}  # fmt: skip
# Modules of slow folders whose tests take a few CPU seconds together.
QUICK = {
    "test_choice.py", "test_examples.py", "test_folds.py", "test_heads.py", "test_held.py",
    "test_hostile_calibration.py", "test_link_split.py", "test_nested.py", "test_shapley.py",
    "test_shares.py", "test_temperature.py",
}  # fmt: skip


def is_slow(path: Path) -> bool:
    """Return whether the tests of a file are slow; doctests of the package are not."""
    here = Path(__file__).parent
    return here in path.parents and path.relative_to(here).parts[0] in SLOW and path.name not in QUICK


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Iterator[list[pytest.Collector]]:
    """Look for no doctests in tests, which have none: that would read every module of tests twice."""
    found = yield
    return [one for one in found if type(one) is pytest.Module]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests."""
    for item in items:
        if is_slow(item.path):
            item.add_marker(pytest.mark.slow)


# --- which tests run in one process -------------------------------------------------------------------

# Tests of these modules share one fit for each value of their parameter, and there are many.
BY_PARAMETER = {"test_contract.py", "test_learners_in_ensembles.py"}
# What is built here reads what is built there.
TOGETHER = {"test_packaging.py": "site", "test_site.py": "site"}


def group_of(nodeid: str) -> str:
    """Return the tests that a test runs with in one process, so that what they share is made once."""
    file, _, test = nodeid.partition("::")
    name = file.rpartition("/")[2]
    if name in BY_PARAMETER and "[" in test:
        return file + test[test.index("[") :]
    return TOGETHER.get(name, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Divide tests among processes by their groups.

    Not by the mark of pytest-xdist 3.8, which pytest 9.2 takes no notice of.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return ByGroup(config, log) if config.getoption("dist") == "loadgroup" else None


# --- CPU seconds of tests, which a busy machine does not change ---------------------------------------

BEGAN = pytest.StashKey[float]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--cpu-times`` and ``--skip-after``."""
    told = "tell the N modules and tests that take most CPU seconds, other processes included"
    parser.addoption("--cpu-times", type=int, default=0, metavar="N", help=told)
    told = "skip a test once it has taken so many CPU seconds: with the compiler off, some take hours"
    parser.addoption("--skip-after", type=float, default=0, metavar="SECONDS", help=told)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """Keep when the test began; its fixtures are its own."""
    item.stash[BEGAN] = cpu_seconds()
    return (yield)


class TooLongError(BaseException):
    """A test has taken more than ``--skip-after``; no test catches it."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """End a test that takes too long; what it has reached by then counts."""
    seconds = item.config.getoption("--skip-after")
    if not seconds:
        return (yield)

    def stop(_: int, frame: FrameType | None) -> None:
        if frame is not None and "coverage" in frame.f_code.co_filename:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)  # it may hold a lock
            return
        raise TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return (yield)
    except TooLongError:
        pytest.skip(f"takes more than {seconds:g} s")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Give the report of a test's end what it took, so that another process may sum it up."""
    report = yield
    if report.when == "teardown":
        report.user_properties.append(("cpu_seconds", round(cpu_seconds() - item.stash[BEGAN], 3)))
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell the CPU seconds of modules and of tests, parameters together, most first."""
    wanted = config.getoption("--cpu-times", 0)
    if not wanted:
        return
    modules: defaultdict[str, float] = defaultdict(float)
    tests: defaultdict[str, float] = defaultdict(float)
    for report in (one for found in terminalreporter.stats.values() for one in found):
        if getattr(report, "when", None) == "teardown":
            seconds = dict(report.user_properties).get("cpu_seconds", 0.0)
            modules[report.nodeid.partition("::")[0]] += seconds
            tests[report.nodeid.partition("[")[0]] += seconds
    terminalreporter.section(f"{sum(modules.values()):.0f} CPU seconds in tests")
    for rows in (modules, tests):
        for name, seconds in sorted(rows.items(), key=lambda row: -row[1])[:wanted]:
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")
        terminalreporter.write_line("")
