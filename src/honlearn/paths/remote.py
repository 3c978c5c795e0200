"""Files at addresses, such as ``s3://bucket/trips/*.parquet``: what Arrow's filesystems read.

In: an address, perhaps a pattern. Out: :class:`RemoteFile`, which the readers use as they use a path. An
address is small, is sent to workers as it is, and is opened there. Endpoint and credentials are those of the
environment (``AWS_ENDPOINT_URL``, ``AWS_ACCESS_KEY_ID``, ``GOOGLE_APPLICATION_CREDENTIALS`` …) and of the
files that the clients of the stores read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from honlearn.errors import InputError, MissingFileError, did_you_mean, first_line, listed

SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_PATTERN = re.compile(r"[*\[]")
_SECRET = re.compile(r":[^/@]*@")
_SHOWN = 5


def is_address(name: str) -> bool:
    """Return whether a name is the address of a file, rather than its path.

    >>> is_address("s3://bucket/paths.txt"), is_address("paths.txt"), is_address("C:/paths.txt")
    (True, False, False)
    """
    return _ADDRESS.match(name) is not None


class _Size(NamedTuple):
    st_size: int


@dataclass(frozen=True)
class RemoteFile:
    """A file of an object store, with those methods of a path that readers use.

    `store` is the address of its store with the options behind ``?``, `path` where it lies there.
    """

    store: str
    path: str

    def __str__(self) -> str:
        return f"{self.store.partition('://')[0]}://{self.path}"

    @property
    def name(self) -> str:
        """The last part of the address."""
        return PurePosixPath(self.path).name

    @property
    def stem(self) -> str:
        """The name without its last extension."""
        return PurePosixPath(self.path).stem

    @property
    def suffix(self) -> str:
        """The last extension."""
        return PurePosixPath(self.path).suffix

    def absolute(self) -> RemoteFile:
        """Return itself: an address is the same everywhere."""
        return self

    def is_file(self) -> bool:
        """Return True: it can be read more than once."""
        return True

    def stat(self) -> _Size:
        """Return its size."""
        return _Size(int(_filesystem(self.store).get_file_info(self.path).size))

    def open(self, mode: str = "rb", buffering: int = 0) -> Any:
        """Return the bytes, as a file that Arrow reads and seeks in."""
        return _filesystem(self.store).open_input_file(self.path)


@lru_cache(maxsize=16)
def _filesystem(store: str) -> Any:
    """Return the filesystem of a store, one for each process."""
    from pyarrow import fs

    scheme, rest = store.split("://", 1)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if scheme == "s3" and endpoint and "endpoint_override=" not in rest:
        parts = urlsplit(endpoint)
        rest += f"{'&' if '?' in rest else '?'}endpoint_override={parts.netloc}&scheme={parts.scheme}"
    return fs.FileSystem.from_uri(f"{'gs' if scheme == 'gcs' else scheme}://{rest}")[0]


def find_remote(address: str) -> list[RemoteFile]:
    """Return the files that an address names; the matches of a pattern are sorted by name."""
    import pyarrow as pa

    scheme = address.partition("://")[0].lower()
    place, _, query = address[len(scheme) + 3 :].partition("?")
    # Errors tell no secret that stands in the address.
    address = f"{scheme}://{_SECRET.sub(':…@', place)}"
    if scheme not in SCHEMES:
        raise InputError(
            f"{address}: no files are read from {scheme}:// addresses; use "
            f"{listed([f'{one}://' for one in (*SCHEMES, 'file')], 10)}, or fetch the file first"
        )
    bucket, _, inside = place.partition("/")
    if not bucket or not inside:
        raise InputError(f"{address}: names no file; an address is {scheme}://BUCKET/FILE")
    store = f"{scheme}://{bucket}{'?' + query if query else ''}"
    # Stores like S3 and Google's have buckets; the place of a file on others begins behind the host.
    named = bucket.rpartition("@")[2]
    whole = f"{named}/{inside}" if scheme in ("s3", "gs", "gcs", "abfs", "abfss") else f"/{inside}"
    try:
        return (
            _matching(address, store, whole) if _PATTERN.search(whole) else [_existing(address, store, whole)]
        )
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, InputError):
            raise
        raise refused(address, error) from error


def _existing(address: str, store: str, path: str) -> RemoteFile:
    from pyarrow import fs

    files = _filesystem(store)
    info = files.get_file_info(path)
    if info.type == fs.FileType.File:
        return RemoteFile(store, path)
    if info.type == fs.FileType.Directory:
        raise InputError(f"{address} is a folder; name a file in it or a pattern such as {address}/*.csv")
    folder, _, name = path.rpartition("/")
    siblings = files.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    if not siblings and files.get_file_info(path.partition("/")[0]).type == fs.FileType.NotFound:
        raise MissingFileError(f"{address}: no such bucket; check its name, and the endpoint")
    names = sorted(one.base_name for one in siblings if one.type == fs.FileType.File)
    raise MissingFileError(f"{address}: no such file{did_you_mean(name, names)}")


def _matching(address: str, store: str, pattern: str) -> list[RemoteFile]:
    from pyarrow import fs

    parts = pattern.split("/")
    fixed = next(i for i, part in enumerate(parts) if _PATTERN.search(part))
    if not "".join(parts[:fixed]):
        raise InputError(f"{address}: a pattern needs a bucket to look in; name it")
    deeper = fixed + 1 < len(parts)
    found = _filesystem(store).get_file_info(
        fs.FileSelector("/".join(parts[:fixed]), recursive=deeper, allow_not_found=False)
    )
    matches = sorted(
        one.path for one in found if one.type == fs.FileType.File and _fits(one.path.split("/"), parts)
    )
    if not matches:
        raise MissingFileError(f"{address}: no file matches the pattern")
    return [RemoteFile(store, path) for path in matches]


def _fits(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Return whether names of folders and a file match; ``**`` stands for any number of folders.

    >>> _fits(["b", "2024", "05", "x.csv"], ["b", "**", "*.csv"]), _fits(["b", "x", "y.csv"], ["b", "*.csv"])
    (True, False)
    """
    if not patterns:
        return not names
    if patterns[0] == "**":
        return any(_fits(names[i:], patterns[1:]) for i in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], patterns[0]) and _fits(names[1:], patterns[1:])


def refused(address: object, error: Exception) -> InputError:
    """Return the error of an address that its store does not give, in one line."""
    reason = first_line(error).rstrip(".")
    lowered = reason.lower()
    if any(
        word in lowered
        for word in ("access_denied", "accessdenied", "forbidden", "status 403", "invalid_access")
    ):
        hint = "no access; set the credentials of the store, such as AWS_ACCESS_KEY_ID, or ask its owner"
    elif any(word in lowered for word in ("no_such_bucket", "nosuchbucket", "bucket does not exist")):
        hint = "no such bucket; check its name, and the endpoint"
    elif any(
        word in lowered for word in ("network_connection", "couldn't connect", "could not connect", "timeout")
    ):
        hint = "the store does not answer; check the endpoint (AWS_ENDPOINT_URL) and the network"
    else:
        hint = "the store refuses it"
    return InputError(f"{address}: {hint} ({reason})")
