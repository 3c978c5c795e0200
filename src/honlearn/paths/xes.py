"""Event logs in XES (IEEE 1849) → paths: one path per trace, trace by trace, so a log may exceed memory.

In: ``.xes`` files, plain or compressed; which attribute of an event is the entity and which one orders it.
Out: chunks of paths. The XML is read by expat with handlers of our own, so that only two values of an event
are ever kept. What XML offers to an attacker is refused: a document type (and with it entities of any kind,
internal or external) is an error, nesting and the size of one tag are bounded, and so are names and what a
compressed file unpacks to. Errors name file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NoReturn
from xml.parsers import expat

import pyarrow as pa

from honlearn.errors import FormatError, InputError, did_you_mean, listed
from honlearn.paths.events import Began, Events, paths_of
from honlearn.paths.files import File
from honlearn.paths.interner import Interner
from honlearn.paths.opened import Opened
from honlearn.paths.options import ReaderOptions
from honlearn.paths.orders import TIMES, BadOrder, from_text, looks_like_number
from honlearn.paths.parts import ROWS_A_BATCH, FilePart
from honlearn.paths.paths import PathChunk
from honlearn.progress import Advance

DEFAULT_ENTITY = "concept:name"

_BLOCK = 1 << 18
_MAX_DEPTH = 64
_TRACE = "(trace)"
_ORDERS = "an order is a number, or a time such as 2024-05-31T16:20:00.000+02:00, in a trace alike"


def xes_chunks(
    files: Sequence[File],
    options: ReaderOptions,
    interner: Interner,
    advance: Advance,
    ids: list[str] | None = None,
    began: Began | None = None,
) -> Iterator[PathChunk]:
    """Yield the paths of event logs, in the order of their traces; see :func:`honlearn.read_paths`.

    `ids` is filled with the ``concept:name`` of each trace that has an event, its number from 1 without one;
    `began` is called as by :func:`honlearn.paths.events.paths_of`.
    """
    entity = options.entity or DEFAULT_ENTITY
    # The constructor checks what a user names; the trace is ours.
    named = replace(options, sequence=_TRACE, entity=entity)
    for file in files:
        log = _Log(file, named)
        log.check_keys()
        log.names = None if ids is None else {}
        yield from _file_chunks(log, named, interner, advance, began)
        if ids is not None:
            ids.extend(log.names_of_paths())


def _file_chunks(
    log: _Log, options: ReaderOptions, interner: Interner, advance: Advance, began: Began | None
) -> Iterator[PathChunk]:
    events = Events(options, interner)
    for last in log.blocks(advance):
        if len(log.entities) < ROWS_A_BATCH and not last:
            continue
        if log.closed or (last and events.codes):
            with log.guarded():
                events.read(log.rows(log.closed), None, advance)
            yield from paths_of(events, began)
            events = Events(options, interner)
        if len(log.entities) >= ROWS_A_BATCH:  # a trace that has not ended yet; only numbers stay of it
            with log.guarded():
                events.read(log.rows(len(log.entities)), None, advance)


class _Rows(FilePart):
    """Some events of a log as a table of trace, entity and order."""

    def __init__(self, log: _Log, first: int, table: pa.RecordBatch) -> None:
        super().__init__(log.file, log.options)
        self.log, self.first, self.table = log, first, table

    @property
    def columns(self) -> list[str]:
        """The trace and the keys asked for."""
        return list(self.table.schema.names)

    def read(
        self, wanted: Sequence[str], types: dict[str, Any], advance: Advance
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows."""
        yield self.table.select(list(wanted))

    def where(self, row: int) -> str:
        """Return ``file:line`` of an event; the file is read again as far as the event."""
        return f"{self.name}:{self.log.line_of(self.first + row)}"


class _Stop(Exception):
    """Raised by a handler to end the reading of a log at the event that was looked for."""


class _Log(FilePart):
    """A log while it is read: the events seen and not yet taken away, and where a trace last ended.

    `traces`, `entities` and `orders` have one item per pending event; the first `closed` of them belong to
    traces that have ended. `taken` events went before.
    """

    def __init__(self, file: File, options: ReaderOptions) -> None:
        super().__init__(file, options)
        self.traces: list[int] = []
        self.entities: list[str | None] = []
        self.orders: list[str | None] = []
        self.closed = 0
        self.taken = 0
        self.trace = -1
        self.names: dict[int, str] | None = None
        self.with_events: dict[int, None] = {}

    @property
    def columns(self) -> list[str]:
        """The keys of the first event."""
        keys: list[str] = []
        self._until(0, keys)
        return keys

    def read(self, wanted: Sequence[str], types: dict[str, Any], advance: Advance) -> NoReturn:
        """Refuse: a log is read by :meth:`blocks` and :meth:`rows`."""
        raise NotImplementedError

    def check_keys(self) -> None:
        """Raise where the first event does not have the keys asked for, with near matches of them."""
        if self.options.on_empty == "skip":
            return
        there = self.columns
        for role in ("entity", "order_by"):
            key = getattr(self.options, role)
            if there and key is not None and key not in there:
                short = [key if len(key) <= 60 else key[:57] + "…" for key in there]
                raise InputError(
                    f"{self.name}: no attribute {key!r} ({role}) in the first event"
                    f"{did_you_mean(key, there)}; there are {listed(map(repr, short), 20)}"
                )

    def names_of_paths(self) -> list[str]:
        """Return the name of each trace that became a path, in order."""
        names = self.names or {}
        return [names.get(trace, str(trace + 1)) for trace in self.with_events]

    def rows(self, n: int) -> _Rows:
        """Take away the first `n` pending events and return them as a table."""
        options = self.options
        assert options.entity is not None
        columns = {
            _TRACE: pa.array(self.traces[:n], pa.int64()),
            options.entity: pa.array(self.entities[:n], pa.large_string()),
        }
        first = self.taken
        if options.order_by is not None:  # which may be the entity itself, a number then
            columns[options.order_by] = self._ordered(self.orders[:n], first)
        table = pa.RecordBatch.from_pydict(columns)
        if self.names is not None:
            empty = zip(self.traces[:n], self.entities[:n], self.orders[:n], strict=True)
            ordered = options.order_by is not None
            self.with_events |= dict.fromkeys(t for t, name, at in empty if name and (at or not ordered))
        self.taken += n
        for pending in (self.traces, self.entities, self.orders):
            del pending[:n]
        self.closed = max(self.closed - n, 0)
        return _Rows(self, first, table)

    def _ordered(self, texts: list[str | None], first: int) -> pa.Array:
        """Return the orders as numbers or times, missing where an event has none."""
        shown = next((text for text in texts if text), "0")
        if looks_like_number(shown):
            try:
                return from_text(pa.array([(text or "").encode() for text in texts], pa.large_binary()))
            except BadOrder as error:
                self._bad_order(first + error.position, error.value)
        column = pa.array([text.strip() if text else None for text in texts], pa.large_string())
        for kind in TIMES:
            try:
                return column.cast(kind)
            except pa.ArrowInvalid:
                continue
        bad = next(i for i, text in enumerate(column) if text.as_py() and not _is_time(text, column))
        self._bad_order(first + bad, repr(column[bad].as_py()[:80]))

    def _bad_order(self, event: int, value: str) -> NoReturn:
        raise InputError(
            f"{self.name}:{self.line_of(event)}: {value} (attribute {self.options.order_by!r}); {_ORDERS}"
        )

    def line_of(self, event: int) -> int:
        """Return the line where an event starts, the first is 0; the last line read in a damaged file."""
        return self._until(event, None)

    def _until(self, event: int, keys: list[str] | None) -> int:
        parser, line = _parser(self), 0
        seen = -1

        def start(depth: int, name: str, attributes: dict[str, str]) -> None:
            nonlocal seen, line
            if depth == 3 and name == "event":
                seen += 1
                if seen <= event:
                    line = parser.CurrentLineNumber
                if (seen == event and keys is None) or seen > event:
                    raise _Stop
            elif depth == 4 and seen == event and keys is not None:
                keys.append(attributes.get("key", ""))

        _with_depth(parser, self, start)
        try:
            for _ in _fed(parser, self, None):
                pass
        except (_Stop, InputError):
            pass  # a damaged log is reported when it is read in full
        return line

    def blocks(self, advance: Advance) -> Iterator[bool]:
        """Read the log; after each block the pending events are there, True once it was the last."""
        parser = _parser(self)
        _keep_events(parser, self)
        yield from _fed(parser, self, advance)


def _is_time(text: Any, column: pa.Array) -> bool:
    """Return whether a time can be read like the first one of the column."""
    first = next(value for value in column if value.as_py())
    for kind in TIMES:
        try:
            pa.array([first.as_py(), text.as_py()], pa.large_string()).cast(kind)
            return True
        except pa.ArrowInvalid:
            continue
    return False


def _parser(log: _Log) -> expat.XMLParserType:
    """Return a parser that refuses document types, in which alone entities can be declared."""
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)

    def refused(*_: object) -> NoReturn:
        raise FormatError(
            f"{log.name}:{parser.CurrentLineNumber}: a document type (<!DOCTYPE …>), which no XES log needs "
            "and through which a file may ask for other files or all memory; remove it"
        )

    parser.StartDoctypeDeclHandler = refused
    parser.EntityDeclHandler = refused
    return parser


def _too_deep(parser: expat.XMLParserType, log: _Log) -> FormatError:
    return FormatError(
        f"{log.name}:{parser.CurrentLineNumber}: elements nested more than {_MAX_DEPTH} deep; is it an XES "
        "log?"
    )


def _check_place(parser: expat.XMLParserType, log: _Log, depth: int, name: str) -> None:
    """Raise for a root that is no log, and for an event that stands in no trace."""
    if depth == 1 and name != "log":
        raise FormatError(
            f"{log.name}:{parser.CurrentLineNumber}: the root element is <{name[:40]}>, not <log>; is it an "
            "XES log?"
        )
    if depth == 2 and name == "event" and log.options.on_empty == "error":
        raise InputError(
            f"{log.name}:{parser.CurrentLineNumber}: an event outside of a trace belongs to no path; remove "
            'it or pass on_empty="skip" (--on-empty skip)'
        )


def _with_depth(parser: expat.XMLParserType, log: _Log, seen: Any) -> None:
    """Call ``seen(depth, name, attributes)`` for each element, the root at depth 1, inside a trace or not."""
    depth = 0
    in_trace = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, in_trace
        depth += 1
        name = name.rpartition(":")[2]
        if depth <= 2:
            in_trace = depth == 2 and name == "trace"
            _check_place(parser, log, depth, name)
        if depth > _MAX_DEPTH:
            raise _too_deep(parser, log)
        if in_trace:
            seen(depth, name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler = start
    parser.EndElementHandler = end


def _keep_events(parser: expat.XMLParserType, log: _Log) -> None:
    """Append to the log one entity and one order per event; the loop that all time goes into."""
    entity_key, order_key = log.options.entity, log.options.order_by
    traces, entities, orders = log.traces, log.entities, log.orders
    depth = 0
    in_trace = in_event = False
    entity: str | None = None
    order: str | None = None

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth, in_trace, in_event, entity, order
        depth += 1
        if depth == 4:
            if in_event:
                key = attributes.get("key")
                if key == entity_key:
                    entity = attributes.get("value")
                if key == order_key:
                    order = attributes.get("value")
        elif depth == 3:
            if in_trace and (name == "event" or name.endswith(":event")):
                in_event = True
                entity = order = None
            elif in_trace and log.names is not None and attributes.get("key") == DEFAULT_ENTITY:
                log.names[log.trace] = attributes.get("value") or str(log.trace + 1)
        elif depth < 3:
            name = name.rpartition(":")[2]
            _check_place(parser, log, depth, name)
            in_trace = depth == 2 and name == "trace"
            log.trace += in_trace
        elif depth > _MAX_DEPTH:
            raise _too_deep(parser, log)

    def end(name: str) -> None:
        nonlocal depth, in_event
        depth -= 1
        if depth == 2 and in_event:
            in_event = False
            traces.append(log.trace)
            entities.append(entity)
            orders.append(order)
        elif depth == 1:
            log.closed = len(entities)

    parser.StartElementHandler = start
    parser.EndElementHandler = end


def _fed(parser: expat.XMLParserType, log: _Log, advance: Advance | None) -> Iterator[bool]:
    """Feed the file to the parser; yield after each block, True after the last.

    A tag that is not complete is parsed anew with each block, so blocks grow with it: the work stays linear,
    and a tag of more than ``max_line`` bytes is refused before it is gathered.
    """
    fed, done, most = 0, 0, log.options.max_line
    try:
        with Opened(log.file, log.options.max_unpacked) as stream:
            while block := stream.read(max(min(_BLOCK, most), fed - max(parser.CurrentByteIndex, 0))):
                parser.Parse(block, False)
                fed += len(block)
                if fed - max(parser.CurrentByteIndex, 0) > most:
                    raise InputError(
                        f"{log.name}:{parser.CurrentLineNumber}: a tag or comment of more than {most:,} "
                        "bytes; is a quotation mark left open? If not, raise max_line (--max-line)"
                    )
                here = stream.place()
                if advance is not None:
                    advance(here - done)
                done = here
                yield False
            parser.Parse(b"", True)
            yield True
    except (expat.ExpatError, LookupError, UnicodeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).partition(":")[0] if isinstance(error, expat.ExpatError) else str(error)
        raise FormatError(
            f"{log.name}:{parser.CurrentLineNumber}: not well-formed XML ({reason}); the file is damaged, "
            "cut short, of another encoding than it says, or no XES log"
        ) from error
