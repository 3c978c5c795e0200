"""DB1B coupons from small files with the columns of both kinds of download."""

from __future__ import annotations

import gzip
import random
import zipfile
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from honlearn.datasets import db1b, load_folder
from honlearn.errors import FormatError, InputError, MissingFileError, ParameterError

# itinerary, sequence, origin, market, state, destination, market, state
Row = tuple[object, ...]
ROWS: list[Row] = [
    (201911, 1, "ATL", 30397, "GA", "ORD", 30977, "IL"),
    (201911, 2, "ORD", 30977, "IL", "ATL", 30397, "GA"),
    (201912, 1, "JFK", 31703, "NY", "SJU", 34819, "PR"),
    (201913, 1, "MDW", 30977, "IL", "EWR", 31703, "NJ"),
    (201913, 2, "EWR", 31703, "NJ", "MDW", 30977, "IL"),
    (201913, 3, "MDW", 30977, "IL", "YYZ", 31000, ""),
]


def ready_made(rows: Iterable[Row]) -> str:
    """The columns, order, quoting and trailing comma of the ready-made quarterly files."""
    head = '"ItinID","MktID","SeqNum","Coupons","Year","Origin","OriginAirportID","OriginCityMarketID",'
    head += '"OriginState","OriginStateName","Quarter","Dest","DestAirportID","DestCityMarketID","DestState",'
    lines = [head]
    for itin, seq, origin, market, state, dest, dest_market, dest_state in rows:
        first = f'{itin},{itin}01,{seq},2,2019,"{origin}",10397,{market},"{state}","A name, quoted",1,'
        lines.append(first + f'"{dest}",13930,{dest_market},"{dest_state}",')
    return "\n".join(lines) + "\n"


def custom(rows: Iterable[Row]) -> str:
    """The columns of the custom download, itineraries quoted."""
    head = '"ITIN_ID","SEQ_NUM","ORIGIN_CITY_MARKET_ID","ORIGIN","ORIGIN_STATE_ABR",'
    lines = [head + '"DEST_CITY_MARKET_ID","DEST","DEST_STATE_ABR",']
    for itin, seq, origin, market, state, dest, dest_market, dest_state in rows:
        lines.append(f'"{itin}",{seq},{market},"{origin}","{state}",{dest_market},"{dest}","{dest_state}",')
    return "\r\n".join(lines) + "\r\n"


def write(file: Path, text: str) -> Path:
    if file.suffix == ".zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("Origin_and_Destination_Survey_DB1BCoupon_2019_1.csv", text)
            archive.writestr("readme.html", "<html></html>")
    elif file.suffix == ".gz":
        file.write_bytes(gzip.compress(text.encode()))
    else:
        file.write_text(text, newline="")
    return file


@pytest.mark.parametrize("layout", [ready_made, custom])
@pytest.mark.parametrize("name", ["coupons.csv", "coupons.csv.gz", "coupons.zip"])
def test_both_layouts_in_every_wrapping(
    layout: Callable[[Iterable[Row]], str], name: str, tmp_path: Path
) -> None:
    data = db1b(write(tmp_path / name, layout(ROWS)))
    assert list(data.paths) == [("ATL", "ORD", "ATL"), ("JFK", "SJU"), ("MDW", "EWR", "MDW", "YYZ")]
    assert dict(data.labels) == {"ATL": "4", "EWR": "2", "JFK": "2", "MDW": "5", "ORD": "5", "SJU": "US-terr"}
    assert data.nodes is not None
    assert data.nodes.set_index("node")["state"].to_dict()["YYZ"] == ""
    assert list(data.paths.vocabulary) == sorted(data.paths.vocabulary)
    assert set(data.tally.values()) == {0}


def test_blanks_around_names_of_columns_and_values(tmp_path: Path) -> None:
    text = 'ITIN_ID, SEQ_NUM ,"ORIGIN", DEST\r\n1, 1,ATL, ORD\r\n1, 2, ORD,ATL\r\n'
    assert list(db1b(write(tmp_path / "c.csv", text)).paths) == [("ATL", "ORD", "ATL")]


def test_by_city_market(tmp_path: Path) -> None:
    data = db1b(write(tmp_path / "coupons.csv", ready_made(ROWS)), by="city_market")
    assert list(data.paths)[2] == ("30977", "31703", "30977", "31000")
    assert data.labels["31703"] == "2"
    assert data.nodes is not None
    assert data.nodes.set_index("node")["state"].to_dict()["31703"] == "NJ"
    with pytest.raises(
        ParameterError, match="'by' parameter of db1b must be one of 'airport', 'city_market'"
    ):
        db1b(tmp_path / "coupons.csv", by="city")


def test_rows_in_any_order(tmp_path: Path) -> None:
    shuffled = random.Random(3).sample(ROWS, len(ROWS))
    assert shuffled != ROWS
    data = db1b(write(tmp_path / "coupons.csv", custom(shuffled)))
    assert list(data.paths) == [("ATL", "ORD", "ATL"), ("JFK", "SJU"), ("MDW", "EWR", "MDW", "YYZ")]


def test_incomplete_itineraries_are_discarded_and_counted(tmp_path: Path) -> None:
    bad: list[Row] = [
        (21, 1, "AAA", 1, "TX", "", "", ""),
        (22, 1, "", "", "", "BBB", 2, "TX"),
        (22, 2, "BBB", 2, "TX", "ATL", 30397, "GA"),
        (23, 2, "CCC", 3, "TX", "ATL", 30397, "GA"),
        (24, 1, "CCC", 3, "TX", "ATL", 30397, "GA"),
        (24, 3, "ATL", 30397, "GA", "CCC", 3, "TX"),
        (25, 1, "ATL", 30397, "GA", "ORD", 30977, "IL"),
        (25, 1, "ATL", 30397, "GA", "JFK", 31703, "NY"),
    ]
    data = db1b(write(tmp_path / "coupons.csv", ready_made([*bad, *ROWS])))
    assert data.paths.total == 3
    assert dict(data.tally) == {
        "itineraries with a missing place": 2,
        "itineraries with a missing coupon": 3,
    }
    assert not {"AAA", "BBB", "CCC"} & set(data.paths.vocabulary)
    assert not {"AAA", "BBB", "CCC"} & set(data.labels)


def test_several_files_keep_their_itineraries_apart(tmp_path: Path) -> None:
    first = write(tmp_path / "q1.csv", ready_made(ROWS[:2]))
    second = write(tmp_path / "q2.zip", custom(ROWS[:2]))
    data = db1b([first, second])
    assert list(data.paths) == [("ATL", "ORD", "ATL")] * 2


def test_without_states_there_are_no_labels(tmp_path: Path) -> None:
    data = db1b(write(tmp_path / "c.csv", "ITIN_ID,SEQ_NUM,ORIGIN,DEST\n1,1,ATL,ORD\n"))
    assert data.labels == {}
    assert data.nodes is None
    assert list(data.paths) == [("ATL", "ORD")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ITIN_ID,SEQ_NUM,ORIGIN\n1,1,ATL\n", r"no column 'dest' .* among ITIN_ID, SEQ_NUM, ORIGIN"),
        ("ITINERARY,SEQ_NUM,ORIGIN,DEST\n", r"no column 'itinid'"),
        ("ITIN_ID,SEQ_NUM,ORIGIN,DEST\nx,1,ATL,ORD\n", r"c\.csv: damaged or not a coupon table \(.*'x'"),
        ("ITIN_ID,SEQ_NUM,ORIGIN,DEST\n1,1,ATL\n", r"c\.csv: damaged .*Expected 4 columns, got 3"),
        ("ITIN_ID,SEQ_NUM,ORIGIN,DEST\n,1,ATL,ORD\n", r"c\.csv: 1 rows have no ITIN_ID"),
        ("ITIN_ID,SEQ_NUM,ORIGIN,DEST\n", r"no complete itinerary"),
        ("", r"no column 'itinid'"),
    ],
)
def test_what_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        db1b(write(tmp_path / "c.csv", text))


def test_files_that_are_missing_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"none\.zip: no such file; download DB1BCoupon"):
        db1b(tmp_path / "none.zip")
    with pytest.raises(InputError, match="at least one DB1BCoupon file"):
        db1b([])
    (tmp_path / "bad.zip").write_bytes(b"PK nothing")
    with pytest.raises(FormatError, match=r"bad\.zip: damaged or not a zip archive"):
        db1b(tmp_path / "bad.zip")
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("readme.html", "")
    with pytest.raises(FormatError, match=r"no \.csv in the archive"):
        db1b(tmp_path / "empty.zip")
    whole = gzip.compress(ready_made(ROWS * 50).encode())
    (tmp_path / "half.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match=r"half\.csv\.gz: damaged .*download it again"):
        db1b(tmp_path / "half.csv.gz")


def test_a_real_quarter_written_as_coupons_comes_back(shared: Path, tmp_path: Path) -> None:
    """The reference excerpt of 2018 Q1, put into coupons, gives the same paths and labels again."""
    quarter = load_folder(shared / "data" / "db1b_2018q1")
    assert quarter.nodes is not None
    facts = quarter.nodes.set_index("node")
    place = {
        n: (n, m, s) for n, m, s in zip(facts.index, facts["city_market_id"], facts["state"], strict=True)
    }
    rows: list[Row] = [
        (itinerary, sequence, *place[origin], *place[dest])
        for itinerary, path in enumerate(quarter.paths)
        for sequence, (origin, dest) in enumerate(pairwise(path), 1)
    ]
    data = db1b(write(tmp_path / "coupons.zip", custom(rows)))
    assert list(data.paths) == list(quarter.paths)
    assert data.labels == quarter.labels
