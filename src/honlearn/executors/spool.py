"""Values in files, for workers of one machine: written once by their process, read where they are needed.

In: values that pickle. Out: tickets, small things that are sent instead and read on the other side. A shared
input is kept by the process that has read it, so that it is read once for each worker. Arrays are written
from where they lie and read to where they stay: copies took most of the time of a ticket.
"""

from __future__ import annotations

import itertools
import pickle
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.executors.tasks import pickled_apart

_READ: dict[str, Any] = {}
# Bytes of a number in a file: of how many parts a value has, and how large they are.
_WORD = 8


@dataclass(frozen=True)
class Ticket:
    """The name of a file that holds a value; `shared` values are kept by the process that reads them."""

    path: str
    shared: bool = False

    def read(self) -> Any:
        """Return the value."""
        if self.path in _READ:
            return _READ[self.path]
        with open(self.path, "rb") as file:
            count = int.from_bytes(file.read(_WORD), "little")
            sizes = [int.from_bytes(file.read(_WORD), "little") for _ in range(count)]
            content, *arrays = [_filled(file, size) for size in sizes]
        value = pickle.loads(content.data, buffers=arrays)
        if self.shared:
            _READ[self.path] = value
        return value

    def write(self, value: Any) -> None:
        """Write the value, or, if it does not pickle, what is wrong with it."""
        try:
            content, arrays = pickled_apart(value)
            with open(self.path, "wb") as file:
                for number in (1 + len(arrays), len(content), *map(len, arrays)):
                    file.write(number.to_bytes(_WORD, "little"))
                file.write(content)
                for array in arrays:
                    file.write(array)
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot be written: {error.strerror}; values between local processes are kept "
                "in the folder of temporary files: point TMPDIR to a disk with room"
            ) from error


def _filled(file: BufferedReader, size: int) -> NDArray[np.uint8]:
    """Return the next bytes of a file, in memory that may be written to."""
    out = np.empty(size, np.uint8)
    if file.readinto(out.data) != size:
        raise EOFError(f"{file.name}: cut short")
    return out


def filled(args: tuple[Any, ...]) -> list[Any]:
    """Return the arguments with the values of the tickets among them."""
    return [argument.read() if isinstance(argument, Ticket) else argument for argument in args]


class Spool:
    """A folder of values, gone when it is closed; only its owner may read it."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="honlearn-")
        self._numbers = itertools.count()

    def ticket(self) -> Ticket:
        """Return a ticket for a value that a worker will write."""
        return Ticket(f"{self.folder}/{next(self._numbers)}")

    def share(self, value: Any) -> Ticket:
        """Write a value that every worker reads once."""
        ticket = Ticket(f"{self.folder}/{next(self._numbers)}", shared=True)
        ticket.write(value)
        return ticket

    def remove(self, ticket: Ticket) -> None:
        """Remove a value."""
        with suppress(OSError):
            Path(ticket.path).unlink()

    def close(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)
