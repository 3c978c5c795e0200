"""The bytes of a file, unpacked on the way: what the text and CSV readers pull blocks from.

In: a file, plain or ``.gz`` or ``.zst``, and how many bytes it may unpack to. Out: a stream of bytes that
raises only errors of honlearn: for a file that cannot be read, is damaged, or unpacks to more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, TypeVar

from honlearn.errors import FormatError, InputError
from honlearn.paths.files import File, compression_of, unreadable
from honlearn.paths.options import MAX_UNPACKED_STREAM

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
Span = tuple[int, int]
Got = TypeVar("Got")


def arrow_file(file: File) -> Any:
    """Return a file that Arrow reads by itself."""
    import pyarrow as pa

    return pa.OSFile(str(file)) if isinstance(file, Path) else file.open()


class Opened:
    """A file opened for reading bytes; `packed` says whether it is unpacked on the way.

    With `text`, a file in UTF-16 is refused.

    A context manager with the methods that Arrow asks of a Python file. With a `span` of bytes,
    :meth:`readinto` gives these alone.

    Arrow reads ahead in a thread of its own, which may still be reading after Arrow has raised an error. The
    file stays open until that thread is done: a number of a closed file is given to the next file that is
    opened, and the thread would take its bytes.
    """

    def __init__(
        self, file: File, most: int | None = None, span: Span | None = None, text: bool = False
    ) -> None:
        self.file = file
        self.text = text
        self.span = span
        self.most = MAX_UNPACKED_STREAM if most is None else most
        self.packed = compression_of(file) is not None
        self.closed = False
        self._seen = 0
        self._busy = Lock()
        # Arrow's errors are ours to name; plain files do without Arrow, which takes a while to import.
        self._errors: tuple[type[Exception], ...] = (OSError,)
        try:
            self._raw, self._stream = self._open()
        except self._errors as error:
            raise unreadable(file, error) from error

    def _open(self) -> tuple[Any, Any]:
        if not self.packed:
            stream = self.file.open("rb", buffering=0)
            if self.span is not None:
                stream.seek(self.span[0])
            return stream, stream
        assert self.span is None, "what is packed can be read only from its start"
        import pyarrow as pa

        self._errors = (OSError, pa.ArrowException)
        raw = arrow_file(self.file)
        return raw, pa.CompressedInputStream(raw, compression_of(self.file))

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, none at the end."""
        block: bytes = self._guarded(lambda: b"" if self.closed else self._stream.read(size))
        self._check_encoding(block[:2])
        self._count(len(block))
        return block

    def readinto(self, buffer: memoryview) -> int:
        """Fill `buffer` as far as one reading goes; return how many bytes came, 0 at the end."""
        if self.span is not None:
            buffer = buffer[: self.span[1] - self.span[0] - self._seen]
        got = self._guarded(lambda: 0 if self.closed else int(self._stream.readinto(buffer) or 0))
        self._check_encoding(bytes(buffer[: min(got, 2)]))
        self._count(got)
        return got

    def _guarded(self, read: Callable[[], Got]) -> Got:
        """Return what `read` gives; a file that was closed meanwhile is closed after it."""
        try:
            with self._busy:
                return read()
        except self._errors as error:
            raise unreadable(self.file, error) from error
        finally:
            if self.closed:
                self._release()

    def _check_encoding(self, begin: bytes) -> None:
        if self.text and self._seen == 0 and begin in _UTF16 and (self.span is None or self.span[0] == 0):
            raise FormatError(f"{self.file}: is text in UTF-16; save it as UTF-8")

    def _count(self, got: int) -> None:
        self._seen += got
        if self.packed and self._seen > self.most:
            raise InputError(
                f"{self.file}: unpacks to more than {self.most:,} bytes; raise max_unpacked (--max-unpacked) "
                "if it is meant to be so large"
            )

    def place(self) -> int:
        """Return how many bytes of the file itself have been read, for a bar of progress."""
        return int(self._raw.tell()) if self.packed else self._seen

    def readable(self) -> bool:
        """Return True: it is opened to be read."""
        return True

    def writable(self) -> bool:
        """Return False: it is opened to be read."""
        return False

    def seekable(self) -> bool:
        """Return False: it is read once, from start to end."""
        return False

    def close(self) -> None:
        """Close the file, at the end of a read that is under way in another thread."""
        self.closed = True
        self._release()

    def _release(self) -> None:
        if self._busy.acquire(blocking=False):
            try:
                self._stream.close()
                self._raw.close()
            finally:
                self._busy.release()

    def __enter__(self) -> Opened:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
