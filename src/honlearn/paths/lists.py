"""Python sequences of names → paths.

In: an iterable of paths, each a sequence of names (any objects; a name is its ``str()``), and optional
counts. Out: chunks of codes, as every reader gives them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.paths.interner import BadName, Interner
from honlearn.paths.options import A_COUNT, MAX_COUNT, SKIP_EMPTY, ReaderOptions
from honlearn.paths.paths import PathChunk, Paths
from honlearn.paths.vocabulary import NULL_TEXTS, is_null

_PATHS_A_CHUNK = 1 << 16


def paths_from_lists(paths: Iterable[Sequence[object]], counts: Iterable[int] | None = None) -> Paths:
    """Return the paths of Python sequences; see :meth:`Paths.from_lists`."""
    from honlearn.paths.stream import PathStream, collect

    options = ReaderOptions()
    return collect(
        PathStream(
            lambda interner, advance: list_chunks(paths, counts, options, interner), options, "the lists"
        )
    )


def list_chunks(
    paths: Iterable[Sequence[object]],
    counts: Iterable[int] | None,
    options: ReaderOptions,
    interner: Interner,
) -> Iterator[PathChunk]:
    """Yield the paths in chunks; names get their codes in order of first appearance."""
    weights = None if counts is None else _whole_counts(counts)
    numbering: defaultdict[str, int] = defaultdict()
    numbering.default_factory = numbering.__len__
    codes_of = np.empty(0, np.int32)
    source = iter(paths)
    first = 0
    while block := list(islice(source, _PATHS_A_CHUNK)):
        block = _as_sequences(block, first)
        if options.on_empty == "skip":
            block = [[item for item in path if not _is_missing(item)] for path in block]
        offsets = np.zeros(len(block) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, block), np.int64, len(block)), out=offsets[1:])
        known = len(numbering)
        local = np.fromiter(
            map(numbering.__getitem__, map(str, chain.from_iterable(block))), np.int64, int(offsets[-1])
        )
        _refuse_missing(numbering, block, first)
        codes_of = np.concatenate((codes_of, _intern_new(numbering, known, interner, block, first)))
        share = None if weights is None else weights[first : first + len(block)]
        if weights is not None and len(weights) < first + len(block):
            raise InputError(f"more paths than the {len(weights):,} counts; give one count per path")
        yield PathChunk(codes_of[local], offsets, share)
        first += len(block)
    if weights is not None and len(weights) > first:
        raise InputError(f"{first:,} paths but {len(weights):,} counts; give one count per path")


def _whole_counts(counts: Iterable[Any]) -> NDArray[np.int64]:
    """Return counts as int64, or raise unless each is a whole number, at least 1."""
    values = counts if isinstance(counts, np.ndarray) else np.asarray(list(counts))
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        kind = "a table" if values.ndim != 1 else f"{values.dtype} values"
        raise InputError(f"counts must be one whole number per path; got {kind}")
    bad = ~(values >= 1)
    if values.dtype.kind == "f":
        bad |= (values != np.floor(values)) | (values >= 2.0**53)
    else:
        bad |= values > MAX_COUNT
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"path {row}: count {values[row].item()!r}; {A_COUNT}")
    return values.astype(np.int64)


def _as_sequences(block: list[Any], first: int) -> list[Any]:
    kinds = set(map(type, block))
    if kinds <= {list, tuple}:
        return block
    for row, path in enumerate(block, first):
        if isinstance(path, str):
            raise InputError(
                f"path {row} is a string, {_shortened(path)}; wrap it as a list of names, as in "
                "['A', 'B'], or split it"
            )
        if isinstance(path, (bytes, dict, set, frozenset)) or not hasattr(path, "__iter__"):
            kind = type(path).__name__
            raise InputError(
                f"path {row} is of type {kind}; a path is a list, tuple or array of names, in order"
            )
    return [path if hasattr(path, "__len__") else list(path) for path in block]


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 30 else text[:27] + "…")


def _is_missing(item: object) -> bool:
    return str(item) == "" or is_null(item)


def _refuse_missing(numbering: dict[str, int], block: list[Any], first: int) -> None:
    if "" not in numbering and not any(text in numbering for text in NULL_TEXTS):
        return
    for row, path in enumerate(block, first):
        for place, item in enumerate(path):
            if _is_missing(item):
                raise InputError(
                    f"path {row}, position {place}: empty entity id ({item!r}); remove it or {SKIP_EMPTY}"
                )


def _intern_new(
    numbering: dict[str, int], known: int, interner: Interner, block: list[Any], first: int
) -> NDArray[np.int32]:
    names = list(islice(numbering, known, None))
    try:
        return interner.intern_names(names)
    except BadName as error:
        name, reason = names[error.position], error.reason
    row, place = next(
        (row, place)
        for row, path in enumerate(block, first)
        for place, item in enumerate(path)
        if str(item) == name
    )
    raise InputError(f"path {row}, position {place}: {reason}")
