"""Records of a run: one line of JSON for each finished job, appended so that a kill loses at most that job.

In: plain dictionaries with a ``digest`` of what was asked. Out: ``records.jsonl``, and from it the records
by digest. A last line that is damaged is removed with a warning, since a kill or a full disk may leave one;
damage elsewhere is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from honlearn.errors import DamageWarning, FormatError, InputError
from honlearn.results.checked import parse_record
from honlearn.writing import lines

FILE = "records.jsonl"
_DAMAGED = "records.damaged"
_USUAL_LEARNER = "sage"


def model_name(configuration: Mapping[str, Any]) -> str:
    """Return what tables call a model: its name, and its learner where that is not the usual one.

    >>> model_name({"model": "dge-bag", "parameters": {"learner": "gat"}})
    'dge-bag (gat)'
    >>> model_name({"model": "gat", "parameters": {"learner": "gat"}})
    'gat'
    """
    model = str(configuration["model"])
    learner = (configuration.get("parameters") or {}).get("learner")
    return model if learner in (None, _USUAL_LEARNER, model) else f"{model} ({learner})"


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
            self._read()

    def _read(self) -> None:
        content = self.path.read_bytes()
        rest = damaged_end(content)
        if rest:
            self._remove(rest)
        for number, line in enumerate(content[: len(content) - len(rest)].split(b"\n")[:-1], 1):
            try:
                record = parse_record(line, "it")
            except FormatError as error:
                raise FormatError(
                    f"{self.path}:{number}: not a record of honlearn; remove the line, or the file to "
                    f"start anew ({error})"
                ) from None
            self._found[record["digest"]] = record

    def _remove(self, line: bytes) -> None:
        """Take a damaged line from the end of the file, and say so; where that cannot be, pass over it."""
        try:
            if line.endswith(b"\n"):
                # No kill ends a line, so this one may be of something else than a run.
                lines.append_line(self.path.with_name(_DAMAGED), line.rstrip(b"\n"))
            if not lines.cut(self.path, line):
                return
        except OSError:
            pass
        warnings.warn(
            f"{self.path}: the last line was cut short or damaged and is left out ({len(line):,} bytes); "
            "its job runs again",
            DamageWarning,
            stacklevel=4,
        )

    def append(self, record: dict[str, Any]) -> None:
        """Add a record: one line, on the disk before this returns, or an error and the file as before."""
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        lines.append_line(self.path, line.encode())
        self._found[record["digest"]] = record

    def __contains__(self, digest: str) -> bool:
        return digest in self._found

    def __getitem__(self, digest: str) -> dict[str, Any]:
        return self._found[digest]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)


def damaged_end(content: bytes) -> bytes:
    """Return the last line of a file of records if it was cut short or is no JSON, else nothing.

    >>> damaged_end(b'{"digest": "a"}\\n{"dig')
    b'{"dig'
    """
    start = content.rfind(b"\n", 0, -1) + 1
    last = content[start:]
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return last
    return b"" if last.endswith(b"\n") else last


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
