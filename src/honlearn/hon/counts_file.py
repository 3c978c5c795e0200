"""The file ``.counts``: the counts of all grams, so that more paths can be added to them later.

In: counts (:class:`honlearn.GramCounts`) or a file. Out: the file, or the counts. A network holds the
contexts that were kept; which ones more paths would have kept is known from all counts only. The layout is
that of :mod:`honlearn.hon.formats.container`: names in the order of their codes, and for each length m of the
grams ``newest_m``, ``count_m`` and ``first_m`` (:class:`honlearn.hon.trie.Level`). Compiled loops walk the
levels without looking, so everything that they rely on is checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, InputError, MissingFileError, did_you_mean
from honlearn.hon.formats.container import Arrays, Container, damaged
from honlearn.hon.invariants import check_names, check_offsets
from honlearn.hon.merge import MOST_STEPS
from honlearn.hon.nodes import MAX_ORDER
from honlearn.hon.trie import Level, Trie, followed_by, link_suffixes
from honlearn.paths.vocabulary import Vocabulary
from honlearn.stored import Fields
from honlearn.writing.atomic import check_writable

if TYPE_CHECKING:
    from honlearn.hon.build import GramCounts

SUFFIX = ".counts"
_FILE = Container(
    b"\x89HOC\r\n\x1a\n", 1, (1,), "honlearn counts", "honlearn grow --counts writes such files"
)


def check_counts_target(path: str | os.PathLike[str]) -> Path:
    """Return the path if counts can be written there, or raise."""
    target = Path(path)
    if target.suffix.lower() != SUFFIX:
        raise InputError(f"{target}: counts are written to files that end in {SUFFIX}; name one")
    if target.is_dir():
        raise InputError(f"{target}: is a folder; name a file")
    if not target.parent.is_dir():
        raise MissingFileError(f"{target}: the folder {target.parent} does not exist; make it first")
    check_writable(target)
    return target


def write_counts(counts: GramCounts, path: str | os.PathLike[str]) -> None:
    """Write the counts, whole or not at all; the same counts always give the same bytes."""
    target = check_counts_target(path)
    arrays: Arrays = {"names": counts.vocabulary.data, "name_offsets": counts.vocabulary.offsets}
    for m, level in enumerate(counts.levels, start=1):
        arrays |= {f"{name}_{m}": getattr(level, name) for name in _parts(m, counts.order)}
    _FILE.write(target, arrays, order=counts.order)


def load_counts(path: str | os.PathLike[str]) -> GramCounts:
    """Return the counts in a file that :meth:`honlearn.GramCounts.save` or ``honlearn grow`` wrote.

    The file is read into memory and checked.

    Parameters
    ----------
    path
        A file ``.counts``.
    """
    from honlearn.hon.build import GramCounts

    source = Path(path)
    if source.suffix.lower() == ".hon":
        raise InputError(
            f"{source}: a network holds the contexts that were kept, not the counts of all; "
            f"write counts beside it with 'honlearn grow … --counts FILE{SUFFIX}' and give these"
        )
    if not source.exists():
        near = did_you_mean(source.name, sorted(os.listdir(source.parent))) if source.parent.is_dir() else ""
        raise MissingFileError(f"{source}: no such file{near}")
    if source.is_dir():
        raise InputError(f"{source}: is a folder; name a file")
    try:
        header, arrays = _FILE.read(source, _kinds)
        order = header.integer("order", 1, MAX_ORDER)
        missing = [name for name in _kinds(header) if name not in arrays]
        if missing:
            damaged(source, f"the array {missing[0]!r} is not there")
        return GramCounts(*_checked(order, arrays))
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error.strerror or error}") from error
    except InputError as error:
        if isinstance(error, FormatError):
            raise
        damaged(source, str(error))


def _parts(length: int, order: int) -> Iterator[str]:
    """Yield what is stored of the level of this length; the rest follows from it."""
    if length > 1:
        yield "newest"
    yield "count"
    if length <= order:
        yield "first"


def _kinds(header: Fields) -> dict[str, tuple[str, ...]]:
    order = header.integer("order", 1, MAX_ORDER)
    kinds: dict[str, tuple[str, ...]] = {"names": ("|u1",), "name_offsets": ("<i8",)}
    for m in range(1, order + 2):
        kinds |= {f"{name}_{m}": ("<i4" if name == "newest" else "<i8",) for name in _parts(m, order)}
    return kinds


def _checked(order: int, arrays: Arrays) -> tuple[Trie, Vocabulary]:
    """Return the trie and the vocabulary, or raise an InputError that names what does not hold."""
    check_names(arrays["names"], arrays["name_offsets"], in_order=False)
    vocabulary = Vocabulary(arrays["names"], arrays["name_offsets"])
    size, nothing = len(vocabulary), np.empty(0, np.int64)
    newest, levels = np.arange(size, dtype=np.int32), []
    if len(arrays["count_1"]) != size:
        _refuse("count_1", f"{len(arrays['count_1']):,} counts for {size:,} entities")
    for m in range(1, order + 2):
        count = arrays[f"count_{m}"]
        _check_counts(f"count_{m}", count, len(newest), least=0 if m == 1 else 1)
        if m > order:
            levels.append(Level(newest, count, nothing, nothing, nothing))
            break
        first, below = arrays[f"first_{m}"], arrays[f"newest_{m + 1}"]
        check_offsets(f"first_{m}", first, len(below))
        if len(first) != len(newest) + 1:
            _refuse(f"first_{m}", f"{len(first) - 1:,} slices for {len(newest):,} grams")
        _check_newest(f"newest_{m + 1}", below, first, size)
        extensions = arrays[f"count_{m + 1}"]
        _check_counts(f"count_{m + 1}", extensions, len(below), least=1)
        followed = followed_by(first, extensions)
        if (followed > count).any():
            _refuse(f"count_{m}", "a gram is followed more often than it is there")
        levels.append(Level(newest, count, first, followed, nothing))
        newest = below
    _check_suffixes(levels, size)
    return link_suffixes(levels), vocabulary


def _check_counts(name: str, count: NDArray[np.int64], size: int, least: int) -> None:
    if len(count) != size:
        _refuse(name, f"{len(count):,} counts for {size:,} grams")
    if count.size and count.min() < least:
        _refuse(name, f"a count of {count.min()}, expected at least {least}")
    # Summed in float64, which cannot wrap.
    if count.sum(dtype=np.float64) >= MOST_STEPS:
        _refuse(name, "counts add up to more than 2**62")


def _check_newest(name: str, newest: NDArray[np.int32], first: NDArray[np.int64], size: int) -> None:
    if newest.size and not (newest.min() >= 0 and newest.max() < size):
        _refuse(name, f"values from {newest.min()} to {newest.max()}, expected 0 to {size - 1}")
    ascending = newest[1:] > newest[:-1]
    ascending[first[(first > 0) & (first < len(newest))] - 1] = True
    if not ascending.all():
        _refuse(name, "extensions of a gram must ascend")


def _check_suffixes(levels: list[Level], size: int) -> None:
    """Raise unless the suffix of every gram is there, at least as often as all grams that end in it.

    What is left over begins a path: f(g) − Σy f(y + g). At least as many begin with g as with any g + x.
    """
    suffix, begun = np.empty(0, np.int64), None
    for m in range(2, len(levels) + 1):
        level, below = levels[m - 1], levels[m - 2]
        if m == 2:
            suffix = level.newest.astype(np.int64)
        else:
            # The suffix of g + x is that of g, and x.
            wanted = np.repeat(suffix, np.diff(below.first)) * size + level.newest
            prefix = np.repeat(np.arange(len(levels[m - 3])), np.diff(levels[m - 3].first))
            known = prefix * size + below.newest
            suffix = np.searchsorted(known, wanted)
            there = suffix < len(known)
            if not there.all() or (known[suffix] != wanted).any():
                _refuse(f"newest_{m}", f"the last {m - 1} entities of a gram are not there by themselves")
        begins = below.count.copy()
        np.subtract.at(begins, suffix, level.count)
        if begins.size and begins.min() < 0:
            _refuse(f"count_{m}", "grams are there more often than what they end in")
        if begun is not None and (followed_by(levels[m - 3].first, begins) > begun).any():
            _refuse(f"count_{m - 1}", "more paths begin with a gram than with its first entities")
        begun = begins


def _refuse(name: str, problem: str) -> None:
    raise InputError(f"the array {name!r} is not valid: {problem}")
