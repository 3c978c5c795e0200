"""The bundled flights against the reference data, and the script that makes them."""

from __future__ import annotations

import csv
import importlib.metadata
import importlib.util
from collections import Counter
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from honlearn.datasets import Dataset, us_flights
from honlearn.datasets.regions import STATES, federal_region

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "make_us_flights.py"
BUNDLED = Path(str(files("honlearn.datasets"))) / "us_flights"


@pytest.fixture(scope="module")
def flights() -> Dataset:
    return us_flights()


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_us_flights", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def counted(data: Dataset) -> Counter[tuple[str, ...]]:
    assert data.paths.counts is not None
    return Counter(dict(zip(data.paths, data.paths.counts.tolist(), strict=True)))


def test_the_same_itineraries_as_the_reference(flights: Dataset, shared: Path) -> None:
    lines = (shared / "data" / "us_flights_aa" / "paths.txt").read_text().splitlines()
    assert counted(flights) == Counter(tuple(line.split(" ")) for line in lines)


def test_the_same_labels_as_the_reference(flights: Dataset, shared: Path) -> None:
    with (shared / "data" / "us_flights_aa" / "labels.csv").open(newline="") as stream:
        assert dict(flights.labels) == {row["node"]: row["label"] for row in csv.DictReader(stream)}


def test_the_same_states_as_the_reference(flights: Dataset, shared: Path) -> None:
    assert flights.nodes is not None
    with (shared / "data" / "us_flights_aa" / "nodes.csv").open(newline="") as stream:
        expected = {row["node"]: row["state"] for row in csv.DictReader(stream)}
    assert dict(zip(flights.nodes["node"], flights.nodes["state"], strict=True)) == expected


def test_sizes_and_distinct_rows(flights: Dataset) -> None:
    assert (flights.paths.total, len(flights.paths), len(flights.paths.vocabulary)) == (286_810, 60_228, 175)
    assert len(counted(flights)) == 60_228
    assert list(flights.paths) == sorted(flights.paths)


def test_airports_have_names_and_places(flights: Dataset) -> None:
    nodes = flights.nodes
    assert nodes is not None
    assert list(nodes.columns) == [
        "node",
        "name",
        "city",
        "state",
        "latitude",
        "longitude",
        "region",
        "region_name",
    ]
    assert tuple(nodes["node"]) == flights.paths.vocabulary.names
    assert (nodes[["name", "city", "state", "region"]] != "").all().all()
    assert nodes["latitude"].between(17, 62).all()
    assert nodes["longitude"].between(-160, -64).all()
    assert nodes.set_index("node").loc["JFK", "city"] == "New York"


def test_small_enough_to_bundle_and_its_licence_beside_it() -> None:
    assert sum(file.stat().st_size for file in BUNDLED.iterdir()) < 200_000
    text = (BUNDLED / "README.md").read_text("utf-8")
    for word in ("public domain", "MIT", "honyx", "airportsdata"):
        assert word in text


def test_the_script_makes_the_bundled_table(flights: Dataset, script: ModuleType, tmp_path: Path) -> None:
    table = script.itineraries_table(counted(flights), list(flights.paths.vocabulary))
    assert table.equals(pq.read_table(BUNDLED / "itineraries.parquet"))
    for name in ("a", "b"):
        pq.write_table(table, tmp_path / name, compression="zstd", compression_level=22)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_script_makes_the_bundled_airports(flights: Dataset, script: ModuleType) -> None:
    airportsdata = pytest.importorskip("airportsdata", reason="needs the package that the airports come from")
    version = importlib.metadata.version("airportsdata")
    if not script.AIRPORTS.requirement.endswith(version):
        pytest.skip(
            f"airportsdata {version} is installed, the airports come from {script.AIRPORTS.requirement}"
        )
    raw = (Path(airportsdata.__file__).parent / "airports.csv").read_bytes()
    made = script.airports_table(raw, list(flights.paths.vocabulary))
    assert made == (BUNDLED / "airports.csv").read_bytes()


def test_the_script_refuses_another_archive(script: ModuleType, tmp_path: Path) -> None:
    archive = tmp_path / "honyx-0.1.1.tar.gz"
    archive.write_bytes(b"something else")
    with pytest.raises(SystemExit, match=r"sha256 [0-9a-f]{64}, but honyx==0\.1\.1 has 980ba13f"):
        script.fetch(script.HONYX, archive)


def test_the_script_names_unknown_airports(script: ModuleType) -> None:
    header = '"icao","iata","name","city","subd","country","elevation","lat","lon","tz","lid"\n'
    with pytest.raises(SystemExit, match="does not know the US airports ZZZ"):
        script.airports_table(header.encode(), ["ZZZ"])


def test_every_state_has_one_region() -> None:
    states = " ".join(STATES.values()).split()
    assert len(states) == len(set(states)) == 51 + 6
    assert federal_region("WA") == "10"
    assert federal_region("VI") == "US-terr"
    assert federal_region("") is None


def test_shown_in_a_notebook(flights: Dataset) -> None:
    html = flights._repr_html_()
    assert "286,810 (60,228 rows)" in html
    assert "public domain" in html
    assert "4 (27)" in html
