"""One process writes to a folder; another is told who, and a dead one holds nothing."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import types
from pathlib import Path

import pytest

from honlearn.errors import InputError
from honlearn.writing.locks import LOCK_FILE, BusyError, locked_folder

HOLDER = """
import sys, time
from honlearn.writing.locks import locked_folder
if sys.argv[2] == "without locks":
    sys.modules["fcntl"] = None
with locked_folder(sys.argv[1]):
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["fcntl", "without locks"])
def holder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """A process that holds the folder, with the system's locks and without."""
    if request.param == "without locks":
        monkeypatch.setitem(sys.modules, "fcntl", None)
    words = [sys.executable, "-c", HOLDER, str(tmp_path / "run"), request.param]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def test_the_other_is_told_who_holds_the_folder(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    who = rf"process {holder.pid} on {re.escape(socket.gethostname())}, since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d"
    with pytest.raises(BusyError, match=who), locked_folder(tmp_path / "run"):
        pass
    (tmp_path / "link").symlink_to(tmp_path / "run")
    with pytest.raises(BusyError, match="is writing to it; wait"), locked_folder(tmp_path / "link"):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / "run" / LOCK_FILE).exists()
    with locked_folder(tmp_path / "run"):
        (tmp_path / "run" / "x").touch()
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["x"]


def test_it_may_be_taken_again_by_the_same_process_and_leaves_nothing(tmp_path: Path) -> None:
    run = tmp_path / "deep" / "run"
    with locked_folder(run):
        with locked_folder(run):
            assert (run / LOCK_FILE).exists()
        assert (run / LOCK_FILE).exists()
    assert not run.exists()
    run.mkdir()
    with locked_folder(run):
        pass
    assert list(run.iterdir()) == []


def test_a_file_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "run").touch()
    with (
        pytest.raises(InputError, match="there is a file of this name; name a folder"),
        locked_folder(tmp_path / "run"),
    ):
        pass


def test_windows_locks_a_byte_beyond_all_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    places = []

    def locking(handle: int, mode: int, size: int) -> None:
        """Lock as Windows does: from the current place on, refusing with EACCES."""
        places.append(os.lseek(handle, 0, os.SEEK_CUR))
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    windows = types.ModuleType("msvcrt")
    vars(windows).update(locking=locking, LK_NBLCK=2, LK_LOCK=1)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with locked_folder(tmp_path / "run"):
        words = [sys.executable, "-c", HOLDER, str(tmp_path / "run"), "fcntl"]
        done = subprocess.run(words, capture_output=True, text=True)
        assert f"process {os.getpid()} on" in done.stderr
    assert places
    assert min(places) > 2**32


@pytest.mark.skipif(os.name != "posix", reason="needs a limit on the size of files")
def test_a_disk_without_room_for_the_lock_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import resource, sys; from honlearn.writing.locks import locked_folder\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "try:\n"
        "    with locked_folder(sys.argv[1]): print('locked')\n"
        "except ValueError as error: print(type(error).__name__, error)\n"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "model")]
    outcome = subprocess.run(words, capture_output=True, text=True, check=True)
    assert outcome.stdout.startswith(f"InputError {tmp_path / 'model'}: cannot be written: ")
    assert list(tmp_path.iterdir()) == []
