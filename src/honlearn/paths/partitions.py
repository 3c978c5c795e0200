"""Files in parts that can be read apart: byte ranges of text, row groups of Parquet, else whole files.

In: a stream of files. Out: partitions in the order of the stream, small values that are sent to a worker and
read there. Read one after another they give the paths of the stream, in its order. An event table whose rows
belong together wherever they stand, a pipe and a compressed file have no such parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from honlearn.paths.files import File, compression_of, unreadable
from honlearn.paths.interner import Interner
from honlearn.paths.opened import Span
from honlearn.paths.options import LOG_FORMATS, TEXT_FORMATS, ReaderOptions
from honlearn.paths.paths import PathChunk
from honlearn.paths.source import text_options
from honlearn.paths.stream import PathStream
from honlearn.progress import Advance

# A worker should not start for less, nor hold more, nor repeat more when it dies.
LEAST_BYTES, MOST_BYTES = 1 << 22, 1 << 27
_LOOK = 1 << 16


@dataclass(frozen=True)
class Partition:
    """A part of a file: `span` is a range of bytes of text or of row groups of Parquet; None is all of it."""

    file: File
    kind: str
    options: ReaderOptions
    span: Span | None = None

    def stream(self) -> PathStream:
        """Return the paths of this part; there may be none."""
        return PathStream(self._chunks, self.options, self.file.name, show=False, may_be_empty=True)

    def _chunks(self, interner: Interner, advance: Advance) -> Iterator[PathChunk]:
        if self.kind in TEXT_FORMATS:
            from honlearn.paths.text import text_chunks

            options = text_options(self.kind, self.options)
            return text_chunks([self.file], options, interner, advance, span=self.span)
        if self.kind in LOG_FORMATS:
            from honlearn.paths.xes import xes_chunks

            return xes_chunks([self.file], self.options, interner, advance)
        from honlearn.paths.rows import row_chunks
        from honlearn.paths.tables import open_part

        part = open_part(self.file, self.kind, self.options, self.span)
        return row_chunks([part], self.options, interner, advance)


def partitions_of(stream: PathStream, n_workers: int) -> list[Partition] | None:
    """Return the parts of a stream, about two for each worker or more; None where it has none."""
    if stream.files is None or stream.once:
        return None
    files, kind = stream.files
    options = stream.options
    if kind not in (*TEXT_FORMATS, *LOG_FORMATS):
        from honlearn.paths.jsonl import with_lines
        from honlearn.paths.tables import open_part

        options = with_lines([open_part(files[0], kind, options)], options)
        if options.path_column is None:
            return None
    try:
        total = sum(file.stat().st_size for file in files)
    except OSError as error:
        raise unreadable(files[0], error) from error
    size = min(max(total // (2 * n_workers) + 1, LEAST_BYTES), MOST_BYTES)
    return [
        Partition(file.absolute(), kind, options, span)
        for file in files
        for span in _spans(file, kind, options, size)
    ]


def _spans(file: File, kind: str, options: ReaderOptions, size: int) -> list[Span] | list[None]:
    """Return the parts of one file, each about `size` bytes of it; None for all of it."""
    whole = file.stat().st_size
    if whole <= size or compression_of(file) is not None:
        return [None]
    if kind in TEXT_FORMATS:
        return _line_spans(file, whole, size)
    if kind == "parquet":
        from honlearn.paths.parts import ParquetPart

        groups = len(ParquetPart(file, options).group_rows())
        parts = max(min(-(-whole // size), groups), 1)
        edges = [groups * i // parts for i in range(parts + 1)]
        return [(a, b) for a, b in pairwise(edges)]
    return [None]


def _line_spans(file: File, whole: int, size: int) -> list[Span]:
    """Return ranges of bytes that begin and end where lines do."""
    parts = -(-whole // size)
    edges = [0]
    try:
        with file.open("rb", buffering=0) as stream:
            for i in range(1, parts):
                edge = max(whole * i // parts, edges[-1])
                # A line that starts exactly at the boundary is part of the next block.
                stream.seek(edge - 1)
                edge -= 1
                while block := stream.read(_LOOK):
                    at = block.find(b"\n")
                    if at >= 0:
                        edge += at + 1
                        break
                    edge += len(block)
                edges.append(edge)
    except OSError as error:
        raise unreadable(file, error) from error
    edges.append(whole)
    return [(a, b) for a, b in pairwise(edges) if a < b]
