"""A file that is closed while another thread reads it."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from honlearn.errors import InputError
from honlearn.paths import read_paths
from honlearn.paths.opened import Opened


def test_a_file_stays_open_until_a_read_in_another_thread_is_done(tmp_path: Path) -> None:
    pipe, other = tmp_path / "pipe", tmp_path / "other"
    os.mkfifo(pipe)
    other.write_bytes(b"other")
    writer = os.open(pipe, os.O_RDWR)
    stream = Opened(pipe)
    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(stream.read, 4)
        while not stream._busy.locked():
            pass
        stream.close()
        with Opened(other) as second:
            os.write(writer, b"late")
            assert reading.result(timeout=30) == b"late"
            assert second.read() == b"other"
    os.close(writer)
    assert stream._stream.closed
    assert stream.read() == b""


def test_arrow_reads_no_more_when_a_table_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread of Arrow that still reads when the interpreter ends would abort the process."""
    file, ended = tmp_path / "events.csv", []
    file.write_text("user,time,page\n" + "u1,1,home\n" * 800_000)
    read = Opened.read

    def slow(self: Opened, size: int = -1) -> bytes:
        block = read(self, size)
        if threading.current_thread() is not threading.main_thread():
            time.sleep(0.05)
            ended.append(time.monotonic())
        return block

    monkeypatch.setattr(Opened, "read", slow)
    with pytest.raises(InputError, match="which columns hold the paths"):
        read_paths(file)
    left = time.monotonic()
    time.sleep(0.2)
    assert ended
    assert max(ended) < left
