"""From an edge list with labels to a network in canonical order: where every reader of edges ends.

In: columns of source label, target label and weight, in any order. Out: a :class:`HigherOrderNetwork`.
All work is on columns: labels become integers once, and contexts are taken apart on distinct labels only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from honlearn.errors import InputError, first_line
from honlearn.hon.network import HigherOrderNetwork, Weights
from honlearn.hon.nodes import MAX_ORDER, SEPARATOR
from honlearn.paths.vocabulary import Vocabulary, is_null
from honlearn.stored.parse import shown

Where = Callable[[int], str]


def from_edges(
    source: Iterable[Any],
    target: Iterable[Any],
    weight: Iterable[Any] | None = None,
    *,
    nodes: Iterable[Any] = (),
    where: Where | None = None,
) -> HigherOrderNetwork:
    """Return the network with these edges; each column may be a list, NumPy, Arrow, pandas or Polars column.

    Labels are ``C|B|A``, newest entity first; `weight` None means 1 each. Weights stay exact integers where
    all are whole, else float64. `nodes` are labels that the network has, whether an edge does or not. An edge
    is given once. `where` turns a row number into the place that an error names.

    Parameters
    ----------
    source, target
        The two ends of each edge; a context is written newest first, ``"C|A"``.
    weight
        The weight of each edge; None is 1 for all.
    nodes
        Names of entities, those without edges among them.
    where
        What errors call the place of an edge, from its row: a function; None counts edges from 0.

    Examples
    --------
    >>> from_edges(["A", "C|A"], ["C|A", "D"], [3, 2]).to_pandas().values.tolist()
    [['A', 'C|A', 3], ['C|A', 'D', 2]]
    """
    where = where or (lambda row: f"edge {row}")
    columns = [_labels(source, "source", where), _labels(target, "target", where)]
    rows, other = (len(codes) for _, codes in columns)
    if rows != other:
        raise InputError(f"{rows:,} sources but {other:,} targets; give one of each per edge")
    values = np.ones(rows, np.int64) if weight is None else _weights(weight, where)
    if len(values) != rows:
        raise InputError(f"{rows:,} edges but {len(values):,} weights; give one weight per edge")
    further = _labels(nodes, "nodes", lambda row: f"node {row}")
    labels, codes = _joined(*columns, further)
    vocabulary, offsets, grams = _grams(labels, codes, lambda i: _place(i, rows, where))
    node, gram_offsets, flat = _canonical_nodes(offsets, grams, len(vocabulary))
    ends = node[codes]
    sources, targets = ends[:rows], ends[rows : 2 * rows]
    order = np.lexsort((targets, sources))
    again = _repeated(sources, targets, order)
    if again is not None:
        names = [labels[int(codes[i])].as_py() for i in (again, again + rows)]
        edge = " → ".join(map(shown, names))
        raise InputError(f"{where(again)}: the edge {edge} is there twice; give each edge once")
    degree = np.bincount(sources, minlength=len(gram_offsets) - 1)
    indptr = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    return HigherOrderNetwork(vocabulary, gram_offsets, flat, indptr, targets[order], values[order])


def _place(position: int, rows: int, where: Where) -> str:
    """Return the place of a label among the sources, then the targets, then the further nodes."""
    return where(position % rows) if position < 2 * rows else f"node {position - 2 * rows}"


def _labels(column: Iterable[Any], name: str, where: Where) -> tuple[pa.Array, NDArray[Any]]:
    """Return the labels of a column, as Arrow strings, and the number of each row's label among them.

    A label of another type is taken by its text. Rows stay numbers from here on: a column in which one label
    stands a million times holds it once.
    """
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        array: Any = column
    elif hasattr(column, "__arrow_c_stream__"):
        array = pa.chunked_array(column)
    else:
        try:
            array = pa.array([None if is_null(x) else str(x) for x in column], pa.large_string())
        except UnicodeEncodeError as error:
            raise InputError(f"the {name} column: a label is not valid Unicode ({error.reason})") from None
    array = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    if pa.types.is_nested(array.type):
        raise InputError(f"the {name} column holds {_kind(array)}; labels are UTF-8 text or whole numbers")
    _validate(array, name)
    try:
        array = _encoded(array)
        if array.null_count:
            row = pc.index(pc.is_null(array), True).as_py()
            raise InputError(f"{where(row)}: no {name}; give the label of a node")
        chunks = [chunk.indices.to_numpy(zero_copy_only=False) for chunk in array.chunks]
        labels = array.chunk(0).dictionary if chunks else pa.array([], pa.large_string())
        return labels.cast(pa.large_string()), np.concatenate([np.empty(0, np.int8), *chunks])
    except pa.ArrowException as error:
        raise InputError(
            f"the {name} column of {_kind(array)}: {first_line(error)}; labels are UTF-8 text"
        ) from None


def _encoded(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column with one dictionary for all its chunks, in which no value is missing."""
    if pa.types.is_dictionary(array.type):
        array = array.unify_dictionaries() if array.num_chunks > 1 else array
        if not array.num_chunks or not array.chunk(0).dictionary.null_count:
            return array
    # Arrow encodes all chunks with one dictionary.
    return array.cast(pa.large_string()).dictionary_encode()


def _joined(*columns: tuple[pa.Array, NDArray[Any]]) -> tuple[pa.Array, NDArray[np.int32]]:
    """Return the distinct labels that some row has, and the numbers of the rows, column after column."""
    labels = pa.concat_arrays([found for found, _ in columns]).dictionary_encode()
    number = labels.indices.to_numpy(zero_copy_only=False)
    splits = np.cumsum([len(found) for found, _ in columns])[:-1]
    parts = np.split(number, splits)
    codes = np.concatenate([part[rows] for part, (_, rows) in zip(parts, columns, strict=True)])
    used = np.bincount(codes, minlength=len(labels.dictionary)) > 0
    if used.all():
        return labels.dictionary, codes
    place = (np.cumsum(used) - 1).astype(np.int32)
    return labels.dictionary.filter(pa.array(used)), place[codes]


def _validate(array: pa.ChunkedArray, name: str) -> None:
    """Raise unless offsets, dictionary indices and UTF-8 are right; the column may be from anywhere."""
    try:
        array.validate(full=True)
    except (pa.ArrowException, UnicodeError) as error:
        raise InputError(
            f"the {name} column of {_kind(array)} is damaged: {first_line(error)}; write it again"
        ) from None


def _kind(array: pa.ChunkedArray) -> str:
    text = str(array.type.value_type if pa.types.is_dictionary(array.type) else array.type)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _weights(weight: Iterable[Any], where: Where) -> Weights:
    """Return weights as int64 where all are whole, else float64, or raise for one that is no weight."""
    array = _numeric(weight)
    if array.dtype.kind not in "iuf":
        raise InputError(f"the weight column holds {array.dtype}; weights are numbers above 0")
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise InputError(
            f"{where(int(array.argmax()))}: weight {array.max()} does not fit in 64 bits; divide all"
        )
    good = np.isfinite(array) & (array > 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(f"{where(row)}: weight {array[row]:g}; an edge's weight is a finite number above 0")
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        whole = array.size == 0 or (array.max() < 2**53 and bool((array == np.floor(array)).all()))
        return array.astype(np.int64) if whole else array
    return array.astype(np.int64)


def _numeric(weight: Iterable[Any]) -> NDArray[Any]:
    if isinstance(weight, (pa.Array, pa.ChunkedArray)):
        array: Any = weight if isinstance(weight, pa.ChunkedArray) else pa.chunked_array([weight])
        _validate(array, "weight")
        kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise InputError(f"the weight column holds {_kind(array)}; weights are numbers above 0")
        # NumPy turns a missing value into NaN, which the caller refuses by row.
        return np.asarray(array.cast(kind).to_numpy())
    return np.asarray(weight if hasattr(weight, "__array__") else list(weight))


def _grams(
    labels: pa.Array, codes: NDArray[np.int32], where: Where
) -> tuple[Vocabulary, NDArray[np.int64], NDArray[np.int32]]:
    """Take distinct labels apart: the sorted vocabulary, and each label's gram as offsets and codes."""
    parts = pc.split_pattern(labels, SEPARATOR)
    offsets = np.asarray(parts.offsets, np.int64)
    longest = int(np.argmax(np.diff(offsets))) if len(labels) else 0
    if len(labels) and offsets[longest + 1] - offsets[longest] > MAX_ORDER:
        row = int(np.argmax(codes == longest))
        size = offsets[longest + 1] - offsets[longest]
        raise InputError(f"{where(row)}: a label of {size:,} entities; there may be at most {MAX_ORDER:,}")
    names = parts.flatten().dictionary_encode()
    empty = pc.index(pc.equal(pc.binary_length(names.dictionary), 0), True).as_py()
    entity = names.indices.to_numpy(zero_copy_only=False)
    if empty >= 0:
        label = int(np.searchsorted(offsets, np.flatnonzero(entity == empty)[0], "right")) - 1
        row = int(np.argmax(codes == label))
        text = labels[label].as_py()
        problem = f"the label {shown(text)} has an empty part" if text else "an empty id"
        raise InputError(f"{where(row)}: {problem}; every entity needs a name")
    order = pc.array_sort_indices(names.dictionary.cast(pa.large_binary())).to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return _vocabulary(names.dictionary.take(pa.array(order))), offsets, rank[entity]


def _vocabulary(names: pa.Array) -> Vocabulary:
    """Return Arrow strings as a vocabulary, bytes and offsets as they are."""
    names = pa.concat_arrays([names.cast(pa.large_string())])
    _, offsets, data = names.buffers()
    start = names.offset
    ends = (
        np.frombuffer(offsets, np.int64)[start : start + len(names) + 1]
        if len(names)
        else np.zeros(1, np.int64)
    )
    raw = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return Vocabulary(raw[ends[0] : ends[-1]].copy(), ends - ends[0])


def _canonical_nodes(
    offsets: NDArray[np.int64], grams: NDArray[np.int32], entities: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
    """Number the nodes canonically: the node of each label, and the grams (offsets, codes) of all nodes."""
    lengths = np.diff(offsets)
    base = grams[offsets[:-1]] if len(lengths) else grams
    conditional = np.flatnonzero(lengths > 1)
    # Labels of one length at a time: columns for all would take the longest label's length for each.
    rank = np.zeros(len(lengths), np.int64)
    for length in np.unique(lengths[conditional]).tolist():
        these = np.flatnonzero(lengths == length)
        columns = [grams[offsets[these] + depth] for depth in range(length - 1, 0, -1)]
        rank[these[np.lexsort(columns)]] = np.arange(len(these))
    keys = [rank[conditional], lengths[conditional], base[conditional]]
    ordered = conditional[np.lexsort(keys)]
    node = base.astype(np.int32)
    node[ordered] = entities + np.arange(len(ordered), dtype=np.int32)
    sizes = lengths[ordered]
    gram_offsets = np.concatenate([np.arange(entities), entities + np.concatenate([[0], np.cumsum(sizes)])])
    within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    flat = grams[np.repeat(offsets[:-1][ordered], sizes) + within]
    return node, gram_offsets.astype(np.int64), np.concatenate([np.arange(entities, dtype=np.int32), flat])


def _repeated(source: NDArray[np.int32], target: NDArray[np.int32], order: NDArray[np.int64]) -> int | None:
    """Return the first row whose edge an earlier row has, given the rows sorted by edge, or None."""
    before, after = order[:-1], order[1:]
    twice = (source[before] == source[after]) & (target[before] == target[after])
    return int(after[twice].min()) if twice.any() else None
