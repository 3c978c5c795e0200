"""Records of a run: one line of JSON for each finished job, appended so that a kill loses at most that job.

In: records (or trials of a search), each with a digest of what was asked. Out: ``records.jsonl``, and from it
the same by digest. A last line that is damaged is removed with a warning, since a kill or a full disk may
leave one; damage elsewhere is an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from honlearn.errors import DamageWarning, FormatError, InputError
from honlearn.results.record import Record, checked_digest
from honlearn.stored import Fields, parse_json
from honlearn.writing import lines

if TYPE_CHECKING:
    from honlearn.paths.paths import Paths

FILE = "records.jsonl"
_DAMAGED = "records.damaged"
Entry = TypeVar("Entry")


class JsonLines(Generic[Entry]):
    """The lines of one folder, by digest; of two with the same digest the later one counts."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / FILE
        self._found: dict[str, Entry] = {}
        if self.path.parent.exists() and not self.path.parent.is_dir():
            raise InputError(f"{self.path.parent}: there is a file of this name; name a folder")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._read()

    def _parse(self, line: bytes, where: str) -> Entry:
        """Return what a line of JSON holds, checked."""
        raise NotImplementedError

    def _values(self, entry: Entry) -> Mapping[str, Any]:
        """Return plain values of which a line is made, a ``digest`` among them."""
        raise NotImplementedError

    def _read(self) -> None:
        content = self.path.read_bytes()
        rest = damaged_end(content)
        if rest:
            self._remove(rest)
        wrong = "not a record of honlearn; remove the line, or the file to start anew"
        for entry in parsed_lines(content, self._parse, self.path, wrong):
            self._found[self._values(entry)["digest"]] = entry

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

    def append(self, entry: Entry) -> None:
        """Add an entry: one line, on the disk before this returns, or an error and the file as before."""
        values = self._values(entry)
        line = json.dumps(values, ensure_ascii=False, allow_nan=False)
        lines.append_line(self.path, line.encode())
        self._found[values["digest"]] = entry

    def __contains__(self, digest: str) -> bool:
        return digest in self._found

    def __getitem__(self, digest: str) -> Entry:
        return self._found[digest]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)


class Records(JsonLines[Record]):
    """The records of one run folder, by digest.

    >>> import tempfile
    >>> from honlearn.results.record import Configuration
    >>> record = Record("a1", Configuration("gcn", "gk", seed=0, fold=0), {"micro_f1": 0.5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Records(folder).append(record)
    ...     Records(folder)["a1"].scores
    {'micro_f1': 0.5}
    """

    def _parse(self, line: bytes, where: str) -> Record:
        return Record.parse(line, where)

    def _values(self, entry: Record) -> Mapping[str, Any]:
        return entry.to_json()


class JsonObjects(JsonLines[Mapping[str, Any]]):
    """JSON objects with a digest, such as the trials of a search; their reader checks the rest."""

    def _parse(self, line: bytes, where: str) -> Mapping[str, Any]:
        found = Fields(parse_json(line, where, advice="remove the line"), where, advice="remove the line")
        checked_digest(found)
        return found.values

    def _values(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        return entry


def parsed_lines(
    content: bytes, parse: Callable[[bytes, str], Entry], path: Path, wrong: str
) -> Iterator[Entry]:
    """Yield what the lines of a file hold, without a damaged end.

    Raises a FormatError with the number of the first line that `parse` refuses, and `wrong`.
    """
    whole = content[: len(content) - len(damaged_end(content))]
    for number, line in enumerate(whole.split(b"\n")[:-1], 1):
        try:
            entry = parse(line, "it")
        except FormatError as error:
            raise FormatError(f"{path}:{number}: {wrong} ({error})") from None
        yield entry


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


def digest_of(value: object) -> str:
    """Return 32 hexadecimal digits that belong to this plain value; the order of keys does not matter.

    >>> digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def paths_digest(paths: Paths) -> str:
    """Return the digest of paths: their names, codes, ends and counts."""
    digest = hashlib.blake2b("\0".join(paths.vocabulary.names).encode(), digest_size=16)
    for array in (paths.codes, paths.offsets, paths.counts):
        digest.update(b"" if array is None else array.tobytes())
    return digest.hexdigest()


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


def plain(value: object) -> Any:
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


def _array_digest(value: object) -> str:
    if hasattr(value, "index") and hasattr(value, "to_numpy"):
        return digest_of([value.index.astype(str).tolist(), value.to_numpy().tolist()])
    if hasattr(value, "tocoo"):
        entries = value.tocoo()
        return digest_of([entries.row.tolist(), entries.col.tolist(), entries.data.tolist()])
    return digest_of(np.asarray(value).tolist())
