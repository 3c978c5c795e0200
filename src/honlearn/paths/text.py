"""Text files, one path per line → chunks of entity codes, block by block, so a file may exceed memory.

In: files (plain, gzip or zstd), the reader's options, the interner. Out: :class:`PathChunk` after
:class:`PathChunk`. Errors name file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.paths import tokenise
from honlearn.paths.files import File
from honlearn.paths.interner import HOLDS_SEPARATOR, Interner
from honlearn.paths.odd_fields import warn_of_odd_fields
from honlearn.paths.opened import Opened, Span
from honlearn.paths.options import A_COUNT, MAX_LINE, SKIP_EMPTY
from honlearn.paths.paths import PathChunk

if TYPE_CHECKING:
    from honlearn.paths.options import ReaderOptions
    from honlearn.progress import Advance

BLOCK = 1 << 20
_HEAD = 1 << 16  # bytes that are looked at for fields that are no entities
_BOM = b"\xef\xbb\xbf"
_STAND_IN = b"\x00"
_SLACK = 1 + tokenise.SLACK  # a newline at the end of the file, and what the scanner may read behind it
_RETURNS = "lines end in a newline: convert a file whose lines end in a carriage return alone"


def line_blocks(
    file: File,
    size: int = BLOCK,
    advance: Advance | None = None,
    max_line: int = MAX_LINE,
    max_unpacked: int | None = None,
    span: Span | None = None,
) -> Iterator[tuple[int, bytearray, int]]:
    """Yield (offset of the block in the text, buffer, bytes used); every block ends in a newline.

    The buffer is used again for the next block. It grows with the longest line, which `max_line` bounds. With
    a `span` of bytes, which begins and ends where lines do, only the lines in it are read.
    """
    buffer, held, offset, done = bytearray(size + _SLACK), 0, span[0] if span else 0, 0
    with Opened(file, max_unpacked, span, text=True) as stream:
        while True:
            if held >= (len(buffer) - _SLACK) // 2:
                buffer.extend(bytes(len(buffer)))
            got = stream.readinto(memoryview(buffer)[held:-_SLACK])
            if not got:
                break
            if advance is not None:
                here = stream.place()
                advance(here - done)
                done = here
            if held + got > max_line:  # not before: blocks are shorter than the lines that are allowed
                _check_lines(file, offset, buffer, held + got, max_line)
            end = buffer.rfind(b"\n", held, held + got) + 1
            held += got
            if end:
                yield offset, buffer, end
                offset += end
                buffer[: held - end] = buffer[end:held]
                held -= end
    if held:
        buffer[held] = ord("\n")
        yield offset, buffer, held + 1


def _check_lines(file: File, offset: int, buffer: bytearray, used: int, most: int) -> None:
    """Raise where a line among the bytes so far is longer than `most`; the last may still be open."""
    ends = np.flatnonzero(np.frombuffer(buffer, np.uint8, used) == ord("\n"))
    starts = np.concatenate(([0], ends + 1))
    lengths = np.concatenate((ends, [used])) - starts
    if lengths.max() <= most:
        return
    start = int(starts[np.argmax(lengths > most)])
    where = f"{file}:{line_at(file, offset + start)}" if file.is_file() else str(file)
    returns = buffer.find(b"\r", start, start + most) >= 0
    remedy = _RETURNS if returns else "is it text, one path per line? If so, raise max_line (--max-line)"
    raise InputError(f"{where}: a line of more than {most:,} bytes; {remedy}")


def line_at(file: File, position: int) -> int:
    """Return the number of the line that holds byte `position` of the text (only for an error)."""
    line, before = 1, 0
    with Opened(file, position + 1) as stream:
        while before < position and (block := stream.read(min(BLOCK, position - before))):
            line += block.count(b"\n")
            before += len(block)
    return line


def text_chunks(
    files: Sequence[File],
    options: ReaderOptions,
    interner: Interner,
    advance: Advance,
    block: int = BLOCK,
    span: Span | None = None,
) -> Iterator[PathChunk]:
    """Yield the paths of text files in the order they stand in, about `block` bytes at a time.

    With a `span` of bytes, only the lines in it.
    """
    for file in files:
        delimiter = (options.delimiter or " ").encode()
        scanner = _Scanner(file, delimiter, options, interner)
        blocks = line_blocks(file, block, advance, options.max_line, options.max_unpacked, span)
        for offset, buffer, used in blocks:
            if offset == 0 and file is files[0] and not (options.trailing_count or options.skip_columns):
                warn_of_odd_fields(str(file), bytes(buffer[: min(used, _HEAD)]), delimiter)
            chunk = scanner.scan(offset, buffer, used)
            if len(chunk.offsets) > 1:
                yield chunk


class _Scanner:
    """Runs the compiled scanner over the blocks of one file and words its complaints."""

    def __init__(self, file: File, delimiter: bytes, options: ReaderOptions, interner: Interner) -> None:
        self.file, self.delimiter, self.options, self.interner = file, delimiter, options, interner
        self.separator = delimiter[0] if len(delimiter) == 1 else _STAND_IN[0]
        self.seen_at = np.empty(len(interner.ends), np.int64)
        # Lines are counted when an error needs their number, by reading again; a pipe cannot be read again.
        self.lines = None if file.is_file() else 0

    def scan(self, offset: int, buffer: bytearray, used: int) -> PathChunk:
        data, used = self._bytes(offset, buffer, used)
        known = self.interner.size
        out = np.empty(used // 2 + 1, np.int32)
        # A path takes two bytes or more. Memory that is never written costs nothing; counting lines would.
        offsets = np.empty(used // 2 + 2, np.int64)
        offsets[0] = 0
        counts = np.empty(len(offsets) if self.options.trailing_count else 0, np.int64)
        start = len(_BOM) if offset == 0 and bytes(data[: len(_BOM)]) == _BOM else 0
        state = np.array([start, 0, 0, known], np.int64)
        while True:
            status = self._run(data, used, state, out, offsets, counts)
            self.interner.size = int(state[3])
            if status != tokenise.FULL:
                break
            self.interner.grow(int(data[state[0] :].tobytes().find(b"\n")))
        bad = self.interner.first_bad(known) or self._first_return(known)
        if bad is not None:
            between = bad[1].endswith(HOLDS_SEPARATOR) and self.delimiter != b"|"
            hint = ", or pass delimiter='|' (--delimiter '|') if it separates entities" if between else ""
            self._fail(offset, data[: self.seen_at[bad[0]]].tobytes(), bad[1] + hint)
        if status != tokenise.DONE:
            self._fail(offset, data[: state[0]].tobytes(), self._complaint(status, data[state[0] : used]))
        if self.lines is not None:
            self.lines += buffer.count(b"\n", 0, used)
        paths, written = int(state[1]), int(state[2])
        weights = counts[:paths] if self.options.trailing_count else None
        return PathChunk(out[:written], offsets[: paths + 1], weights)

    def _first_return(self, known: int) -> tuple[int, str] | None:
        """Return the first new name with a carriage return, the sign of lines that were not told apart."""
        first, ends = int(self.interner.ends[known]), self.interner.ends
        at = self.interner.arena[first : ends[self.interner.size]].tobytes().find(b"\r")
        if at < 0:
            return None
        code = int(np.searchsorted(ends[: self.interner.size + 1], first + at, "right")) - 1
        name = self.interner.arena[ends[code] : ends[code + 1]].tobytes().decode()
        return code, f"entity id {name[:40]!r} contains a carriage return; {_RETURNS}"

    def _bytes(self, offset: int, buffer: bytearray, used: int) -> tuple[NDArray[np.uint8], int]:
        """Return the block as an array; a delimiter of several bytes is replaced by one byte."""
        if len(self.delimiter) == 1:
            return np.frombuffer(buffer, np.uint8), used
        block = bytes(memoryview(buffer)[:used])
        if _STAND_IN in block:
            before = block[: block.index(_STAND_IN)]
            self._fail(offset, before, "a NUL byte; a delimiter of several bytes needs text without")
        block = block.replace(self.delimiter, _STAND_IN)
        return np.frombuffer(block + bytes(_SLACK), np.uint8), len(block)

    def _run(
        self,
        data: NDArray[np.uint8],
        used: int,
        state: NDArray[np.int64],
        out: NDArray[np.int32],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> int:
        names = self.interner
        if len(self.seen_at) < len(names.ends):
            self.seen_at = np.concatenate(
                [self.seen_at, np.empty(len(names.ends) - len(self.seen_at), np.int64)]
            )
        return tokenise.scan(
            data, used, self.separator, self.options.skip_columns, self.options.trailing_count,
            self.options.on_empty == "skip", state, out, offsets, counts,
            names.keys, names.codes, names.arena, names.ends, self.seen_at,
        )  # fmt: skip

    def _complaint(self, status: int, rest: NDArray[np.uint8]) -> str:
        field = bytes(rest[:80]).split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
        if status == tokenise.BAD_COUNT:
            return f"count {field!r} at the end of the line; {A_COUNT}"
        if status == tokenise.SHORT_LINE:
            return f"fewer than the {self.options.skip_columns} leading columns that skip_columns names"
        shown = "space" if self.delimiter == b" " else repr(self.delimiter.decode())
        return f"empty entity id (two delimiters, {shown}, in a row or at an end); remove it or {SKIP_EMPTY}"

    def _fail(self, offset: int, before: bytes, reason: str) -> NoReturn:
        first = line_at(self.file, offset) if self.lines is None else self.lines + 1
        line = first + before.count(b"\n")
        raise InputError(f"{self.file}:{line}: {reason}")
