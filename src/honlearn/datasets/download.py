"""Fetching a publisher's archive once: into a cache folder, whole or not at all, with its checksum kept.

In: an address. Out: a local file. Its SHA-256 is checked against the one the caller gives; without one,
that of the first download is recorded in ``NAME.sha256`` beside the file and checked at every later use.
"""

from __future__ import annotations

import hashlib
import http.client
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import BinaryIO

from honlearn.errors import FormatError, HonlearnError
from honlearn.progress import progress
from honlearn.writing.atomic import atomic_binary, atomic_text

_BLOCK = 1 << 18
_PAUSES = (1.0, 3.0)


class DownloadError(HonlearnError, OSError):
    """A file could not be fetched from its publisher."""


def cache_folder() -> Path:
    """Return the folder of downloads: ``HONLEARN_DATA`` if set, else the platform's cache folder."""
    chosen = os.environ.get("HONLEARN_DATA")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "honlearn" / "Cache"
        )
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "honlearn"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "honlearn"


def fetch(
    url: str,
    *,
    folder: Path | None = None,
    sha256: str | None = None,
    timeout: float = 30.0,
    pauses: tuple[float, ...] | None = None,
) -> Path:
    """Return the local copy of `url`, downloading it unless it is there already.

    A file that somebody put there by hand is as good as a download. `timeout` is in seconds and counts
    silence, not the whole transfer; after each of `pauses` (seconds) a broken transfer is tried again.
    """
    folder = cache_folder() if folder is None else folder
    file = folder / url.rsplit("/", 1)[-1]
    if not file.is_file():
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _not_downloaded(url, file, error) from error
        _download(url, file, sha256, timeout, _PAUSES if pauses is None else pauses)
    _verify(file, sha256)
    return file


def _download(url: str, file: Path, sha256: str | None, timeout: float, pauses: tuple[float, ...]) -> None:
    with atomic_binary(file) as out:
        for pause in (*pauses, None):
            try:
                found = _transfer(url, out, timeout)
                break
            except (OSError, http.client.HTTPException) as error:
                final = isinstance(error, urllib.error.HTTPError) and error.code < 500
                if pause is None or final:
                    raise _not_downloaded(url, file, error) from error
                time.sleep(pause)
        if sha256 is not None and found != sha256.lower():
            raise FormatError(
                f"{url}: sha256 {found} was downloaded where {sha256} was asked for; nothing was kept"
            )


def _not_downloaded(url: str, file: Path, error: Exception) -> DownloadError:
    reason = str(getattr(error, "reason", error)) or type(error).__name__
    return DownloadError(f"{url}: not downloaded ({reason}); get it by hand and put it at {file}")


def _transfer(url: str, out: BinaryIO, timeout: float) -> str:
    """Write the answer to `out`, from its start, and return its SHA-256."""
    request = urllib.request.Request(url, headers={"User-Agent": "honlearn"})
    digest = hashlib.sha256()
    out.seek(0)
    out.truncate()
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        size = int(answer.headers.get("Content-Length") or 0)
        with progress(f"downloading {url.rsplit('/', 1)[-1]}", size or None, unit="bytes") as advance:
            while block := answer.read(_BLOCK):
                digest.update(block)
                out.write(block)
                advance(len(block))
        if size and out.tell() != size:
            raise http.client.IncompleteRead(b"", size - out.tell())
    return digest.hexdigest()


def file_sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _verify(file: Path, sha256: str | None) -> None:
    """Check the file against the checksum given, else against the one recorded at first use; record it."""
    record = file.with_name(f"{file.name}.sha256")
    recorded = record.read_text("ascii", "replace").split()[:1] if record.is_file() else []
    wanted = sha256.lower() if sha256 is not None else next(iter(recorded), None)
    found = file_sha256(file)
    if wanted is not None and found != wanted:
        whose = "was asked for" if sha256 is not None else f"is recorded in {record.name}"
        raise FormatError(
            f"{file}: sha256 {found}, but {wanted} {whose}; "
            f"delete the file (and {record.name}) to fetch it again"
        )
    if recorded != [found]:
        with atomic_text(record) as out:
            out.write(f"{found}  {file.name}\n")
