"""Damage that knows nothing, or little, of the format: bytes, integers inside them, fields of text.

In: a generator and some bytes. Out: other bytes.
"""

from __future__ import annotations

from random import Random

INTEGERS = [0, 1, 2, 3, 7, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
INTEGERS += [-1, -2, -(2**31), -(2**62), -(2**63)]

# What a field of a text file may be replaced by.
FIELDS = [
    b"",
    b" ",
    b'"',
    b'""',
    b"\x00",
    b"\r",
    b"\t",
    b",",
    b"|",
    b"A|B",
    b"#",
    b"%20",
    b"%ff",
    b"\xff\xfe",
]
FIELDS += [
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"0",
    b"-1",
    b"1.5",
    b"1e308",
    b"1e400",
    b"-1e308",
    b"nan",
    b"inf",
]
FIELDS += [b"0x10", b"1_000", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775808"]
FIELDS += [
    b"18446744073709551616",
    b"12345678901234567890123",
    b"2024-01-01",
    b"9999-12-31T23:59:59",
    b"null",
]
FIELDS += ["\u0661".encode(), "\u2028".encode(), "e\u0301".encode(), b"x" * 5000, b"true", b"A", b"B"]


def damage_bytes(random: Random, content: bytes) -> bytes:
    """Return the bytes after one to four blind changes."""
    data = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        random.choice(_BLIND)(random, data)
    if data == content:
        data.append(0)
    return bytes(data)


def damage_integers(random: Random, content: bytes, width: int) -> bytes:
    """Return the bytes with integers of `width` bytes, at multiples of it, replaced by extreme ones."""
    data, places = bytearray(content), len(content) // width
    for _ in range(random.choice((1, 1, 2, 3)) if places else 0):
        at = random.randrange(places)
        # A rise that wraps: the differences of neighbours look fine where the values are wild.
        values = (2 ** (8 * width - 1) - 1, -2) if random.random() < 0.3 else (random.choice(INTEGERS),)
        for place, value in zip(range(at, places), values):  # noqa: B905 - the end may be near
            data[place * width : (place + 1) * width] = _little(value, width)
    return bytes(data)


def damage_text(random: Random, content: bytes) -> bytes:
    """Return a text of lines and fields after one to three changes of fields, lines or line ends."""
    lines = content.split(b"\n")
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(lines))
        roll = random.random()
        if roll < 0.6:
            mark = max((b",", b"\t", b" ", b";"), key=lines[at].count)
            fields = lines[at].split(mark)
            place = random.randrange(len(fields))
            fields[place : place + random.choice((0, 1, 1, 1, 1))] = [random.choice(FIELDS)]
            lines[at] = mark.join(fields)
        elif roll < 0.7:
            lines[at] = random.choice(lines)
        elif roll < 0.8:
            lines.insert(at, random.choice((b"", b" ", b"\r", b",", random.choice(lines))))
        elif roll < 0.9:
            del lines[at]
            lines = lines or [b""]
        else:
            # Very wide, or very long.
            lines[at] += random.choice((b",", b" ", b"\t", b",x", b" x")) * random.choice((3, 300, 30_000))
    return random.choice((b"\n",) * 9 + (b"\r\n", b"\r", b"\n\n")).join(lines)


def _little(value: int, width: int) -> bytes:
    return (value % 2 ** (8 * width)).to_bytes(width, "little")


def _flip(random: Random, data: bytearray) -> None:
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def _overwrite(random: Random, data: bytearray) -> None:
    width = random.choice((1, 2, 4, 8))
    if len(data) >= width:
        at = random.randrange(len(data) - width + 1)
        data[at : at + width] = _little(random.choice(INTEGERS), width)


def _insert(random: Random, data: bytearray) -> None:
    at = random.randrange(len(data) + 1)
    data[at:at] = random.choice((random.randbytes(random.choice((1, 4, 64))), random.choice(FIELDS)))


def _delete(random: Random, data: bytearray) -> None:
    at = random.randrange(len(data) + 1)
    del data[at : at + random.choice((1, 2, 8, 64))]


def _truncate(random: Random, data: bytearray) -> None:
    del data[random.choice((random.randrange(len(data) + 1), max(len(data) - random.randrange(9), 0))) :]


def _splice(random: Random, data: bytearray) -> None:
    start, at = random.randrange(len(data) + 1), random.randrange(len(data) + 1)
    piece = data[start : start + random.choice((4, 16, 200))]
    data[at : at + (len(piece) if random.random() < 0.5 else 0)] = piece


_BLIND = (_flip, _flip, _flip, _overwrite, _overwrite, _insert, _delete, _truncate, _splice)
