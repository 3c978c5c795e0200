"""Files that no writer of ours makes, with right checksums, and a child process that loads and uses them."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray[Any, Any]]


def unpack(raw: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a whole ``.hon`` file."""
    length = struct.unpack_from("<I", raw, 12)[0]
    header = json.loads(raw[24 : 24 + length])
    start = len(raw) - header["size"]
    arrays = {
        e["name"]: np.frombuffer(raw, e["dtype"], e["length"], start + e["offset"]).copy()
        for e in header["arrays"]
    }
    return header, arrays


def forge(
    path: Path, arrays: dict[str, Any] | None = None, header: Callable[[dict[str, Any]], object] | None = None
) -> None:
    """Replace arrays (None: leave out), then change the header, then make every checksum right."""
    about, known = unpack(path.read_bytes())
    for name, values in (arrays or {}).items():
        if values is None:
            del known[name]
        else:
            dtype = None if isinstance(values, np.ndarray) or name not in known else known[name].dtype
            known[name] = np.asarray(values, dtype)
    data, entries = b"", []
    for name, array in known.items():
        place = {"dtype": array.dtype.str, "length": len(array), "offset": len(data)}
        entries.append({"name": name, **place})
        data += array.tobytes() + bytes(-array.nbytes % 64)
    about.update(size=len(data), arrays=entries)
    if header is not None:
        header(about)
    if isinstance(about["arrays"], list):
        for entry in about["arrays"]:
            end = entry["offset"] + entry["length"] * np.dtype(entry["dtype"]).itemsize
            entry["crc32"] = zlib.crc32(data[max(entry["offset"], 0) : end])
    path.write_bytes(with_header(json.dumps(about).encode(), data))


def with_header(text: bytes, data: bytes) -> bytes:
    """Return the bytes of a ``.hon`` file with this header, right or wrong, and these data."""
    start = b"\x89HON\r\n\x1a\n" + struct.pack("<IIII", 1, len(text), zlib.crc32(text), 0) + text
    return start + bytes(-len(start) % 64) + data


_USE = """
import json, sys
from honlearn.errors import HonlearnError
from honlearn.hon.formats import load_network

def use(hon):
    # Compiled loops first: they do not look where they read.
    if hon.n_edges:
        hon.random_walks([hon.nodes[int(i)] for i in hon.sources[:5]], 5, seed=0).to_paths()
    hon.dependencies(), hon.summary(), hon.relative_probabilities(), hon.to_arrow(), hon.to_scipy()
    hon.out_weight, hon.in_weight, hon.first_order()
    for label in hon.nodes[-3:]:
        hon.family(label), hon.index(label), hon.transition(label), hon.neighbors(label, "in")

for path in sys.argv[1:]:
    try:
        use(load_network(path))
        outcome = "fine"
    except HonlearnError as error:
        outcome = f"{type(error).__name__}: {error}"
    except BaseException as error:
        outcome = f"foreign {type(error).__name__}: {error}"
    print(json.dumps(outcome), flush=True)
"""


def outcomes(paths: Iterable[Path]) -> list[str]:
    """Load and use each file in a child process; return what came of each, and of the child itself."""
    files = [str(path) for path in paths]
    done = subprocess.run([sys.executable, "-c", _USE, *files], capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode:
        lines.append(f"the child ended with {done.returncode}: {done.stderr[-500:]}")
    return [*lines, *["not reached"] * (len(files) - len(lines))]
