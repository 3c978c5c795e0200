"""A file that is closed while another thread reads it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
