"""Event logs in XES: what a trace becomes, and that no file asks for more than its limits."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import honlearn as hl
from honlearn.errors import FormatError, InputError, ParameterError
from honlearn.paths import xes

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<log xmlns="http://www.xes-standard.org/">\n'
GLOBALS = '<global scope="event"><string key="concept:name" value="__INVALID__"/></global>\n'


def event(name: str, when: str = "", more: str = "") -> str:
    date = f'<date key="time:timestamp" value="{when}"/>' if when else ""
    return f'<event><string key="concept:name" value={quoteattr(name)}/>{date}{more}</event>\n'


def write(path: Path, *traces: str, head: str = HEAD) -> Path:
    path.write_text(head + GLOBALS + "".join(f"<trace>\n{t}</trace>\n" for t in traces) + "</log>\n", "utf-8")
    return path


def test_a_trace_is_a_path(tmp_path: Path) -> None:
    meta = '<string key="a" value="b"><string key="concept:name" value="not this"/></string>'
    named = '<string key="concept:name" value="case 1"/>'
    file = write(tmp_path / "log.xes", named + event("A") + event("B & C", more=meta), event("hüb"), "")
    assert list(hl.read_paths(file)) == [("A", "B & C"), ("hüb",)]
    packed = tmp_path / "log.xes.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    assert list(hl.read_paths(packed)) == [("A", "B & C"), ("hüb",)]
    # Files are read one after the other; their traces stay apart.
    assert len(hl.read_paths([file, packed])) == 4


def test_order_gaps_and_repeats(tmp_path: Path) -> None:
    day = "2024-05-31T"
    file = write(
        tmp_path / "log.xes",
        event("C", day + "12:00:00.000+02:00")  # 10:00 UTC
        + event("A", day + "08:00:00Z")
        + event("B", day + "09:00:00.1234567+00:00")
        + event("B", day + "09:30:00+00:00")
        + event("D", day + "23:00:00+00:00"),
    )
    assert list(hl.read_paths(file)) == [("C", "A", "B", "B", "D")]
    timed: dict[str, Any] = {"order_by": "time:timestamp"}
    assert list(hl.read_paths(file, **timed)) == [("A", "B", "B", "C", "D")]
    assert list(hl.read_paths(file, **timed, max_gap="1h", drop_repeats=True)) == [("A",), ("B", "C"), ("D",)]
    # 1.1234567 h lie between A and B.
    assert list(hl.read_paths(file, **timed, max_gap="61min")) == [("A", "B", "B", "C"), ("D",)]


@pytest.mark.parametrize("zone", ["", "+01:00"])
def test_times_with_and_without_a_zone_far_from_now(tmp_path: Path, zone: str) -> None:
    file = write(
        tmp_path / "l.xes",
        event("B", f"2800-01-01T00:00:00{zone}") + event("A", f"0900-01-01T00:00:00{zone}"),
    )
    assert list(hl.read_paths(file, order_by="time:timestamp")) == [("A", "B")]


def test_order_by_numbers_and_by_the_entity_itself(tmp_path: Path) -> None:
    numbered = "".join(f'<event><int key="n" value="{n}"/></event>' for n in (10, 9, -2))
    file = write(tmp_path / "log.xes", numbered)
    assert list(hl.read_paths(file, entity="n", order_by="n")) == [("-2", "9", "10")]
    assert list(hl.read_paths(file, entity="n", order_by="n", max_gap=1)) == [("-2",), ("9", "10")]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["A", "B", "ß & <é>", "x" * 300]), max_size=9), min_size=1, max_size=30
    ),
    st.sampled_from([17, 100, 1 << 18]),
    st.sampled_from([1, 3, 1 << 16]),
)
def test_the_size_of_blocks_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, paths: list[list[str]], block: int, rows: int
) -> None:
    file = write(tmp_path_factory.mktemp("xes") / "l.xes", *("".join(map(event, path)) for path in paths))
    there = [tuple(path) for path in paths if path]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xes, "_BLOCK", block)
        patch.setattr(xes, "ROWS_A_BATCH", rows)
        if there:
            assert list(hl.read_paths(file)) == there
        else:
            with pytest.raises(InputError, match="no path at all"):
                hl.read_paths(file)


def test_other_encodings_and_prefixes(tmp_path: Path) -> None:
    body = f"<x:log xmlns:x='y'><x:trace>{event('é').replace('event>', 'x:event>')}</x:trace></x:log>"
    for name, encoding in (("utf-16", "utf-16"), ("iso-8859-1", "latin-1"), ("windows-1252", "cp1252")):
        file = tmp_path / f"{name}.xes"
        file.write_bytes(f'<?xml version="1.0" encoding="{name}"?>{body}'.encode(encoding))
        assert list(hl.read_paths(file)) == [("é",)]


DOCTYPE = '<!DOCTYPE log [<!ENTITY a "ha">{}]>'
LAUGHS = "".join(f'<!ENTITY {b} "{10 * f"&{a};"}">' for a, b in zip("abcdefghi", "bcdefghij", strict=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (DOCTYPE.format(LAUGHS) + "<log>&j;</log>", r":1: a document type .*remove it"),
        ('<!DOCTYPE log SYSTEM "/etc/passwd"><log/>', r":1: a document type"),
        ('<!DOCTYPE log [<!ENTITY % x SYSTEM "http://localhost/x"> %x;]><log/>', r":1: a document type"),
        ("<log>\n<trace>" + "<a>" * 70, r":2: elements nested more than 64 deep"),
        (HEAD + "<trace>" + event("A"), r":4: not well-formed XML \(no element found\).*cut short"),
        (HEAD + "<trace>\n</log>", r":4: not well-formed XML \(mismatched tag\)"),
        ("", r":1: not well-formed XML \(no element found\)"),
        ("A B C\n", r":1: not well-formed XML \(syntax error\)"),
        ("<html></html>", r":1: the root element is <html>, not <log>"),
        (f"<log>\n{event('A')}</log>", r":2: an event outside of a trace.*--on-empty skip"),
        (
            HEAD + "<trace>\n" + event("A") + "<event/></trace></log>",
            r":5: empty entity id \(column 'concept:name'\)",
        ),
        (
            HEAD + "<trace>\n" + event("A") + event("B|C") + "</trace></log>",
            r":5: entity id 'B\|C' contains '\|'",
        ),
        (
            HEAD + "<trace>\n" + event("x" * 2000) + "</trace></log>",
            r":4: entity id of 2,000 bytes.*--max-name",
        ),
        (
            HEAD + "<trace>" + event("A" * 900_000) + "</trace></log>",
            r":\d+: a tag or comment of more than 65,536 bytes.*--max-line",
        ),
        (HEAD + "<!--" + "x" * 900_000 + "--></log>", r":\d+: a tag or comment of more than 65,536 bytes"),
        (HEAD.replace("UTF-8", "no-such") + "</log>", r":1: not well-formed XML \(unknown encoding"),
        (HEAD.replace("UTF-8", "shift_jis") + "</log>", r":1: not well-formed XML"),
        (HEAD + "<trace>" + event("A").replace("A", "\udcff") + "</trace></log>", r":3: not well-formed XML"),
    ],
)
def test_refused(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "log.xes"
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=r"log\.xes" + message):
        hl.read_paths(file, max_line=1 << 16, max_name=1000)


def test_skipped_where_told(tmp_path: Path) -> None:
    file = write(
        tmp_path / "log.xes",
        event("A") + "<event/>" + event("B") + "<event><list key='concept:name'/></event>",
    )
    assert list(hl.read_paths(file, on_empty="skip")) == [("A", "B")]


def test_keys_that_are_not_there(tmp_path: Path) -> None:
    file = write(tmp_path / "log.xes", event("A", "2024-01-01T00:00:00Z"))
    with pytest.raises(
        InputError, match=r"no attribute 'concept:nam' \(entity\).*did you mean 'concept:name'"
    ):
        hl.read_paths(file, entity="concept:nam")
    with pytest.raises(InputError, match=r"no attribute 'time' \(order_by\).*'time:timestamp'"):
        hl.read_paths(file, order_by="time")


@pytest.mark.parametrize("bad", ["soon", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00", "12"])
def test_orders_that_are_none(tmp_path: Path, bad: str) -> None:
    file = write(tmp_path / "log.xes", event("A", "2024-01-01T00:00:00Z") + event("B", bad))
    with pytest.raises(InputError, match=rf"log\.xes:6: '{bad}' \(attribute 'time:timestamp'\); an order is"):
        hl.read_paths(file, order_by="time:timestamp")
    with pytest.raises(ParameterError, match="needs a unit"):
        hl.read_paths(write(file, event("A", "2024-01-01T00:00:00Z")), order_by="time:timestamp", max_gap=3)


def test_an_attribute_of_many_megabytes_costs_no_more_than_its_size(tmp_path: Path) -> None:
    file = write(tmp_path / "log.xes", event("A", more=f'<string key="x" value="{"y" * (1 << 25)}"/>'))
    begun = time.process_time()
    assert list(hl.read_paths(file)) == [("A",)]
    assert time.process_time() - begun < 5  # parsed anew with each block it would be minutes


def test_a_bomb_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "log.xes.gz"
    file.write_bytes(gzip.compress((HEAD + " " * (1 << 25)).encode()))
    with pytest.raises(InputError, match=r"unpacks to more than 1,048,576 bytes.*--max-unpacked"):
        hl.read_paths(file, max_unpacked=1 << 20)
    with pytest.raises(FormatError, match="no element found"):
        hl.read_paths(file)
    file.write_bytes(gzip.compress(write(tmp_path / "l.xes", event("A") * 999).read_bytes())[:-30])
    with pytest.raises(InputError, match=r"log\.xes\.gz.*(cut short|damaged)"):
        hl.read_paths(file)


def test_a_network_of_a_log(tmp_path: Path) -> None:
    file = write(tmp_path / "log.xes", *[event("A") + event("B")] * 3, event("B") + event("C"))
    assert hl.grow(file, order=2, tau=1.0, min_support=1).n_edges == 2
