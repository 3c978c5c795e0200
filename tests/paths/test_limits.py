"""No file takes more memory than its limits allow, and each limit is an option that the error names."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.paths import delimited, text
from honlearn.paths.opened import Opened
from honlearn.paths.text import line_blocks

PATHS: dict[str, Any] = {"path_column": "p"}


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".zst", zstd)])
def test_a_line_without_end_is_not_gathered(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "BLOCK", 1 << 12)
    file = tmp_path / f"zeros.txt{suffix}"
    file.write_bytes(pack(b"A B\nA C\n" + bytes(1 << 22)))
    blocks = line_blocks(file, 1 << 12, max_line=1 << 16)
    _, buffer, _ = next(blocks)
    with pytest.raises(InputError, match=r"zeros\.txt.*:3: a line of more than 65,536 bytes; .*--max-line"):
        next(blocks)
    assert len(buffer) < 1 << 18


def test_bytes_behind_the_limit_are_never_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zeros.txt.gz").write_bytes(gzip.compress(bytes(1 << 26)))
    given = []
    readinto = Opened.readinto

    def counted(self: Opened, buffer: memoryview) -> int:
        given.append(readinto(self, buffer))
        return given[-1]

    monkeypatch.setattr(Opened, "readinto", counted)
    with pytest.raises(InputError, match="a line of more than 100,000 bytes"):
        hl.read_paths(tmp_path / "zeros.txt.gz", max_line=100_000)
    assert sum(given) <= 3 << 20


@pytest.mark.parametrize("most", [9, 10, 11])
def test_the_longest_line_is_exact(tmp_path: Path, most: int) -> None:
    (tmp_path / "p.txt").write_text("A B\n" * 3 + "0123 56789\n" + "C D\n")
    if most >= 10:
        assert len(hl.read_paths(tmp_path / "p.txt", max_line=most)) == 5
        return
    with pytest.raises(InputError, match=r"p\.txt:4: a line of more than 9 bytes; .*raise max_line"):
        hl.read_paths(tmp_path / "p.txt", max_line=most)


def names(size: int) -> dict[str, Any]:
    name = "é" * (size // 2)
    return {
        "p.txt": f"A B\nA {name}\n",
        "p.csv": f"p\nA B\nA {name}\n",
        "lists": [["A", "B"], ["A", name]],
        "arrow": pa.table({"p": [["A", "B"], ["A", name]]}),
        "codes": pa.table(
            {"p": pa.array([["A"], ["A", name]], pa.list_(pa.dictionary(pa.int8(), pa.utf8())))}
        ),
    }


@pytest.mark.parametrize("kind", names(2))
def test_a_name_that_is_too_long(tmp_path: Path, kind: str) -> None:
    for size, most in ((1 << 20, None), ((1 << 20) + 2, None), (40, 40), (42, 40)):
        source, options = names(size)[kind], {} if most is None else {"max_name": most}
        if kind.startswith("p."):
            (tmp_path / kind).write_text(source, "utf-8")
            source = tmp_path / kind
        if kind not in ("p.txt", "lists"):
            options |= PATHS
        if size <= (most or 1 << 20):
            assert hl.read_paths(source, **options)[1][1] == "é" * (size // 2)
            continue
        with pytest.raises(
            InputError, match=rf"(:[23]|row 1.*|path 1.*): entity id of {size:,} bytes, .*max_name"
        ):
            hl.read_paths(source, **options)


def test_a_table_that_is_too_wide(tmp_path: Path) -> None:
    header = ",".join(['"p,\n"', "p", *(f"c{i}" for i in range(10_000))])
    file = tmp_path / "wide.csv"
    file.write_text("\n\n" + header + "\n" + "A" + ",A" * 10_001 + "\n")
    with pytest.raises(
        InputError, match=r"wide\.csv:1: 10,002 columns, more than 10,000; raise max_columns \(--max"
    ):
        hl.read_paths(file, **PATHS)
    assert list(hl.read_paths(file, **PATHS, max_columns=10_002)) == [("A",)]
    pa.parquet.write_table(pa.table({"p": ["A B"], "q": [1]}), tmp_path / "two.parquet")
    with pytest.raises(InputError, match=r"two\.parquet: 2 columns, more than 1; raise max_columns"):
        hl.read_paths(tmp_path / "two.parquet", **PATHS, max_columns=1)


@pytest.mark.parametrize(
    ("name", "table"), [("p.txt", False), ("p.csv", True), ("p.parquet", True), ("p.arrow", True)]
)
@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstd)])
def test_what_a_file_unpacks_to(
    tmp_path: Path, name: str, table: bool, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    paths = pa.table({"p": ["A B"] * 30_000})
    if name == "p.parquet":
        pa.parquet.write_table(paths, tmp_path / name, use_dictionary=False, compression=None)
    elif name == "p.arrow":
        with pa.ipc.new_file(tmp_path / name, paths.schema) as out:
            out.write_table(paths)
    else:
        (tmp_path / name).write_text(("p\n" if table else "") + "A B\n" * 30_000)
    raw = (tmp_path / name).read_bytes()
    file = tmp_path / (name + suffix)
    file.write_bytes(pack(raw))
    options = PATHS if table else {}
    with pytest.raises(
        InputError, match=r"unpacks to more than 60,000 bytes; raise max_unpacked \(--max-unp"
    ):
        hl.read_paths(file, **options, max_unpacked=60_000)
    assert len(hl.read_paths(file, **options, max_unpacked=len(raw))) == 30_000


def test_a_row_of_csv_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "_BLOCK", 256)
    file = tmp_path / "open.csv"
    file.write_text('p,q\nA,1\n"A' + "\nB" * 50_000)
    with pytest.raises(
        InputError, match=r"open\.csv: a row of more than 10,000 bytes; is a quotation .*max_line"
    ):
        hl.read_paths(file, **PATHS, max_line=10_000)
    file.write_bytes(bytes(100_000))
    with pytest.raises(InputError, match=r"open\.csv: a row of more than 10,000 bytes"):
        hl.read_paths(file, **PATHS, max_line=10_000)


@pytest.mark.parametrize("name", ["max_line", "max_name", "max_columns", "max_unpacked"])
def test_limits_are_whole_numbers(name: str) -> None:
    with pytest.raises(ParameterError, match=rf"'{name}' parameter of read_paths must be a whole number"):
        hl.read_paths([["A"]], **{name: 0})


BOMB = """
import resource, sys
import honlearn as hl
hl.read_paths([["A", "B"]])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    hl.read_paths(sys.argv[1])
except hl.errors.InputError as error:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, error)
"""


def test_a_bomb_takes_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "bomb.txt.gz"
    block = gzip.compress(bytes(1 << 26))
    file.write_bytes(block * 16)  # a gigabyte of zeros
    done = subprocess.run([sys.executable, "-c", BOMB, str(file)], capture_output=True, text=True, check=True)
    megabytes, message = done.stdout.split(maxsplit=1)
    assert "a line of more than 67,108,864 bytes" in message
    assert int(megabytes) < 400
