"""DB1B: airline itineraries from the coupon tables of the US Bureau of Transportation Statistics.

In: DB1BCoupon files that the user downloaded from https://transtats.bts.gov/ (``.csv``, ``.csv.gz`` or
``.zip``), with the columns of the ready-made files (``ItinID``) or of the custom download (``ITIN_ID``).
Out: a :class:`Dataset`, one path per itinerary: the origin of its first coupon, then each destination.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.datasets.dataset import Dataset
from honlearn.datasets.regions import federal_region
from honlearn.errors import FormatError, InputError, MissingFileError, check_choice, did_you_mean, listed
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary
from honlearn.progress import progress

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

LICENCE = "public domain (US government work)"
SOURCE = "US DOT BTS, DB1BCoupon, https://transtats.bts.gov/"
MISSING, BROKEN = "itineraries with a missing place", "itineraries with a missing coupon"

# Ours, then the names in the files with case and underscores taken away, in order of preference.
_PLACES = {"airport": ("origin", "dest"), "city_market": ("origincitymarketid", "destcitymarketid")}
_STATES = (("originstateabr", "originstate"), ("deststateabr", "deststate"))


@dataclass(frozen=True)
class _Coupons:
    """One file's coupons: codes of origin and destination [n] (-1 for missing)."""

    itinerary: NDArray[np.int64]
    sequence: NDArray[np.int64]
    origin: NDArray[np.int32]
    dest: NDArray[np.int32]


def db1b(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    by: str = "airport",
    show: bool | None = None,
) -> Dataset:
    """Return the itineraries of one or more DB1BCoupon files.

    Nodes are airports, or, with ``by="city_market"``, the markets that join the airports of a city (the
    paper's Air). An itinerary with a missing place or a gap in its coupons is discarded and counted in
    ``tally``. Classes are federal regions where the files have the state columns. An itinerary lies in
    one file, as in the published quarters; rows may come in any order.

    Parameters
    ----------
    files
        Coupon tables of DB1B, as downloaded.
    by
        What entities are: ``"airport"`` or ``"city_market"``.
    show
        Whether progress is shown.
    """
    check_choice("db1b", "by", by, tuple(_PLACES))
    sources = [Path(f) for f in ([files] if isinstance(files, (str, os.PathLike)) else files)]
    if not sources:
        raise InputError("db1b needs at least one DB1BCoupon file; got none")
    names: dict[str, int] = {}
    states: dict[tuple[int, str], int] = {}
    parts: list[tuple[NDArray[np.int32], NDArray[np.int64]]] = []
    tally = {MISSING: 0, BROKEN: 0}
    with progress("reading coupons", len(sources), show=show) as advance:
        for source in sources:
            for label, table, columns in _tables(source, by):
                coupons = _coded(label, table, columns, names, states)
                parts.append(_itineraries(coupons, tally))
            advance(1, source.name)
    lengths = np.concatenate([part[1] for part in parts])
    if not lengths.size:
        raise InputError(f"{listed(sources, 3)}: no complete itinerary; check the files")
    codes = np.concatenate([part[0] for part in parts])
    return _dataset(codes, lengths, list(names), states, by, tally)


def _dataset(
    codes: NDArray[np.int32],
    lengths: NDArray[np.int64],
    names: list[str],
    states: dict[tuple[int, str], int],
    by: str,
    tally: dict[str, int],
) -> Dataset:
    # Places that only discarded itineraries visit are not part of the data.
    used = np.flatnonzero(np.bincount(codes, minlength=len(names)))
    order = used[np.argsort([names[i] for i in used])]
    recode = np.full(len(names), -1, np.int32)
    recode[order] = np.arange(len(order), dtype=np.int32)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    vocabulary = Vocabulary.from_names(names[i] for i in order)
    nodes = _node_table(order, names, states)
    labels = {} if nodes is None else {n: r for n, r in zip(nodes["node"], nodes["region"], strict=True) if r}
    return Dataset(
        "db1b",
        Paths(recode[codes], offsets, vocabulary),
        labels,
        nodes,
        f"Airline itineraries of the DB1B survey by {by.replace('_', ' ')}; classes are federal regions",
        LICENCE,
        SOURCE,
        tally,
    )


def _node_table(
    order: NDArray[np.int64], names: list[str], states: dict[tuple[int, str], int]
) -> pd.DataFrame | None:
    """Return node, state, region; a market in several states takes the one with the most coupons."""
    import pandas as pd

    if not states:
        return None
    best: dict[int, tuple[int, str]] = {}
    for (place, state), count in states.items():
        best[place] = min(best.get(place, (0, "")), (-count, state))
    chosen = [best.get(int(i), (0, ""))[1] for i in order]
    regions = [federal_region(state) or "" for state in chosen]
    return pd.DataFrame({"node": [names[i] for i in order], "state": chosen, "region": regions})


def _itineraries(coupons: _Coupons, tally: dict[str, int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the flat codes of the complete itineraries and the length of each; count the others."""
    order = np.lexsort((coupons.sequence, coupons.itinerary))
    itinerary, sequence = coupons.itinerary[order], coupons.sequence[order]
    origin, dest = coupons.origin[order], coupons.dest[order]
    first = np.concatenate(([True], itinerary[1:] != itinerary[:-1])) if len(order) else np.empty(0, bool)
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(order)))
    within = np.arange(len(order)) - np.repeat(starts, sizes)
    missing = _any_in_group((origin < 0) | (dest < 0), starts)
    broken = _any_in_group(sequence != within + 1, starts) & ~missing
    tally[MISSING] += int(missing.sum())
    tally[BROKEN] += int(broken.sum())
    keep = ~(missing | broken)
    rows = np.repeat(keep, sizes)
    lengths = sizes[keep] + 1
    codes = np.empty(int(lengths.sum()), np.int32)
    heads = np.cumsum(lengths) - lengths
    tails = np.ones(len(codes), bool)
    tails[heads] = False
    codes[heads] = origin[starts[keep]]
    codes[tails] = dest[rows]
    return codes, lengths.astype(np.int64)


def _any_in_group(flags: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.logical_or.reduceat(flags, starts) if len(starts) else np.empty(0, bool)


def _coded(
    label: str,
    table: pa.Table,
    columns: dict[str, str],
    names: dict[str, int],
    states: dict[tuple[int, str], int],
) -> _Coupons:
    """Number the places of one table, adding new ones to `names`, and count their states."""
    for key in ("itinerary", "sequence"):
        empty = table[columns[key]].null_count
        if empty:
            raise FormatError(f"{label}: {empty:,} rows have no {columns[key]}; download it again")
    ends: dict[str, list[NDArray[np.int32]]] = {"origin": [], "dest": []}
    for batch in table.to_batches():
        for end, parts in ends.items():
            codes = _place_codes(batch.column(columns[end]), names)
            if f"{end}_state" in columns:
                _count_states(codes, batch.column(columns[f"{end}_state"]), states)
            parts.append(codes)
    itinerary, sequence = (table[columns[key]].to_numpy() for key in ("itinerary", "sequence"))
    origin, dest = (np.concatenate([np.empty(0, np.int32), *parts]) for parts in ends.values())
    return _Coupons(itinerary, sequence, origin, dest)


def _place_codes(column: pa.DictionaryArray, names: dict[str, int]) -> NDArray[np.int32]:
    own = [text.strip() for text in column.dictionary.to_pylist()]
    # An index of -1 stands for a null; the extra last entry answers it.
    shared = np.array([names.setdefault(text, len(names)) if text else -1 for text in own] + [-1], np.int32)
    index: NDArray[np.int32] = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return shared[index]


def _count_states(
    codes: NDArray[np.int32], column: pa.DictionaryArray, states: dict[tuple[int, str], int]
) -> None:
    own = column.dictionary.to_pylist()
    index = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    known = (codes >= 0) & (index >= 0)
    pairs, counts = np.unique(codes[known] * np.int64(max(len(own), 1)) + index[known], return_counts=True)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        key = (pair // len(own), own[pair % len(own)].strip())
        if key[1]:
            states[key] = states.get(key, 0) + count


def _tables(source: Path, by: str) -> Iterator[tuple[str, pa.Table, dict[str, str]]]:
    """Yield the coupon tables of a file, one for a CSV and one for each CSV in a zip."""
    import pyarrow as pa

    if not source.is_file():
        raise MissingFileError(f"{source}: no such file; download DB1BCoupon from https://transtats.bts.gov/")
    for label, member in _members(source):
        try:
            with _opened(source, member) as stream:
                columns = _columns(label, stream.readline(), by)
            with _opened(source, member) as stream:
                table = _parse(stream, columns)
            yield label, table, columns
        except (pa.ArrowException, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            reason = " ".join(str(error).split())
            raise FormatError(
                f"{label}: damaged or not a coupon table ({reason}); download it again"
            ) from None


def _members(source: Path) -> list[tuple[str, str | None]]:
    if source.suffix.lower() != ".zip":
        return [(str(source), None)]
    try:
        with zipfile.ZipFile(source) as archive:
            inside = [name for name in archive.namelist() if name.lower().endswith(".csv")]
    except zipfile.BadZipFile:
        raise FormatError(f"{source}: damaged or not a zip archive; download it again") from None
    if not inside:
        raise FormatError(f"{source}: no .csv in the archive; choose the DB1BCoupon table")
    return [(f"{source}/{name}", name) for name in inside]


@contextmanager
def _opened(source: Path, member: str | None) -> Iterator[IO[bytes]]:
    import gzip

    if member is not None:
        with zipfile.ZipFile(source) as archive, archive.open(member) as stream:
            yield stream
    else:
        opener: Any = gzip.open if source.suffix.lower() == ".gz" else open
        with opener(source, "rb") as stream:
            yield stream


def _columns(label: str, header: bytes, by: str) -> dict[str, str]:
    """Return our name → the file's name of each column to read."""
    found = [name.strip('"') for name in header.decode("utf-8-sig", "replace").rstrip("\r\n").split(",")]
    plain = {name.strip().replace("_", "").casefold(): name for name in found if name.strip()}
    wanted = {
        "itinerary": ("itinid",),
        "sequence": ("seqnum",),
        "origin": (_PLACES[by][0],),
        "dest": (_PLACES[by][1],),
        "origin_state": _STATES[0],
        "dest_state": _STATES[1],
    }
    columns = {
        ours: plain[next(t for t in theirs if t in plain)]
        for ours, theirs in wanted.items()
        if plain.keys() & set(theirs)
    }
    for ours in ("itinerary", "sequence", "origin", "dest"):
        if ours not in columns:
            theirs = wanted[ours][0]
            raise FormatError(
                f"{label}: no column {theirs!r} (in any case, with or without underscores) among "
                f"{listed(plain.values(), 12)}{did_you_mean(theirs, plain)}; choose the DB1BCoupon table"
            )
    return columns


def _parse(stream: IO[bytes], columns: dict[str, str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    # Dictionaries keep a quarter of 10 million coupons small.
    types: dict[str, Any] = {name: pa.dictionary(pa.int32(), pa.string()) for name in columns.values()}
    types |= {columns["itinerary"]: pa.int64(), columns["sequence"]: pa.int64()}
    return csv.read_csv(
        stream,
        convert_options=csv.ConvertOptions(
            column_types=types,
            include_columns=list(columns.values()),
            strings_can_be_null=True,
            null_values=["", "NULL"],
        ),
    )
