"""The start and the end of a command: no search for cycles while modules are imported, no slow end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ENDING = """
import atexit, sys, threading, time
from honlearn.cli.importing import leaving_at_once

class Kept:
    def __del__(self):
        sys.__stderr__.write("taken apart ")

def work():
    time.sleep(0.2)
    print("thread")

kept = Kept()
with leaving_at_once():
    kept.itself = kept
    atexit.register(print, "registered")
    threading.Thread(target=work).start()
    print("block", end=" ")
    {end}
"""


def ended(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


@pytest.mark.parametrize(("end", "code"), [("sys.exit(3)", 3), ("sys.exit()", 0), ("sys.exit(0)", 0)])
def test_a_process_that_ends_with_a_code_does_all_but_take_its_objects_apart(end: str, code: int) -> None:
    done = ended(ENDING.format(end=end))
    assert (done.returncode, done.stdout, done.stderr) == (code, "block thread\nregistered\n", "")


@pytest.mark.parametrize(
    ("end", "told"),
    [("pass", ""), ("sys.exit('words')", "words"), ("raise OSError('broken')", "OSError: broken")],
)
def test_others_end_as_ever(end: str, told: str) -> None:
    done = ended(ENDING.format(end=end))
    assert done.returncode == bool(told)
    assert done.stdout == "block thread\nregistered\n"
    assert told in done.stderr
    assert "taken apart" in done.stderr


def test_output_that_cannot_be_written_is_told_as_ever() -> None:
    command = [sys.executable, "-c", ENDING.format(end="sys.exit(0)")]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, env=buffered)
    os.close(write)
    assert done.returncode == 120
    assert "BrokenPipeError" in done.stderr


def test_imports_are_not_searched_for_cycles_and_frozen_once() -> None:
    program = """
import gc
from honlearn.cli.importing import importing

try:
    with importing():
        assert not gc.isenabled()
        raise ImportError
except ImportError:
    pass
first = gc.get_freeze_count()
assert gc.isenabled() and first > 1000
with importing():
    more = [[] for _ in range(1000)]
assert gc.isenabled() and gc.get_freeze_count() <= first
"""
    done = ended(program)
    assert done.returncode == 0, done.stderr
