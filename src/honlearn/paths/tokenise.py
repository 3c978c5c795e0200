"""The compiled scanner of path text: a block of whole lines → entity codes and path offsets.

Each field is looked up in the table of the interner and its code written. Nearly all lines of a large file
hold names seen before, and these take the quick way: 64 bytes at once are compared with the delimiter and the
newline, and each bit set in the answer ends a field. Neither the length of a name nor that of a path, which
no processor can predict, costs a branch: less than half the time of the general way. That one takes a line
with a new name, an empty field or a fault, and all lines where there are leading columns or counts. It
reads eight bytes at once and finds the first delimiter or newline among them by arithmetic. The last byte of
a block is a newline with SLACK readable bytes behind it, so there is no bounds test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.hash_table import FREE
from honlearn.jit import eight_bytes, equal_bytes, njit, trailing_zeros
from honlearn.paths.interner import SHORT, add, find, hash_long
from honlearn.paths.options import MAX_COUNT

DONE, FULL, EMPTY, BAD_COUNT, SHORT_LINE = range(5)
SLACK = 64

_NEWLINE, _RETURN, _SPACE, _ZERO = 10, 13, 32, 48
_ONE = np.uint64(1)
_ONES = np.uint64(0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)


@njit(inline="always")
def zero_bytes(word: np.uint64) -> np.uint64:
    """Return a word whose lowest set bit is the top bit of the first zero byte; 0 when there is none."""
    return (word - _ONES) & ~word & _HIGHS


@njit(inline="always")
def _parse_count(data: NDArray[np.uint8], start: int, end: int) -> np.int64:
    """Return the whole number in ``data[start:end]``, or 0 for anything that is no count."""
    value = np.int64(0)
    for i in range(start, end):
        digit = np.int64(data[i]) - _ZERO
        if digit < 0 or digit > 9 or value > MAX_COUNT // 10:  # one more digit would not fit
            return np.int64(0)
        value = 10 * value + digit
    return value if value <= MAX_COUNT else np.int64(0)


@njit
def parse_counts(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the counts that the fields spell, spaces around them allowed; 0 for anything that is none."""
    out = np.empty(len(starts), np.int64)
    for i in range(len(starts)):
        start, end = starts[i], ends[i]
        while start < end and data[start] == _SPACE:
            start += 1
        while start < end and data[end - 1] == _SPACE:
            end -= 1
        out[i] = _parse_count(data, start, end)
    return out


@njit(inline="always")
def _line_start(data: NDArray[np.uint8], position: int, first: int) -> int:
    """Return where the line that holds `position` starts, not before `first`."""
    while position > first and data[position - 1] != _NEWLINE:
        position -= 1
    return position


@njit
def _scan_known(
    data: NDArray[np.uint8],
    stop: int,
    delimiter: int,
    state: NDArray[np.int64],
    out: NDArray[np.int32],
    offsets: NDArray[np.int64],
    keys: NDArray[np.uint64],
    codes: NDArray[np.int32],
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
) -> None:
    """Scan lines as long as they hold nothing but names seen before; `state` then stands at the next."""
    first, paths, written = state[0], state[1], state[2]
    start, known = first, True
    returned = np.uint64(0)
    base = first
    while base < stop and known:
        newlines = equal_bytes(data, base, _NEWLINE)
        fields = newlines | equal_bytes(data, base, delimiter)
        if stop - base < 64:
            fields &= (_ONE << np.uint64(stop - base)) - _ONE
        returns = equal_bytes(data, base, _RETURN)
        # Bit i: byte i is a newline with a carriage return before it.
        pairs = newlines & (returns << _ONE | returned)
        returned = returns >> np.uint64(63)
        while fields != np.uint64(0):
            place = trailing_zeros(fields)
            fields &= fields - _ONE
            at_end = np.int64(newlines >> place & _ONE)
            after = base + np.int64(place) + 1
            end = after - 1 - np.int64(pairs >> place & _ONE)
            length = np.uint64(end - start)
            if length <= np.uint64(SHORT):
                key = eight_bytes(data, start) & ((_ONE << (length << np.uint64(3))) - _ONE)
                key |= (length + _ONE) << np.uint64(56)
            else:
                key = hash_long(data, start, end)
            slot = find(key, data, start, end, keys, codes, arena, ends)
            if codes[slot] == FREE:
                known = False
                break
            out[np.uint64(written)] = codes[slot]
            written += 1
            offsets[np.uint64(paths + 1)] = written
            paths += at_end
            start = after
        base += 64
    if not known:
        start, written = _line_start(data, start, first), offsets[paths]
    state[0], state[1], state[2] = start, paths, written


@njit
def _scan_lines(
    data: NDArray[np.uint8],
    stop: int,
    delimiter: int,
    skip_columns: int,
    trailing_count: bool,
    skip_empty: bool,
    state: NDArray[np.int64],
    out: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    codes: NDArray[np.int32],
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
    seen_at: NDArray[np.int64],
    lines: int,
) -> int:
    """Scan `lines` lines of ``data[state[0]:stop]`` in the general way; as :func:`scan` otherwise."""
    position, paths, written, size = state[0], state[1], state[2], state[3]
    separator = np.uint8(delimiter)
    separators, newlines = np.uint64(delimiter) * _ONES, np.uint64(_NEWLINE) * _ONES
    while position < stop and lines > 0:
        lines -= 1
        line_start, line_written, column, status = position, written, 0, DONE
        count, at_end = np.int64(1), False
        while not at_end:
            start = position
            word = eight_bytes(data, start)
            is_newline = zero_bytes(word ^ newlines)
            found = is_newline | zero_bytes(word ^ separators)
            if found != np.uint64(0):
                below = trailing_zeros(found) & np.uint64(0x38)
                key = word & ((np.uint64(1) << below) - np.uint64(1))
                end = start + np.int64(below >> np.uint64(3))
                at_end = is_newline & (found ^ (found - np.uint64(1))) != np.uint64(0)
            else:
                key = word
                end = start + 8
                while data[end] != separator and data[end] != _NEWLINE:
                    end += 1
                at_end = data[end] == _NEWLINE
            position = end + 1
            if at_end and end > start and data[end - 1] == _RETURN:
                end -= 1
                key &= (np.uint64(1) << np.uint64(8 * min(end - start, 7))) - np.uint64(1)
            column += 1
            if column <= skip_columns:
                if at_end and end > line_start and not (column == skip_columns and end > start):
                    status, position = SHORT_LINE, start
                continue
            if end == start:
                if at_end and trailing_count and start > line_start:
                    status, position = BAD_COUNT, start
                    break
                if not (at_end and start == line_start) and not skip_empty:
                    status, position = EMPTY, start
                    break
                continue
            if at_end and trailing_count:
                count = _parse_count(data, start, end)
                if count == 0:
                    status, position = BAD_COUNT, start
                continue
            length = end - start
            if length <= SHORT:
                key |= np.uint64(length + 1) << np.uint64(56)
            else:
                key = hash_long(data, start, end)
            slot = find(key, data, start, end, keys, codes, arena, ends)
            if codes[slot] == FREE:
                if not add(slot, key, data, start, end, keys, codes, arena, ends, size):
                    status = FULL
                    break
                seen_at[size] = start
                size += 1
            out[written] = codes[slot]
            written += 1
        state[3] = size
        if status != DONE:
            state[0] = line_start if status == FULL else position
            state[1], state[2] = paths, line_written
            return status
        if written > line_written:
            if trailing_count:
                counts[paths] = count
            paths += 1
            offsets[paths] = written
    state[0], state[1], state[2] = position, paths, written
    return DONE


@njit
def scan(
    data: NDArray[np.uint8],
    stop: int,
    delimiter: int,
    skip_columns: int,
    trailing_count: bool,
    skip_empty: bool,
    state: NDArray[np.int64],
    out: NDArray[np.int32],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    codes: NDArray[np.int32],
    arena: NDArray[np.uint8],
    ends: NDArray[np.int64],
    seen_at: NDArray[np.int64],
) -> int:
    """Scan ``data[state[0]:stop]``; return why it stopped.

    `state` holds position, paths, codes written, names: on FULL it stands at the start of the line that found
    no room, so the caller makes room and calls again; on an error its position is that of the bad field.
    `seen_at[code]` is where in the block each new name first stood.
    """
    plain = skip_columns == 0 and not trailing_count
    status = DONE
    while status == DONE and state[0] < stop:
        if plain:
            _scan_known(data, stop, delimiter, state, out, offsets, keys, codes, arena, ends)
        status = _scan_lines(
            data, stop, delimiter, skip_columns, trailing_count, skip_empty, state, out, offsets, counts,
            keys, codes, arena, ends, seen_at, 1 if plain else stop,
        )  # fmt: skip
    return status
