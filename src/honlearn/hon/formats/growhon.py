"""The edge list that GrowHON writes: ``source target weight``, one edge per line, labels like ``C|B|A``.

In: a network or a ``.txt`` file. Out: the file, or the network in it. Ids without white space are written
exactly as GrowHON writes them. Where an id holds white space or a control character, the file starts with
the line :data:`MARK` and in every id of that file those characters and ``%`` are percent-encoded as UTF-8
(a space is ``%20``). Without that line nothing is decoded: an id ``a%20b`` from elsewhere stays what it is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from honlearn.errors import FormatError, InputError, first_line
from honlearn.hon.edgelist import from_edges
from honlearn.hon.formats.rows import edge_rows
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import SEPARATOR
from honlearn.stored.parse import shown
from honlearn.writing.atomic import atomic_text

MARK = "# honlearn: white space and % in ids are percent-encoded"
COLUMNS = ["source", "target", "weight"]

# Read at a time; no line is longer.
_BLOCK = 1 << 24

_UNSAFE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff]")
_ESCAPED = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ufeff%]")


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the edges in node order."""
    labels = network.nodes.all
    marked = any(_UNSAFE.search(name) for name in network.vocabulary.names)
    if marked:
        labels = tuple(_ESCAPED.sub(lambda found: quote(found[0], safe=""), label) for label in labels)
    with atomic_text(path) as file:
        if marked:
            file.write(MARK + "\n")
        for rows in edge_rows(network):
            file.write("".join([f"{labels[a]} {labels[b]} {weight!r}\n" for a, b, weight in rows]))


def read(path: Path) -> HigherOrderNetwork:
    """Return the network in an edge list; fields are separated by one space or one tab."""
    with open(path, "rb") as file:
        first = file.readline(_BLOCK).removeprefix(b"\xef\xbb\xbf")
    marked = first.decode("utf-8", "replace").rstrip("\r\n") == MARK
    delimiter = "\t" if b"\t" in first and not marked else " "
    table = _columns(path, delimiter, marked)
    if not len(table):
        raise FormatError(f"{path}: no edge in the file; expected lines of source, target and weight")
    source, target = table["source"], table["target"]
    if marked:
        source, target = _unescaped(source, path), _unescaped(target, path)
    try:
        weight = _weights(table["weight"], path)
        return from_edges(source, target, weight, where=lambda row: _place(path, row))
    except InputError as error:
        text = str(error)
        raise FormatError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def _columns(path: Path, delimiter: str, marked: bool) -> pa.Table:
    options: dict[str, Any] = {
        "read_options": pyarrow.csv.ReadOptions(
            column_names=COLUMNS, skip_rows=int(marked), block_size=_BLOCK
        ),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=delimiter, quote_char=False, double_quote=False),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(COLUMNS, pa.string()), strings_can_be_null=False
        ),
    }
    try:
        return pyarrow.csv.read_csv(path, **options)
    except pa.ArrowException as error:
        if path.stat().st_size == 0 or "Empty CSV" in str(error):
            raise FormatError(
                f"{path}: no edge in the file; expected lines of source, target and weight"
            ) from None
        _explain(path, delimiter, error)


def _explain(path: Path, delimiter: str, error: pa.ArrowException) -> NoReturn:
    """Find the first line that is not an edge and raise an error that names it."""
    with open(path, "rb") as file:
        for number, raw in enumerate(iter(lambda: file.readline(_BLOCK), b""), 1):
            if len(raw) == _BLOCK:
                raise FormatError(f"{path}:{number}: a line of more than {_BLOCK:,} bytes") from None
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise FormatError(f"{path}:{number}: not UTF-8; save the file as UTF-8") from None
            fields = line.split(delimiter)
            if line and line != MARK and len(fields) != len(COLUMNS):
                name = "tab" if delimiter == "\t" else "space"
                raise FormatError(
                    f"{path}:{number}: expected 3 fields (source, target, weight) separated by one {name}, "
                    f"got {len(fields)}; a file of paths is grown first (honlearn grow)"
                ) from None
    raise FormatError(f"{path}: not an edge list of source, target and weight: {first_line(error)}") from None


def _weights(column: pa.ChunkedArray, path: Path) -> Any:
    # Arrow takes 0x10 for 16, and so would an id in the place of a weight go unseen.
    if not any(pc.any(pc.match_substring(column, x)).as_py() for x in "xX"):
        for kind in (pa.int64(), pa.float64()):
            try:
                return column.cast(kind)
            except pa.ArrowInvalid:
                continue
    texts = column.to_pylist()
    row = next(i for i, text in enumerate(texts) if not _is_number(text))
    raise InputError(
        f"{_place(path, row)}: weight {shown(texts[row])} is not a number; a line holds source, target, "
        "weight, and a file of paths is grown first (honlearn grow)"
    )


def _is_number(text: str) -> bool:
    if "x" in text.lower():
        return False
    try:
        pa.scalar(text).cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _unescaped(column: pa.ChunkedArray, path: Path) -> pa.Array:
    """Decode the percent-encoded labels, each distinct one once."""
    encoded = column.combine_chunks().dictionary_encode()
    names = []
    for code, label in enumerate(encoded.dictionary.to_pylist()):
        try:
            name = unquote(label, errors="strict")
        except UnicodeDecodeError:
            name = ""
        if name.count(SEPARATOR) != label.count(SEPARATOR) or (label and not name):
            row = encoded.indices.index(code).as_py()
            raise FormatError(
                f"{_place(path, row)}: the label {shown(label)} cannot be decoded; write the file again"
            )
        names.append(name)
    return pa.array(names, pa.large_string()).take(encoded.indices)


def _place(path: Path, row: int) -> str:
    """Return ``file:line`` of the edge `row`, counted from 0: blank lines and the mark are no edges."""
    with open(path, "rb") as file:
        seen = -1
        for number, line in enumerate(file, 1):
            seen += bool(line.strip(b"\r\n")) and line.strip().decode("utf-8", "replace") != MARK
            if seen == row:
                return f"{path}:{number}"
    return f"{path}"
