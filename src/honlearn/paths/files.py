"""Which files, and in which format: names and patterns → existing files and one format for all.

In: a string, a path, a pattern such as ``~/trips/*.csv.gz``, ``-`` for standard input, an address
(:mod:`honlearn.paths.remote`), or a list of these.
Out: the files in a fixed order, and ``text``, ``ngram``, ``csv``, ``tsv``, ``parquet``, ``arrow``, ``jsonl``
or ``xes``.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from honlearn.errors import (
    FormatError,
    HonlearnError,
    InputError,
    MissingFileError,
    check_no_spreadsheet,
    did_you_mean,
    first_line,
    listed,
)
from honlearn.paths.options import FORMATS
from honlearn.paths.remote import RemoteFile, find_remote, is_address, refused

File = Path | RemoteFile
"""A file of this machine, or one at an address."""

STDIN = Path("/dev/stdin")
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
EXTENSIONS = {
    ".txt": "text",
    ".paths": "text",
    ".dat": "text",
    ".ngram": "ngram",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xes": "xes",
}

# Formats that are not read, and what to save instead.
_INSTEAD = {
    ".json": "is one JSON document; save one JSON object or array per line, as .jsonl (in pandas: "
    "to_json('….jsonl', orient='records', lines=True)), or Parquet",
    ".pkl": "is a pickle, which could run code when it is read; save the table as Parquet (in pandas: "
    "to_parquet) or the lists as JSON lines (.jsonl)",
}
_INSTEAD[".pickle"] = _INSTEAD[".pkl"]


def find_files(source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[File]:
    """Return the files that `source` names; the matches of a pattern are sorted by name."""
    if isinstance(source, (str, os.PathLike)):
        return _matches(os.fspath(source))
    return [file for item in source for file in _matches(os.fspath(item))]


def _matches(name: str) -> list[File]:
    if is_address(name):
        scheme, _, rest = name.partition("://")
        if scheme.lower() != "file":
            return list(find_remote(name))
        name = unquote(rest.removeprefix("localhost"))
    path = STDIN if name == "-" else Path(name)
    try:
        return _existing(path.expanduser())
    except HonlearnError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # no right, a name too long, a NUL, no such ~user
        raise unreadable(path, error) from error


def _existing(path: Path) -> list[File]:
    if path.exists() and not path.is_dir():
        return [path]
    if path.is_dir():
        inside = sorted(child.name for child in path.iterdir())
        raise InputError(
            f"{path} is a folder; name a file in it or a pattern such as {str(path / '*.csv')!r}; "
            f"it holds {listed(inside, 5) or 'nothing'}"
        )
    if glob.has_magic(str(path)):
        found = sorted(Path(match) for match in glob.glob(str(path), recursive=True) if Path(match).is_file())
        if not found:
            raise MissingFileError(f"{path}: no file matches the pattern")
        return list(found)
    if not path.parent.is_dir():
        raise MissingFileError(f"{path}: no such file; its folder {path.parent} does not exist")
    siblings = sorted(child.name for child in path.parent.iterdir() if child.is_file())
    raise MissingFileError(f"{path}: no such file{did_you_mean(path.name, siblings)}")


def unreadable(file: File, error: Exception) -> InputError:
    """Return the error of a file that the system refuses, or that breaks off while it is unpacked."""
    if isinstance(error, OSError) and error.errno is not None:
        reason = os.strerror(error.errno)
        return InputError(f"{file}: cannot be read: {reason}; check its permissions and its disk")
    if isinstance(file, RemoteFile) and isinstance(error, OSError):
        return refused(file, error)
    reason = first_line(error).rstrip(".")
    return FormatError(
        f"{file}: cannot be read: {reason}; the file is damaged, cut short or of another format"
    )


def compression_of(file: File) -> str | None:
    """Return ``gzip`` or ``zstd`` by the last extension, else None."""
    return COMPRESSIONS.get(file.suffix.lower())


def extension_of(file: File) -> str:
    """Return the extension that tells the format, without that of the compression."""
    return Path(file.stem).suffix.lower() if compression_of(file) else file.suffix.lower()


def format_of(files: Sequence[File], given: str | None) -> str:
    """Return the format of the files: as given, else by extension, which must agree; a pipe is text."""
    if given is not None:
        return given
    formats: dict[str, File] = {}
    for file in files:
        if file == STDIN:
            formats.setdefault("text", file)
            continue
        extension = extension_of(file)
        check_no_spreadsheet(file, extension)
        if extension in _INSTEAD:
            raise FormatError(f"{file}: {_INSTEAD[extension]}")
        if extension not in EXTENSIONS:
            kind = f"the extension {extension!r} tells no format" if extension else "no extension"
            raise InputError(
                f"{file}: {kind}; pass format (--format), one of {listed(FORMATS)}, or name it "
                f"{listed(EXTENSIONS, 20)}"
            )
        formats.setdefault(EXTENSIONS[extension], file)
    if len(formats) > 1:
        (one, first), (two, second) = list(formats.items())[:2]
        raise InputError(f"{first} is {one} but {second} is {two}; read files of one format at a time")
    return next(iter(formats))


def name_of(files: Sequence[File]) -> str:
    """Return how messages call the files together."""
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1:,} more files"
