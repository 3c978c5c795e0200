"""Commands that are killed, run out of disk or may not write: nothing is lost, and they end as if unharmed.

Run it with ``make faults``, or ``python tests/faults/harness.py --kills 60 --seed 0``. Real commands run in
processes of their own. A kill comes at a random moment of the time that the command takes; then the same
command is started again, perhaps killed again, and at last its files are compared with those of one that was
left alone: bytes, or of records everything but times. Faults of a disk need a small tmpfs, so they need root.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

QUICK = ("n_learners=2", "widths=8,8", "max_epochs=12", "patience=12", "n_threads=1")
Words = Callable[[Path, Path], list[str]]
Result = Callable[[Path], Any]


class FaultError(AssertionError):
    """Something was lost, left behind, or said that is not true."""


@dataclass(frozen=True)
class Case:
    """A command, and what of its folder must be the same however often it was killed."""

    name: str
    words: Words
    result: Result


@dataclass
class Tally:
    """What happened, for the report."""

    seen: Counter[str] = field(default_factory=Counter)
    is_shown: bool = False

    def add(self, *words: str) -> None:
        """Count an outcome."""
        self.seen[" ".join(words)] += 1
        if self.is_shown:
            print(*words, flush=True)

    @property
    def kills(self) -> int:
        """How many processes were ended before they had finished."""
        return sum(count for name, count in self.seen.items() if " killed by " in name)


# --- what is run -------------------------------------------------------------------------------------------


def prepare(inputs: Path, paths: int) -> None:
    """Write paths, a network, labels and a run, which the commands start from."""
    run("data", "get", "synthetic", "-o", inputs / "data", "--set", "n_nodes=60", "--seed", "1")
    lines = (inputs / "data" / "paths.txt").read_text().splitlines(keepends=True)
    with (inputs / "paths.txt").open("w") as file:
        for _ in range(max(1, paths // len(lines))):
            file.writelines(lines)
    run("grow", inputs / "data" / "paths.txt", "-o", inputs / "net.hon")
    labels = inputs / "data" / "labels.csv"
    run("evaluate", inputs / "net.hon", labels, "-o", inputs / "run", "--model", "honem", "--folds", "3")


def _page(out: Path) -> str:
    """Return a page without the minute in which it was made."""
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", (out / "page.html").read_text("utf-8"))


def _files(*names: str) -> Result:
    return lambda out: {name: (out / name).read_bytes() for name in names}


def _records(*patterns: str) -> Result:
    """Return the records in the files that match, without times, and the bytes of what was kept of each."""

    def found(out: Path) -> Any:
        kept = {}
        for path in (path for pattern in patterns for path in out.glob(pattern)):
            name = str(path.relative_to(out))
            if path.suffix != ".jsonl":
                kept[name] = path.read_bytes()
                continue
            records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            kept[name] = sorted(json.dumps(_timeless(record), sort_keys=True) for record in records)
        return kept

    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _timeless(v) for k, v in value.items() if k != "times" and "seconds" not in k}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _train(inputs: Path, out: Path) -> list[str]:
    words = ["train", str(inputs / "net.hon"), str(inputs / "data" / "labels.csv"), "-o", str(out / "model")]
    return [*words, "--set", *QUICK, "checkpoint_seconds=0.05"]


def _evaluate(inputs: Path, out: Path) -> list[str]:
    words = ["evaluate", str(inputs / "net.hon"), str(inputs / "data" / "labels.csv"), "-o", str(out / "run")]
    models = ["--model", "graphsage", "--model", "honem", "--set", "graphsage:max_epochs=4"]
    return [*words, *models, "--folds", "3", "--jobs", "2"]


def _reproduce(inputs: Path, out: Path) -> list[str]:
    words = ["reproduce", "table-2", "--data", f"x={inputs / 'data'}", "-o", str(out / "run")]
    words += ["--tau", "1", "--min-support", "1", "--model", "honem", "--model", "graphsage"]
    return [*words, "--folds", "2", "--trials", "2", "--set", "graphsage:max_epochs=4"]


CASES = (
    Case(
        "grow",
        lambda inputs, out: ["grow", str(inputs / "paths.txt"), "-o", str(out / "net.hon"), "--order", "3"],
        _files("net.hon"),
    ),
    Case(
        "train",
        _train,
        _files("model/config.json", "model/weights.safetensors", "model/network.hon"),
    ),
    Case("evaluate", _evaluate, _records("run/records.jsonl", "run/artefacts/*")),
    Case("reproduce", _reproduce, _records("run/*/records.jsonl", "run/*/searches/*/*.jsonl")),
    Case(
        "report",
        lambda inputs, out: ["report", str(inputs / "run"), "-o", str(out / "page.html")],
        _page,
    ),
)


# --- running and killing -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it said, and how long it took."""

    code: int
    said: str
    seconds: float

    @property
    def last(self) -> str:
        """The last line on standard error."""
        return self.said.rstrip("\n").rpartition("\n")[2]


def run(*words: object) -> Ended:
    """Run a command to its end, which must be a good one."""
    ended = start_and_kill([str(word) for word in words], None, signal.SIGKILL, False)
    check(ended.code == 0, f"exit code {ended.code} of {words}: {ended.said}")
    return ended


def start_and_kill(words: list[str], after: float | None, number: int, group: bool) -> Ended:
    """Run a command; send it, or its whole group, a signal after so many seconds unless it has ended."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "honlearn", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _, said = process.communicate(timeout=after)
    except subprocess.TimeoutExpired:
        (os.killpg if group else os.kill)(process.pid, number)
        _, said = process.communicate(timeout=120)
    return Ended(process.returncode, said, time.monotonic() - began)


def check(good: bool, what: str) -> None:
    """Raise unless something holds."""
    if not good:
        raise FaultError(what)


def drafts(folder: Path) -> list[str]:
    """Return drafts and locks that lie in a folder, at any depth."""
    return [str(path.relative_to(folder)) for path in folder.rglob(".*honlearn-*")]


@dataclass(frozen=True)
class Trial:
    """A command in a folder of its own: how long it usually takes and needs to start, and what comes out."""

    case: Case
    usual: float
    starting: float
    wanted: Any

    @classmethod
    def of(cls, case: Case, inputs: Path) -> Trial:
        """Run the command once, unharmed."""
        with folder() as out:
            usual = run(*case.words(inputs, out)).seconds
            # Twice as long as without a command, since other work may slow a start down.
            return cls(case, usual, 2 * run("info", "--help").seconds, case.result(out))

    def kill_once(self, words: list[str], out: Path, chance: random.Random, tally: Tally) -> bool:
        """Start the command and kill it at a random moment; return whether it had finished before."""
        name = self.case.name
        number = chance.choice((signal.SIGKILL, signal.SIGTERM))
        after = chance.uniform(min(self.starting, self.usual) / 2, self.usual)
        is_group = chance.random() < 0.3
        # A SIGKILL of before may have left drafts, which go when the next file is written.
        there = {*drafts(out)}
        ended = start_and_kill(words, after, number, is_group)
        signalled = "SIGKILL" if number == signal.SIGKILL else "SIGTERM"
        check("Traceback" not in ended.said, f"{name} after {signalled}: {ended.said}")
        if ended.code == 0:
            tally.add(name, "finished before", signalled)
            return True
        tally.add(name, "killed by", signalled)
        if ended.code == -number == -signal.SIGTERM:
            # Not caught: right only before the command has started, or when all is done and Python leaves.
            is_early = after < self.starting and not ended.said
            check(is_early or self.is_done(out), f"{name}: SIGTERM after {after:.1f} s: {ended.said}")
            return False
        if number == signal.SIGKILL:
            check(ended.code == -number, f"{name}: exit code {ended.code} after SIGKILL: {ended.said}")
            return False
        check(ended.code == 143, f"{name}: exit code {ended.code} after SIGTERM: {ended.said}")
        check(ended.last.startswith("honlearn: terminated"), f"{name} said after SIGTERM: {ended.said}")
        # A signal to all processes at once may end one that cleans up already.
        left = {*drafts(out)} - there
        check(is_group or not left, f"{name} left after SIGTERM: {left}")
        return False

    def is_done(self, out: Path) -> bool:
        """Return whether the result is there."""
        try:
            return bool(self.case.result(out) == self.wanted)
        except FileNotFoundError:
            return False


def kill_and_compare(case: Case, inputs: Path, kills: int, chance: random.Random, tally: Tally) -> None:
    """Kill a command again and again, let it end, and compare; until so many kills were done."""
    if not kills:
        return
    trial, done = Trial.of(case, inputs), tally.kills + kills
    while tally.kills < done:
        with folder() as out:
            words = case.words(inputs, out)
            for _ in range(chance.randint(1, 3)):
                if trial.kill_once(words, out, chance, tally):
                    break
            run(*words)
            check(trial.is_done(out), f"{case.name}: another result after kills")
            check(not drafts(out), f"{case.name} left behind: {drafts(out)}")
            tally.add(case.name, "ended with the same result")


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Yield a new folder, which is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="honlearn-faults-") as name:
        yield Path(name)


# --- disks -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(kilobytes: int) -> Iterator[Path]:
    """Yield a file system of this size, or raise a ``PermissionError`` where none can be mounted."""
    with folder() as place:
        options = ["-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
        made = shutil.which("mount") and subprocess.run(["mount", *options], capture_output=True, text=True)
        if not made or made.returncode:
            raise PermissionError(made.stderr.strip() if made else "there is no program mount")
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], check=True)


def fill_the_disk(case: Case, inputs: Path, chance: random.Random, tally: Tally, times: int) -> None:
    """Run a command on a disk that is nearly full, then with room again, and compare."""
    with folder() as out:
        run(*case.words(inputs, out))
        wanted = case.result(out)
        needed = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) // 1024
    for _ in range(times):
        with small_disk(4 * needed + 2048) as out:
            words, ballast = case.words(inputs, out), out / "ballast"
            room = chance.randint(0, needed)
            size = shutil.disk_usage(out).free - room * 1024
            with ballast.open("wb") as file:
                file.write(bytes(size))
            ended = start_and_kill(words, None, signal.SIGKILL, False)
            check("Traceback" not in ended.said, f"{case.name} on a full disk: {ended.said}")
            check(ended.code in (0, 2), f"{case.name} on a full disk: exit code {ended.code}: {ended.said}")
            if ended.code == 2:
                check("No space left" in ended.last, f"{case.name} on a full disk said: {ended.last}")
            check(not drafts(out), f"{case.name} left on a full disk: {drafts(out)}")
            tally.add(case.name, "ran out of disk" if ended.code else "had disk enough")
            ballast.unlink()
            run(*words)
            check(case.result(out) == wanted, f"{case.name}: another result after a full disk")
            tally.add(case.name, "ended with the same result")


def forbid_writing(case: Case, inputs: Path, tally: Tally) -> None:
    """Run a command whose output lies on a disk that cannot be written to."""
    with small_disk(1024) as out:
        subprocess.run(["mount", "-o", "remount,ro", str(out)], check=True)
        ended = start_and_kill(case.words(inputs, out), None, signal.SIGKILL, False)
        check("Traceback" not in ended.said, f"{case.name} on a read-only disk: {ended.said}")
        check(ended.code == 2, f"{case.name} on a read-only disk: exit code {ended.code}: {ended.said}")
        check("written" in ended.last, f"{case.name} on a read-only disk said: {ended.last}")
        tally.add(case.name, "refused a read-only disk")


def read_from_a_read_only_disk(inputs: Path, tally: Tally) -> None:
    """Report a run that lies on a disk that cannot be written to."""
    with small_disk(64 * 1024) as disk, folder() as out:
        shutil.copytree(inputs / "run", disk / "run")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        run("report", disk / "run", "-o", out / "page.html")
        tally.add("report", "read from a read-only disk")


# --- the whole ---------------------------------------------------------------------------------------------


def faults(
    kills: int,
    disks: int,
    seed: int,
    names: list[str] | None = None,
    paths: int = 3_000_000,
    show: bool = False,
) -> tuple[Tally, list[str]]:
    """Run everything; return what happened, and why something was left out."""
    chance, tally, reasons = random.Random(seed), Tally(is_shown=show), list[str]()
    chosen = [case for case in CASES if names is None or case.name in names]
    with folder() as inputs:
        prepare(inputs, paths)
        for place, case in enumerate(chosen):
            share = kills // len(chosen) + (place < kills % len(chosen))
            kill_and_compare(case, inputs, share, chance, tally)
        try:
            for case in chosen if disks else ():
                fill_the_disk(case, inputs, chance, tally, disks)
                forbid_writing(case, inputs, tally)
            if disks:
                read_from_a_read_only_disk(inputs, tally)
        except PermissionError as error:
            reasons.append(f"disks: no small file system can be mounted here ({error}); run as root")
    return tally, reasons


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=100, help="kills, spread over the commands")
    parser.add_argument("--disks", type=int, default=4, help="full disks for each command; 0: none")
    parser.add_argument("--seed", type=int, default=0, help="decides moments and signals")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES], help="repeatable")
    parser.add_argument("--show", action="store_true", help="print what happens as it happens")
    given = parser.parse_args()
    tally, reasons = faults(given.kills, given.disks, given.seed, given.only, show=given.show)
    for name, count in sorted(tally.seen.items()):
        print(f"{count:6} {name}")
    for reason in reasons:
        print(f"left out: {reason}")
    print(f"{tally.kills} kills with seed {given.seed}: nothing was lost")


if __name__ == "__main__":
    main()
