"""A small run with names that would like to be code, and a browser where there is one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_cases import next_run, small_labels, small_network, write_run

from honlearn.reporting.build import write_report

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
INSTALL_SECONDS = 300


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight homes and two hubs, four learners, three folds, two models."""
    network = small_network()
    return write_run(tmp_path_factory.mktemp("small") / "run", network, small_labels(network))


@pytest.fixture(scope="session")
def page(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the small run."""
    return write_report(run, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="session")
def next_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a run on next steps."""
    folder = tmp_path_factory.mktemp("next")
    return write_report(next_run(folder / "run"), folder / "report.html")


def _chromium() -> str | None:
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
        None,
    )


def find_chromium() -> str:
    """Return a chromium; install Debian's where root may; else skip and say so."""
    found = _chromium()
    if found:
        return found
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("apt-get"):
        pytest.skip("no chromium, and it cannot be installed here; install it: apt-get install chromium")
    command = "apt-get update -qq && apt-get install -y -qq chromium"
    try:
        subprocess.run(["sh", "-c", command], capture_output=True, timeout=INSTALL_SECONDS, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"no chromium, and apt-get could not install it ({type(error).__name__})")
    return _chromium() or pytest.skip("apt-get installed chromium, but it is not on the PATH")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless chromium, driven by Playwright."""
    sync = pytest.importorskip("playwright.sync_api", reason="needs playwright: scripts/setup.sh dev")
    path = find_chromium()
    with sync.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def shots() -> Path:
    """Where screenshots are kept: a folder that git does not see."""
    folder = Path(__file__).resolve().parents[2] / ".screenshots"
    folder.mkdir(exist_ok=True)
    return folder
