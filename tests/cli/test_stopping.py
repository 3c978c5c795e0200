"""Ctrl-C, SIGTERM and folders that are in use: one line, nothing lost, nothing left behind."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import QUICK, Files, Run

import honlearn.cli
from honlearn.baselines.training import ModuleLoop
from honlearn.ensemble.training import Trainer
from honlearn.interrupts import held_back, is_waiting

ENDING = """
import sys, time
from honlearn.interrupts import ending_on_sigterm
from honlearn.writing.atomic import atomic_text
with ending_on_sigterm(), atomic_text(sys.argv[1]) as file:
    file.write("half")
    print("ready", flush=True)
    time.sleep(60)
"""
HOLDER = """
import sys, time
from honlearn.writing.locks import locked_folder
with locked_folder(sys.argv[1]):
    print("ready", flush=True)
    time.sleep(60)
"""
CODES = [
    (signal.SIGINT, 130, "honlearn: interrupted"),
    (signal.SIGTERM, 143, "honlearn: terminated"),
]


@pytest.fixture(autouse=True)
def interrupts_arrive() -> Iterator[None]:
    """Interrupts as at a terminal: a shell that runs the tests in its background has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def started() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a program and wait until it says that it is ready."""
    running: list[subprocess.Popen[str]] = []

    def start(program: str, *words: object) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


class Terminal(io.RawIOBase):
    """A terminal at which Ctrl-C is pressed while something is first written to it."""

    def __init__(self) -> None:
        self.shown, self._end = os.pipe()
        os.set_blocking(self.shown, False)
        self._numbers = [signal.SIGINT]

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._end

    def write(self, data: Any) -> int:
        while self._numbers:
            signal.raise_signal(self._numbers.pop())
        return len(data)

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self.shown)
            os.close(self._end)


def test_a_signal_while_a_bar_is_drawn_is_held_back(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    with monkeypatch.context() as patched, io.TextIOWrapper(io.BufferedWriter(terminal)) as stream:
        patched.setattr(sys, "stderr", stream)

        def drawn() -> None:
            with held_back(True):
                print("bar", file=stream, flush=True)
                assert is_waiting()

        with pytest.raises(KeyboardInterrupt):
            drawn()
        assert os.read(terminal.shown, 100).startswith(b"\nhonlearn: saving first")


def test_a_second_signal_is_not_held_back() -> None:
    reached = []

    def stubborn() -> None:
        with held_back(True):
            signal.raise_signal(signal.SIGINT)
            reached.append(is_waiting())
            signal.raise_signal(signal.SIGINT)
            reached.append("after the second")

    with pytest.raises(KeyboardInterrupt):
        stubborn()
    assert reached == [True]
    assert not is_waiting()


def test_sigterm_leaves_no_draft(started: Callable[..., subprocess.Popen[str]], tmp_path: Path) -> None:
    process = started(ENDING, tmp_path / "x.txt")
    process.terminate()
    assert process.wait() == 143
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code", "message"), CODES)
def test_a_command_that_keeps_nothing_ends_with_one_line(
    number: int, code: int, message: str, tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "honlearn", "grow", "-", "-o", tmp_path / "net.hon"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        # A pipe holds 64 KiB: when so much was taken, the command reads.
        process.stdin.write("A B C\n" * 100_000)
        process.stdin.flush()
        process.send_signal(number)
        assert process.stderr.read() == f"{message}\n"
        assert process.wait() == code
    assert list(tmp_path.iterdir()) == []


def stop_in(patch: pytest.MonkeyPatch, owner: Any, name: str, number: int) -> None:
    """Send a signal to this process at the second call of a function, which then goes on."""
    calls, before = iter(range(10**6)), getattr(owner, name)

    def stopped(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == 1:
            os.kill(os.getpid(), number)
        return before(*args, **kwargs)

    patch.setattr(owner, name, stopped)


@pytest.mark.parametrize(("number", "code", "message"), CODES)
@pytest.mark.parametrize(
    ("model", "owner"), [("dge-bag", Trainer), ("gcn", Trainer), ("pathgcn", ModuleLoop)]
)
def test_a_training_that_is_stopped_saves_first_and_goes_on_to_the_same_model(
    model: str,
    owner: Any,
    number: int,
    code: int,
    message: str,
    honlearn: Run,
    files: Files,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quick = QUICK if model == "dge-bag" else ("--set", "max_epochs=4", "n_threads=1")
    words = ["train", *files, "--model", model, *quick, "-o"]
    assert honlearn(*words, tmp_path / "straight").code == 0
    with monkeypatch.context() as patch:
        stop_in(patch, owner, "_close_epoch", number)
        outcome = honlearn(*words, tmp_path / "m")
    assert outcome.code == code
    assert outcome.err.splitlines()[-1] == f"{message}; the same command goes on with what was saved"
    assert [path.name for path in (tmp_path / "m").iterdir()] == [".checkpoint"]
    assert len(list((tmp_path / "m" / ".checkpoint").iterdir())) == 1
    assert honlearn(*words, tmp_path / "m").code == 0
    for path in (tmp_path / "straight").iterdir():
        # What a fit took is another time each time.
        if path.name not in ("README.md", "training.json"):
            assert (tmp_path / "m" / path.name).read_bytes() == path.read_bytes()


def test_a_choice_of_the_network_that_is_stopped_is_kept(
    honlearn: Run, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert honlearn("data", "get", "synthetic", "-o", tmp_path / "data", "--seed", 3).code == 0
    words = [
        "train",
        tmp_path / "data" / "paths.txt",
        tmp_path / "data" / "labels.csv",
        "--auto",
        "--order",
        2,
    ]
    words += [*QUICK, "-o", tmp_path / "m"]
    calls = iter(range(10**6))
    held = Trainer.held

    def stopped(self: Trainer) -> Any:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return held(self)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "held", stopped)
        outcome = honlearn(*words)
    assert outcome.err.endswith("interrupted; the same command goes on with what was saved\n")
    assert [path.suffix for path in (tmp_path / "m" / ".checkpoint").iterdir()] == [".choice"]
    assert honlearn(*words).code == 0


@pytest.mark.parametrize("command", ["train", "evaluate", "evaluate links", "reproduce"])
def test_a_folder_in_use_is_refused_with_the_name_of_its_user(
    command: str,
    started: Callable[..., subprocess.Popen[str]],
    honlearn: Run,
    files: Files,
    tmp_path: Path,
) -> None:
    words = {
        "train": ["train", *files, *QUICK],
        "evaluate": ["evaluate", *files, "--model", "majority"],
        "evaluate links": ["evaluate", files.net, "--task", "links", "--model", "popularity"],
        "reproduce": ["reproduce", "table-1", "--data", f"{files.net}+{files.labels}"],
    }[command]
    process = started(HOLDER, tmp_path / "out")
    outcome = honlearn(*words, "-o", tmp_path / "out")
    assert outcome.code == 2
    last = outcome.err.splitlines()[-1]
    assert last.startswith(f"honlearn: {tmp_path / 'out'}: process {process.pid} on ")
    assert last.endswith("is writing to it; wait until that has ended, or name another folder")
    process.kill()
    process.wait()
    assert honlearn(*words, "-o", tmp_path / "out").code == 0


def test_an_interrupt_while_commands_are_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(names: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(honlearn.cli, "make_app", interrupted)
    with pytest.raises(SystemExit, match="130"):
        honlearn.cli.main(["grow", "p.txt", "-o", "n.hon"])
    assert capsys.readouterr().err == "honlearn: interrupted\n"
