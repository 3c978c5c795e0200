"""The compiled text reader against a plain one in Python: same paths, counts, complaints, lines."""

from __future__ import annotations

import gzip
import os
import re
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import FormatError, InputError
from honlearn.paths import text
from honlearn.paths.interner import Interner
from honlearn.paths.options import ReaderOptions

Read = tuple[list[tuple[str, ...]], list[int]]


class Refused(Exception):
    """A line that the plain reader does not take: its number, and what is wrong."""


def plain_reader(raw: bytes, options: ReaderOptions) -> Read:
    """Read a file by splitting lines and fields, one after another."""
    delimiter = (options.delimiter or " ").encode()
    paths, counts = [], []
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = line.removesuffix(b"\r")
        if not line:
            continue
        fields = line.split(delimiter)
        short = len(fields) < options.skip_columns
        if options.skip_columns and (short or fields[options.skip_columns - 1 :] == [b""]):
            raise Refused(number, "fewer than the")
        fields, count = fields[options.skip_columns :], b"1"
        for place, field in enumerate(fields):
            counting = options.trailing_count and place == len(fields) - 1
            if counting and not (re.fullmatch(rb"[0-9]{1,17}", field) and int(field)):
                raise Refused(number, "count '")
            if not field and options.on_empty == "error":
                raise Refused(number, "empty entity id")
            if b"\r" in field and not counting:
                raise Refused(number, "entity id ")
        if options.trailing_count and fields:
            count = fields.pop()
        path = [field for field in fields if field]
        if path:
            paths.append(path)
            counts.append(int(count))
    return [tuple(name.decode() for name in path) for path in paths], counts


def compiled_reader(file: Path, options: ReaderOptions, block: int) -> Read:
    interner = Interner()
    chunks = list(text.text_chunks([file], options, interner, lambda step=1, note="": None, block=block))
    names = interner.freeze().names
    paths, counts = [], []
    for chunk in chunks:
        ends = chunk.offsets.tolist()
        for a, b in pairwise(ends):
            paths.append(tuple(names[code] for code in chunk.codes[a:b]))
        counts += [1] * (len(ends) - 1) if chunk.counts is None else chunk.counts.tolist()
    return paths, counts


# Names on both sides of the 7 bytes that a key holds and the 8 that are read at once; 0x01 and 0x80 beside
# the delimiters are what a search by arithmetic would get wrong; NUL in a name is part of it, CR is refused.
names = st.sampled_from(
    [*"ABé!5ÿ\x00\x01\x0b\x1f", "日本", "12", "seven77", "seven78", "eight888", "nine99999", "a\x00b", "a\rb"]
)
fields = st.lists(names | st.just(""), min_size=0, max_size=6)
delimiters = st.sampled_from([" ", ",", "\t", "->", "é", "\x1f"])
line_ends = st.sampled_from(["\n", "\r\n"])


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, str]:
    """The bytes of a file and its delimiter: any line ends, blank lines, byte order mark, last line open."""
    delimiter = draw(delimiters)
    lines = draw(st.lists(st.tuples(fields, line_ends, st.sampled_from(["", "", "1", "7", "0", "x"]))))
    body = "".join(delimiter.join(row + [count] * bool(count)) + end for row, end, count in lines)
    body += draw(st.sampled_from(["", "A", f"A{delimiter}B", "\r", "A\r"]))
    raw = draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + body.encode()
    return (raw.replace(b"\x00", b"0") if len(delimiter.encode()) > 1 else raw), delimiter


@given(
    files(),
    st.integers(0, 3),
    st.booleans(),
    st.sampled_from(["error", "skip", "skip"]),
    st.sampled_from([16, 17, 31, 64, 1 << 20]),
)
@settings(max_examples=400, deadline=None)
@example((b"", " "), 0, False, "error", 16)
@example((b"\xef\xbb\xbf\nA B\r\n\r\nA", " "), 0, False, "error", 16)
@example((b"A 3\n4\nB \n", " "), 0, True, "skip", 16)
@example((b"id\nid A\nid \n", " "), 1, False, "skip", 16)
def test_reads_what_a_plain_reader_reads(
    tmp_path_factory: pytest.TempPathFactory,
    file: tuple[bytes, str],
    skip: int,
    counted: bool,
    empty: str,
    block: int,
) -> None:
    raw, delimiter = file
    options = ReaderOptions(delimiter=delimiter, skip_columns=skip, trailing_count=counted, on_empty=empty)
    path = tmp_path_factory.getbasetemp() / "paths.txt"
    path.write_bytes(raw)
    try:
        expected = plain_reader(raw, options)
    except Refused as refused:
        line, reason = refused.args
        with pytest.raises(InputError, match=re.escape(f"paths.txt:{line}: {reason}")):
            compiled_reader(path, options, block)
        return
    assert compiled_reader(path, options, block) == expected


@given(st.integers(2, 60), st.integers(1, 24), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_a_vocabulary_that_outgrows_its_table(
    tmp_path_factory: pytest.TempPathFactory, step: int, width: int, seed: int
) -> None:
    rows = [[f"{n * step:0{width}d}" for n in range(i, i + 9)] for i in range(0, 9000, 5)]
    Random(seed).shuffle(rows)
    raw = "\n".join(" ".join(row) for row in rows).encode()
    path = tmp_path_factory.getbasetemp() / "many.txt"
    path.write_bytes(raw)
    options = ReaderOptions(delimiter=" ")
    assert compiled_reader(path, options, 1 << 12) == plain_reader(raw, options)


@given(st.integers(0, 1 << 32), st.booleans(), st.sampled_from([16, 200, 1 << 12, 1 << 20]))
@settings(max_examples=60, deadline=None)
def test_lines_of_known_names_among_lines_that_are_none(
    tmp_path_factory: pytest.TempPathFactory, seed: int, faulty: bool, block: int
) -> None:
    random = Random(seed)
    known = [random.choice("abé") * random.randint(1, 12) + str(n) for n in range(random.randint(1, 40))]
    lines = []
    for n in range(400):
        line = random.choices(known, k=random.choice([1, 2, 2, 3, 3, 4, 30]))
        if n % 97 == 50:
            line.insert(random.randint(0, len(line)), random.choice([f"new{n}", "", "\r", "\x00"]))
        lines.append(" ".join(line if n % 41 else []) + random.choice(["\n", "\n", "\r\n"]))
    raw = "".join(lines).encode()
    path = tmp_path_factory.getbasetemp() / "known.txt"
    path.write_bytes(raw)
    options = ReaderOptions(delimiter=" ", on_empty="error" if faulty else "skip")
    try:
        expected = plain_reader(raw, options)
    except Refused as refused:
        with pytest.raises(InputError, match=f"known.txt:{refused.args[0]}: {refused.args[1]}"):
            compiled_reader(path, options, block)
        return
    assert compiled_reader(path, options, block) == expected


def test_a_name_and_a_line_far_longer_than_a_block(tmp_path: Path) -> None:
    raw = b"A " + b"y" * 70_000 + b" B\n" + b" ".join(b"n%d" % (i % 300) for i in range(50_000)) + b"\nA B"
    (tmp_path / "long.txt").write_bytes(raw)
    options = ReaderOptions(delimiter=" ")
    assert compiled_reader(tmp_path / "long.txt", options, 64) == plain_reader(raw, options)


@pytest.mark.parametrize("block", [16, 23, 64, 1 << 20])
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("B|C A", r"entity id 'B\|C' contains '\|'"),
        ("A B|C", r"entity id 'B\|C' contains '\|'"),
        ("A  B", r"empty entity id \(two delimiters, space, .*on_empty=\"skip\" \(--on-empty skip\)"),
        (" A B", "empty entity id"),
        ("A B ", "empty entity id"),
        ("A longer-than-eight|x B", "entity id .* contains"),
        ("A B \udcff\udcfe", r"entity id b'\\xff\\xfe' is not UTF-8 text; convert the input"),
        ("A B \udcc3", "entity id .* is not UTF-8 text"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, bad: str, reason: str, block: int) -> None:
    good = ["A B", "", "C D E\r", "name-of-many-bytes A"]
    lines = [*good * 3, bad, *good]
    path = tmp_path / "bad.txt"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=rf"bad\.txt:13: {reason}"):
        compiled_reader(path, ReaderOptions(delimiter=" "), block)


@pytest.mark.parametrize("count", ["0", "-2", "2.5", "nan", "+1", "1e3", "", "99999999999999999999", "١"])
@pytest.mark.parametrize("empty", ["error", "skip"])
def test_a_count_is_a_whole_number_whatever_empty_ids_mean(tmp_path: Path, count: str, empty: str) -> None:
    path = tmp_path / "counted.ngram"
    path.write_text(f"A,B,5\n\nA,C,{count}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"counted\.ngram:3: count '{re.escape(count)}' at the end"):
        hl.read_paths(path, trailing_count=True, on_empty=empty)


def test_lines_that_end_in_a_carriage_return_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_bytes(b"A C\rB D\r")
    with pytest.raises(
        InputError, match=r"old\.txt:1: entity id 'C\\rB' contains a carriage return; .*newline"
    ):
        hl.read_paths(path)
    with pytest.raises(
        InputError, match=r"old\.txt:1: a line of more than 5 bytes; lines end in a newline: conv"
    ):
        hl.read_paths(path, max_line=5)


def test_the_largest_count(tmp_path: Path) -> None:
    path = tmp_path / "counted.txt"
    path.write_text("A B 4611686018427387904\n")
    assert hl.read_paths(path, trailing_count=True).total == 2**62
    for count in ("4611686018427387905", "9223372036854775807", str(2**63), str(2**64 + 1), "9" * 30):
        path.write_text(f"A B {count}\n")
        with pytest.raises(
            InputError, match=rf"count '{count}' at the end .* at least 1 and at most 2\*\*62"
        ):
            hl.read_paths(path, trailing_count=True)
    path.write_text("A B 4611686018427387904\n" * 5)
    with pytest.raises(
        InputError, match=r"counted\.txt: the counts add up to more than 2\*\*62 paths; divide"
    ):
        hl.read_paths(path, trailing_count=True)


def test_compressed_text_reads_alike_and_fills_its_bar(tmp_path: Path) -> None:
    raw = b"".join(b"A%d B%d C%d\n" % (i % 7, i % 11, i % 13) for i in range(20_000))
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes(raw)
    packed.write_bytes(gzip.compress(raw[: len(raw) // 2]) + gzip.compress(raw[len(raw) // 2 :]))
    assert list(hl.read_paths(packed)) == list(hl.read_paths(plain))
    for file in (plain, packed):
        steps: list[float] = []
        for _ in text.line_blocks(file, 1 << 12, lambda step=1, note="", steps=steps: steps.append(step)):
            pass
        assert sum(steps) == file.stat().st_size
        assert len(steps) > 3


@pytest.mark.parametrize(("name", "packer"), [("a.txt.gz", gzip.compress), ("a.txt.zst", bytes)])
def test_a_file_that_cannot_be_unpacked(tmp_path: Path, name: str, packer: type[bytes]) -> None:
    path = tmp_path / name
    path.write_bytes(packer(os.urandom(4000).hex().encode())[:2000])
    with pytest.raises(FormatError, match=rf"{name}: cannot be read: .*damaged, cut short or of another"):
        hl.read_paths(path)


def test_a_file_that_the_system_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").write_text("A B\n")

    def refuse(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"secret\.txt: cannot be read: Permission denied; check its perm"):
        hl.read_paths(tmp_path / "secret.txt")


@pytest.mark.parametrize("read", [hl.read_paths, hl.load_network])
def test_a_folder_that_may_not_be_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    def refuse(*arguments: object, **options: object) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", refuse)
    with pytest.raises(InputError, match=r"away\.txt: cannot be read: Permission denied"):
        read(tmp_path / "away.txt")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def feed(pipe: Path, raw: bytes) -> threading.Thread:
    thread = threading.Thread(target=lambda: pipe.write_bytes(raw), daemon=True)
    thread.start()
    return thread


def test_a_pipe_is_read_once(pipe: Path) -> None:
    stream = hl.stream_paths(pipe, format="text")
    thread = feed(pipe, b"A B\n" * 100_000 + b"C D")
    assert sum(len(chunk.offsets) - 1 for chunk in stream.chunks()) == 100_001
    thread.join()
    with pytest.raises(InputError, match="pipe can be read only once"):
        next(stream.chunks())


def test_an_error_in_a_pipe_names_its_line(pipe: Path) -> None:
    thread = feed(pipe, b"A B\n" * 300_000 + b"A  B\n")
    with pytest.raises(InputError, match="pipe:300001: empty entity id"):
        hl.read_paths(pipe, format="text")
    thread.join()


def test_a_table_does_not_come_through_a_pipe(pipe: Path) -> None:
    with pytest.raises(InputError, match="pipe: a pipe can be read only once; save the csv data"):
        hl.read_paths(pipe, format="csv", sequence="a", entity="b")


def test_a_delimiter_of_several_bytes_needs_text_without_nul(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_bytes(b"A::B\nA::\0::C\n")
    with pytest.raises(InputError, match=r"paths\.txt:2: .*a NUL byte; a delimiter of several bytes needs"):
        hl.read_paths(tmp_path / "paths.txt", delimiter="::")
