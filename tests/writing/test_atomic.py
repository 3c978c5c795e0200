"""Whole files or none, whatever is at the target, whoever was killed before."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from honlearn.errors import InputError
from honlearn.writing.atomic import DRAFT, atomic_binary, atomic_folder, atomic_text, remove_stale_drafts

WRITER = """
import sys, time
from honlearn.writing.atomic import atomic_folder, atomic_text
with atomic_text(sys.argv[1] + "/file.txt") as file, atomic_folder(sys.argv[1]) as folder:
    file.write("new")
    (folder / "inside.txt").write_text("new")
    print("ready", flush=True)
    time.sleep(60)
"""

THROUGH = """
import sys
from honlearn.writing.atomic import atomic_text
with atomic_text(sys.argv[1]) as file:
    file.write("x")
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, text: str = "new") -> None:
    with atomic_text(path) as file:
        file.write(text)


def test_a_file_is_replaced_as_a_whole_or_left(tmp_path: Path) -> None:
    target = tmp_path / "folder" / "x.txt"
    target.parent.mkdir()
    target.write_text("old")
    target.chmod(0o600)

    def fail() -> None:
        with atomic_text(target) as file:
            file.write("half")
            raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        fail()
    assert (target.read_text(), names(target.parent)) == ("old", ["x.txt"])
    write(target)
    assert (target.read_text(), names(target.parent)) == ("new", ["x.txt"])
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_name_of_a_file_that_is_no_unicode_is_escaped(tmp_path: Path) -> None:
    named = {"network": os.fsdecode(b"air\xff.hon")}
    with atomic_text(tmp_path / "about.json") as file:
        json.dump(named, file, ensure_ascii=False)
    assert json.loads((tmp_path / "about.json").read_text("utf-8")) == named


def test_what_is_written_is_on_the_disk_before_it_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("sync"), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (calls.append("replace"), replace(a, b)))
    write(tmp_path / "x.txt")
    assert calls == ["sync", "replace"]
    with atomic_folder(tmp_path / "folder") as draft:
        (draft / "a").write_text("a")
        (draft / "b").write_text("b")
    assert calls[2:] == ["sync", "sync", "replace", "replace"]


def test_links_lead_to_the_file_that_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.txt").symlink_to(tmp_path / "there" / "x.txt")
    write(tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "there" / "x.txt").read_text() == "new"


def test_names_of_many_bytes(tmp_path: Path) -> None:
    write(tmp_path / ("ü" * 120))
    assert names(tmp_path) == ["ü" * 120]


def test_a_pipe_is_written_through(tmp_path: Path) -> None:
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    write(pipe, "through")
    reader.join()
    assert heard == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@pytest.mark.parametrize("device", ["/dev/null", "/dev/stdout"])
def test_devices_are_written_through(device: str, tmp_path: Path) -> None:
    before = os.stat("/dev/null")
    (tmp_path / "link").symlink_to(device)
    words = [sys.executable, "-c", THROUGH, tmp_path / "link"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == ("x" if device == "/dev/stdout" else "")
    assert os.path.samestat(before, os.stat("/dev/null"))


def test_what_can_neither_be_replaced_nor_written_through_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(InputError, match="socket: is a socket, not a file; name a new or a regular file"):
            write(tmp_path / "socket")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder: is a folder; name a file"):
        write(tmp_path / "folder")
    with pytest.raises(InputError, match=r"x\.txt: cannot be written: No such file or directory"):
        write(tmp_path / "missing" / "x.txt")


def test_a_full_device_is_our_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    with pytest.raises(InputError, match="/dev/full: cannot be written: No space left on device"):
        write(Path("/dev/full"))


def test_drafts_of_the_dead_are_removed_and_those_of_the_living_stay(tmp_path: Path) -> None:
    (tmp_path / f".foreign{DRAFT}x").write_text("of another program")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        there = names(tmp_path)
        assert sum(name.endswith(DRAFT) for name in there) == 2
        remove_stale_drafts(tmp_path)
        assert names(tmp_path) == there
        process.kill()
    write(tmp_path / "other.txt")
    assert names(tmp_path) == [f".foreign{DRAFT}x", "other.txt"]


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    with atomic_binary(tmp_path / "x") as outer:
        outer.write(b"outer")
        with atomic_binary(tmp_path / "x") as inner:
            inner.write(b"inner")
        assert (tmp_path / "x").read_bytes() == b"inner"
    assert (tmp_path / "x").read_bytes() == b"outer"
    assert names(tmp_path) == ["x"]


def test_a_folder_comes_as_a_whole(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "root"

    def fail() -> None:
        with atomic_folder(root, last="config") as draft:
            (draft / "config").write_text("half")
            raise ZeroDivisionError("on purpose")

    with pytest.raises(ZeroDivisionError, match="on purpose"):
        fail()
    assert not root.exists()
    for text in ("one", "two"):
        with atomic_folder(root, last="config") as draft:
            (draft / "config").write_text(text)
            (draft / "data").write_text(text)
        assert {path.name: path.read_text() for path in root.iterdir()} == {"config": text, "data": text}
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        fail()
    assert {path.name: path.read_text() for path in root.iterdir()} == {"config": "two", "data": "two"}
