"""Arrow tables whose buffers lie are refused before compiled code reads by them."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import honlearn as hl
from honlearn.errors import InputError

EVENTS: dict[str, Any] = {"sequence": "trip", "order_by": "leg", "entity": "port"}


def offsets(*edges: int, kind: Any = np.int32) -> pa.Buffer:
    return pa.py_buffer(np.array(edges, kind).tobytes())


def lying() -> dict[str, pa.Array]:
    words = pa.array(["A", "B"])
    codes = pa.array([0, 1 << 28], pa.int32())
    far = pa.Array.from_buffers(pa.utf8(), 2, [None, offsets(0, 1 << 30, 2), pa.py_buffer(b"AB")])
    return {
        "far": far,
        "large": pa.Array.from_buffers(
            pa.large_utf8(), 2, [None, offsets(0, 1 << 40, 2, kind=np.int64), pa.py_buffer(b"AB")]
        ),
        "index": pa.DictionaryArray.from_arrays(codes, words, safe=False),
        "negative index": pa.DictionaryArray.from_arrays(pa.array([0, -7], pa.int32()), words, safe=False),
        "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), far, safe=False),
        "view": pa.Array.from_buffers(
            pa.string_view(),
            2,
            [None, pa.py_buffer(struct.pack("<i12si4sii", 1, b"A", 99, b"BBBB", 7, 1 << 20))],
        ),
        "text": pa.Array.from_buffers(pa.utf8(), 2, [None, offsets(0, 1, 2), pa.py_buffer(b"A\xff")]),
    }


def table(column: str, array: pa.Array) -> pa.Table:
    columns = {"trip": pa.array([1, 1]), "leg": pa.array([1, 2]), "port": pa.array(["A", "B"])}
    return pa.table({**columns, column: array})


@pytest.mark.slow
def test_a_lie_is_refused_in_memory_and_in_files(tmp_path: Path) -> None:
    """In a child process, because the code before these checks died with it."""
    cases = [(name, column) for name in lying() for column in ("port", "trip")]
    for name, column in cases:
        events = table(column, lying()[name])
        for kind, write in (("arrow", pa.ipc.new_stream), ("feather", pa.ipc.new_file)):
            with write(tmp_path / f"{name} {column}.{kind}", events.schema) as out:
                out.write_table(events)
    program = (
        "import sys, honlearn as hl, pyarrow as pa\n"
        "for file in sys.argv[1:]:\n"
        "    for source in (file, file.replace('.arrow', '.feather'), pa.ipc.open_stream(file).read_all()):\n"
        "        try:\n"
        "            print(hl.read_paths(source, sequence='trip', order_by='leg', entity='port'), file)\n"
        "        except hl.errors.InputError as error:\n"
        "            print('refused:', error, flush=True)\n"
    )
    files = [str(tmp_path / f"{name} {column}.arrow") for name, column in cases]
    done = subprocess.run(
        [sys.executable, "-c", program, *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()
    assert len(told) == 3 * len(cases), done.stdout
    for line in told:
        assert line.startswith("refused: "), line
        assert "cannot be read: " in line


@pytest.mark.parametrize("name", ["far", "index"])
def test_a_lie_inside_lists_is_refused(name: str) -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), lying()[name])
    with pytest.raises(
        InputError, match=r"the table: cannot be read: .*; convert it to a type .*, or mend it"
    ):
        hl.read_paths(pa.table({"p": lists}), path_column="p")


def test_a_column_name_that_is_not_text(tmp_path: Path) -> None:
    with pa.ipc.new_stream(tmp_path / "e.arrow", table("port", pa.array(["A", "B"])).schema) as out:
        out.write_table(table("port", pa.array(["A", "B"])))
    file = tmp_path / "bad.arrow"
    file.write_bytes((tmp_path / "e.arrow").read_bytes().replace(b"port", b"p\xffrt"))
    with pytest.raises(InputError, match=r"bad\.arrow: cannot be read: .*damaged, cut short or of another"):
        hl.read_paths(file, **EVENTS)
