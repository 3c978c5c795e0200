"""The process that runs cases: it imports once, and forks a child for every target and for every batch of it.

In: jobs on standard input, one line of JSON each (a :class:`Job`). Out: one line of JSON per case on standard
output, and one at the end of each job. A child that dies (a native crash, a hang, no memory) takes one case
with it: the next child goes on after it.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.cases import make_case
from fuzz.checks import Broken
from fuzz.faulty_targets import FAULTY
from fuzz.target import Target, small_network
from fuzz.targets import TARGETS
from honlearn.errors import HonlearnError

BATCH = 200
HANG = "hang"
# Bytes that a case may take beyond what the process has when it begins.
MEMORY = 1 << 30
# What others say to developers, not to whoever reads a file.
_SILENT = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


@dataclass(frozen=True)
class Job:
    """Cases `first` to `last` of a target, or as many as fit into `seconds`; failures are kept in `keep`."""

    target: str
    seed: int
    first: int
    last: int
    seconds: float
    keep: str


# What targets import when they make their documents and read them: half of the time of a bounded run.
IMPORTED = (
    "honlearn.baselines.saving", "honlearn.cli.evaluate", "honlearn.experiments.registry",
    "honlearn.experiments.search", "honlearn.pages.results_page", "honlearn.reporting.build",
    "honlearn.tasks.links", "honlearn.tasks.nodes", "honlearn.tasks.path_classifier",
)  # fmt: skip


def main() -> None:
    """Serve jobs until there are no more, each in a process of its own."""
    for name in IMPORTED:
        importlib.import_module(name)
    small_network()  # machine code that is loaded here need not be loaded by every child
    for line in sys.stdin:
        job = Job(**json.loads(line))
        print(json.dumps({"ended": _in_child(lambda job=job: serve(job))}), flush=True)


def serve(job: Job) -> None:
    """Make the corpus, check that it is read, and run the cases."""
    target = {**TARGETS, **FAULTY}[job.target]
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        root = Path(name)
        (root / "corpus").mkdir()
        if _in_child(lambda: _make(target, root / "corpus")):
            raise SystemExit("the corpus could not be made; see above")
        # Valid documents are read in this process: what that imports and compiles is there in every child.
        for document in sorted((root / "corpus").iterdir()):
            target.use(_copied(document, root / "valid") / document.name)
        number, end = job.first, time.monotonic() + job.seconds
        while number < job.last and time.monotonic() < end:
            for result in _batch(target, job, root, range(number, min(number + BATCH, job.last)), end):
                number = result["number"]
                if result.get("what") == HANG:
                    # A busy machine, or a fork at a bad moment, looks like one: it has to hang twice.
                    (result,) = _batch(target, job, root, range(number, number + 1), float("inf"))
                if result.pop("died", False):
                    _keep(root / "kept", job, number)
                print(json.dumps(result), flush=True)
                number += 1


def _make(target: Target, corpus: Path) -> None:
    os.dup2(2, 1)  # what is printed on the way is no result
    target.make(corpus)


def _in_child(work: Any) -> int:
    """Run `work` in a process of its own, whose threads no later fork has to survive; return its exit."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _batch(target: Target, job: Job, root: Path, numbers: range, end: float) -> Iterator[dict[str, Any]]:
    """Yield what came out of each case; ends early after one that killed the child."""
    receive, send = os.pipe()
    crash = root / "crash.txt"
    child = os.fork()
    if not child:
        os.close(receive)
        code = 1
        try:
            _run_cases(target, job, root, numbers, end, send, crash)
            code = 0
        except BaseException:
            crash.write_text(traceback.format_exc(), "utf-8")
        finally:
            os._exit(code)
    os.close(send)
    running: int | None = None
    with os.fdopen(receive, encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            if "outcome" not in told:
                running = told["number"]
            else:
                running = None
                yield told
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if running is not None:
        yield {"number": running, "outcome": "failure", "died": True, **_death(status, crash)}
    elif status:
        raise RuntimeError(f"the fuzzer itself failed on {target.name}:\n{crash.read_text('utf-8')}")


def _death(status: int, crash: Path) -> dict[str, str]:
    name = signal.Signals(-status).name if status < 0 else f"exit {status}"
    if name == "SIGALRM":
        name = HANG
    stack = re.findall(
        r'File "([^"]+)", line (\d+)', crash.read_text("utf-8", "replace") if crash.exists() else ""
    )
    place = next((f"{file}:{line}" for file, line in stack if "/honlearn/" in file), "")
    return {"what": name, "where": _short(place), "detail": ""}


def _run_cases(
    target: Target, job: Job, root: Path, numbers: range, end: float, send: int, crash: Path
) -> None:
    """The life of a child: limits, then one case after another."""

    def tell(**facts: Any) -> None:
        os.write(send, json.dumps(facts).encode() + b"\n")

    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    with open(crash, "w", encoding="utf-8") as stacks:
        faulthandler.enable(stacks)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        _limit_memory()
        for number in numbers:
            if time.monotonic() >= end:
                break
            shutil.rmtree(root / "case", ignore_errors=True)
            (root / "case").mkdir()
            document = make_case(root / "corpus", target.name, job.seed, number, root / "case")
            tell(number=number)
            kept = _copied(document, root / "kept")
            signal.alarm(target.seconds)
            result = run_case(target, document)
            signal.alarm(0)
            if result["outcome"] == "failure":
                _keep(kept, job, number)
            tell(number=number, **result)


def run_case(target: Target, document: Path) -> dict[str, str]:
    """Return what came out of one document."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            target.use(document)
            outcome = {"outcome": "loaded"}
        except HonlearnError as error:
            outcome = {"outcome": "refused"}
            if not str(error).strip() or "\n" in str(error).strip():
                outcome = _failure(error, "a message that is not one line")
        except BaseException as error:
            outcome = _failure(error, type(error).__name__)
    foreign = [one for one in caught if not issubclass(one.category, _SILENT) and not _is_ours(one)]
    if foreign and outcome["outcome"] != "failure":
        told = foreign[0]
        where = _short(f"{told.filename}:{told.lineno}")
        return {
            "outcome": "failure",
            "what": told.category.__name__,
            "where": where,
            "detail": str(told.message),
        }
    return outcome


def _is_ours(told: warnings.WarningMessage) -> bool:
    """Return whether honlearn warned on purpose: a category of its own, or a UserWarning to its caller."""
    ours = any(part in told.filename for part in ("/honlearn/", "/fuzz/"))
    return told.category.__module__.startswith("honlearn") or (told.category is UserWarning and ours)


def _failure(error: BaseException, what: str) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/honlearn/" in f.filename] or frames
    where = _short(f"{ours[-1].filename}:{ours[-1].lineno}") if ours else ""
    detail = (str(error).strip().splitlines() or [""])[0][:200]
    if isinstance(error, Broken):
        return {"outcome": "failure", "what": f"broken promise: {detail}", "where": "", "detail": ""}
    return {"outcome": "failure", "what": what, "where": where, "detail": detail}


def _short(place: str) -> str:
    return re.sub(r"^.*/(?=(honlearn|fuzz)/)", "", place)


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _copied(document: Path, folder: Path) -> Path:
    """Keep the document as it is now: reading it may repair or replace it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (shutil.copytree if document.is_dir() else shutil.copyfile)(document, folder / document.name)
    return folder


def _keep(folder: Path, job: Job, number: int) -> None:
    if job.keep:
        shutil.copytree(folder, Path(job.keep) / f"{job.target}-{job.seed}-{number}", dirs_exist_ok=True)


if __name__ == "__main__":
    main()
