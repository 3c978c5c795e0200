"""Downloads against a real server on this machine: whole or not at all, checked, cached."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from honlearn.datasets.download import DownloadError, cache_folder, fetch
from honlearn.errors import FormatError

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Publisher(BaseHTTPRequestHandler):
    """Serves good.bin; half.bin stops half way, flaky.bin only the first time, slow.bin says nothing."""

    asked: list[str]
    release: threading.Event

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/none.bin":
            self.send_error(404)
            return
        if self.path == "/slow.bin":
            self.release.wait(20)
            return
        broken = self.path == "/half.bin" or (self.path == "/flaky.bin" and self.asked.count(self.path) == 1)
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2] if broken else CONTENT)

    def log_message(self, format: str, *args: object) -> None:
        """Stay quiet."""


@pytest.fixture
def publisher() -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    release = threading.Event()
    handler = type("Handler", (Publisher,), {"asked": asked, "release": release})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        release.set()
        server.shutdown()
        thread.join()


def test_downloaded_once_and_its_checksum_recorded(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, asked = publisher
    file = fetch(f"{url}/good.bin", folder=tmp_path / "cache")
    assert file.read_bytes() == CONTENT
    assert (tmp_path / "cache" / "good.bin.sha256").read_text() == f"{SHA256}  good.bin\n"
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["good.bin", "good.bin.sha256"]
    assert fetch(f"{url}/good.bin", folder=tmp_path / "cache", sha256=SHA256.upper()) == file
    assert asked == ["/good.bin"]


def test_a_changed_file_is_noticed(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, _ = publisher
    file = fetch(f"{url}/good.bin", folder=tmp_path)
    file.write_bytes(CONTENT + b"!")
    with pytest.raises(FormatError, match=rf"but {SHA256} is recorded in good\.bin\.sha256; delete the file"):
        fetch(f"{url}/good.bin", folder=tmp_path)


def test_a_damaged_record_is_noticed(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, _ = publisher
    fetch(f"{url}/good.bin", folder=tmp_path)
    (tmp_path / "good.bin.sha256").write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match=r"is recorded in good\.bin\.sha256; delete the file"):
        fetch(f"{url}/good.bin", folder=tmp_path)


def test_another_checksum_keeps_nothing(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, _ = publisher
    with pytest.raises(FormatError, match=rf"sha256 {SHA256} was downloaded where 0{{64}} was asked for"):
        fetch(f"{url}/good.bin", folder=tmp_path, sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_file_put_there_by_hand_is_used(tmp_path: Path) -> None:
    (tmp_path / "hand.bin").write_bytes(CONTENT)
    assert fetch("http://127.0.0.1:9/hand.bin", folder=tmp_path).read_bytes() == CONTENT
    assert (tmp_path / "hand.bin.sha256").read_text().startswith(SHA256)
    with pytest.raises(FormatError, match=r"but 1{64} was asked for"):
        fetch("http://127.0.0.1:9/hand.bin", folder=tmp_path, sha256="1" * 64)


def test_a_broken_transfer_is_tried_again(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, asked = publisher
    assert fetch(f"{url}/flaky.bin", folder=tmp_path, pauses=(0.0,)).read_bytes() == CONTENT
    assert asked == ["/flaky.bin"] * 2


def test_half_a_file_is_no_file(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, asked = publisher
    with pytest.raises(
        DownloadError, match=r"half\.bin: not downloaded .*get it by hand and put it at .*half\.bin"
    ):
        fetch(f"{url}/half.bin", folder=tmp_path, pauses=(0.0,))
    assert asked == ["/half.bin"] * 2
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_is_not_asked_for_again(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, asked = publisher
    with pytest.raises(DownloadError, match=r"none\.bin: not downloaded \(Not Found\)"):
        fetch(f"{url}/none.bin", folder=tmp_path)
    assert asked == ["/none.bin"]
    assert list(tmp_path.iterdir()) == []


def test_silence_ends_after_the_timeout(publisher: tuple[str, list[str]], tmp_path: Path) -> None:
    url, _ = publisher
    began = time.monotonic()
    with pytest.raises(DownloadError, match="timed out"):
        fetch(f"{url}/slow.bin", folder=tmp_path, timeout=0.2, pauses=())
    assert time.monotonic() - began < 10
    assert list(tmp_path.iterdir()) == []


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HONLEARN_DATA", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("HONLEARN_DATA")
    assert "honlearn" in cache_folder().parts
