"""Records of a run: one line of JSON for each finished job, appended so that a kill loses at most that job.

In: plain dictionaries with a ``digest`` of what was asked. Out: ``records.jsonl``, and from it the records
by digest. A last line that was cut off is dropped; damage elsewhere is an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from honlearn.errors import FormatError, InputError
from honlearn.results.checked import parse_record

FILE = "records.jsonl"


class Records:
    """The records of one run folder, by digest; of two with the same digest the later one counts.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Records(folder).append({"digest": "a1", "scores": {"micro_f1": 0.5}})
    ...     Records(folder)["a1"]["scores"]
    {'micro_f1': 0.5}
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / FILE
        self._found: dict[str, dict[str, Any]] = {}
        if self.path.parent.exists() and not self.path.parent.is_dir():
            raise InputError(f"{self.path.parent}: there is a file of this name; name a folder")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            with open(self.path, "r+b") as file, _locked(file):
                self._read(file)

    def _read(self, file: BinaryIO) -> None:
        content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
        for number, line in enumerate(content[:whole].splitlines(), 1):
            try:
                record = parse_record(line, "it")
            except FormatError as error:
                raise FormatError(
                    f"{self.path}:{number}: not a record of honlearn; remove the line, or the file to "
                    f"start anew ({error})"
                ) from None
            self._found[record["digest"]] = record

    def append(self, record: dict[str, Any]) -> None:
        """Add a record: one write of one line, on the disk before this returns."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"
        with open(self.path, "ab", buffering=0) as file, _locked(file):
            file.write(line.encode())
            os.fsync(file.fileno())
        self._found[record["digest"]] = record

    def __contains__(self, digest: str) -> bool:
        return digest in self._found

    def __getitem__(self, digest: str) -> dict[str, Any]:
        return self._found[digest]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)


@contextlib.contextmanager
def _locked(file: Any) -> Iterator[None]:
    """Keep other processes out while a line is written or a cut one removed, where the system can."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def digest_of(value: Any) -> str:
    """Return 32 hexadecimal digits that belong to this plain value; the order of keys does not matter.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def network_digest(network: Any) -> str:
    """Return the digest of a network's names, nodes, edges and weights, or of counts, level by level."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps(list(network.vocabulary.names), ensure_ascii=False).encode())
    named = [(name, network) for name in ("gram_offsets", "grams", "indptr", "indices", "weights")]
    if hasattr(network, "levels"):
        named = [(name, level) for level in network.levels for name in ("newest", "count", "first")]
    for name, owner in named:
        array = getattr(owner, name)
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def plain(value: Any) -> Any:
    """Return a parameter as JSON can hold it; a table or array of features becomes its shape and digest."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "shape"):
        return {"shape": list(value.shape), "digest": _array_digest(value)}
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _array_digest(value: Any) -> str:
    if hasattr(value, "index") and hasattr(value, "to_numpy"):
        return digest_of([value.index.astype(str).tolist(), value.to_numpy().tolist()])
    if hasattr(value, "tocoo"):
        entries = value.tocoo()
        return digest_of([entries.row.tolist(), entries.col.tolist(), entries.data.tolist()])
    return digest_of(np.asarray(value).tolist())
