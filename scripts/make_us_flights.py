"""Make the bundled US flights from their two PyPI packages; the same input always gives the same files.

In: the source distribution of honyx (``examples/US_flights.ngram``, one itinerary a line) and the wheel of
airportsdata (``airportsdata/airports.csv``): given as files, else fetched with ``pip download``; both are
checked against their SHA-256. Out, in ``src/honlearn/datasets/us_flights``: ``itineraries.parquet`` (distinct
itineraries with counts) and ``airports.csv``. The README beside them is written by hand.

    python scripts/make_us_flights.py [--honyx FILE] [--airportsdata FILE] [--output FOLDER] [--check]

``--check`` writes nothing and exits with 1 when the bundled content differs.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from honlearn.datasets.regions import federal_region

FOLDER = Path(__file__).resolve().parents[1] / "src" / "honlearn" / "datasets" / "us_flights"
COLUMNS = ("node", "name", "city", "state", "latitude", "longitude", "region")


class Package(NamedTuple):
    """A release on PyPI: what pip needs to fetch it, the file wanted from it, and its checksum."""

    requirement: str
    options: tuple[str, ...]
    member: str
    sha256: str


HONYX = Package(
    "honyx==0.1.1",
    ("--no-binary", ":all:"),
    "honyx-0.1.1/examples/US_flights.ngram",
    "980ba13fa2c7c5d53c7c6449025a63bac52c946283c16acc3efc48ca70ee12f3",
)
AIRPORTS = Package(
    "airportsdata==20260905",
    ("--only-binary", ":all:", "--python-version", "3.11"),
    "airportsdata/airports.csv",
    "d7eaa9a57d373b0adaaae0d52da2af0bb0edf73f7baa170f7c415d3342bf4868",
)

STATES = {
    "Alabama": "AL", "Alaska": "AK", "Arizona": "AZ", "Arkansas": "AR", "California": "CA", "Colorado": "CO",
    "Connecticut": "CT", "Delaware": "DE", "Florida": "FL", "Georgia": "GA", "Hawaii": "HI", "Idaho": "ID",
    "Illinois": "IL", "Indiana": "IN", "Iowa": "IA", "Kansas": "KS", "Kentucky": "KY", "Louisiana": "LA",
    "Maine": "ME", "Maryland": "MD", "Massachusetts": "MA", "Michigan": "MI", "Minnesota": "MN",
    "Mississippi": "MS", "Missouri": "MO", "Montana": "MT", "Nebraska": "NE", "Nevada": "NV",
    "New Hampshire": "NH", "New Jersey": "NJ", "New Mexico": "NM", "New York": "NY", "North Carolina": "NC",
    "North Dakota": "ND", "Ohio": "OH", "Oklahoma": "OK", "Oregon": "OR", "Pennsylvania": "PA",
    "Puerto Rico": "PR", "Rhode Island": "RI", "South Carolina": "SC", "South Dakota": "SD",
    "Tennessee": "TN", "Texas": "TX", "Utah": "UT", "Vermont": "VT", "Virgin Islands": "VI", "Virginia": "VA",
    "Washington": "WA", "West Virginia": "WV", "Wisconsin": "WI", "Wyoming": "WY",
    # Both airports of the capital stand on Virginian ground, and the survey says so.
    "District of Columbia": "VA",
}  # fmt: skip


def fetch(package: Package, given: Path | None) -> bytes:
    """Return the wanted file of `package` from the archive that was given, else from PyPI."""
    if given is not None:
        return extract(package, given)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *package.options]
        # Standard output stays free for what this script says.
        subprocess.run([*command, "--dest", folder, package.requirement], check=True, stdout=sys.stderr)
        (archive,) = Path(folder).iterdir()
        return extract(package, archive)


def extract(package: Package, archive: Path) -> bytes:
    """Return the wanted file of an archive whose checksum is right."""
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        raise SystemExit(f"{archive}: sha256 {found}, but {package.requirement} has {package.sha256}")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(package.member)
    with tarfile.open(archive) as source:
        member = source.extractfile(package.member)
        if member is None:
            raise SystemExit(f"{archive}: {package.member} is not a file")
        return member.read()


def airports_table(raw: bytes, codes: list[str]) -> bytes:
    """Return the CSV of what is known of each airport, in the order of `codes`."""
    known = {row["iata"]: row for row in csv.DictReader(io.StringIO(raw.decode())) if row["country"] == "US"}
    missing = [code for code in codes if code not in known]
    if missing:
        raise SystemExit(f"{AIRPORTS.requirement} does not know the US airports {', '.join(missing)}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for code in codes:
        row = known[code]
        state = STATES[row["subd"]]
        place = (f"{float(row['lat']):.4f}", f"{float(row['lon']):.4f}")
        writer.writerow((code, row["name"], row["city"], state, *place, federal_region(state)))
    return out.getvalue().encode()


def itineraries_table(counts: Counter[tuple[str, ...]], codes: list[str]) -> pa.Table:
    """Return the distinct itineraries in alphabetical order with their counts."""
    number = {code: i for i, code in enumerate(codes)}
    paths = sorted(counts)
    offsets = [0]
    for path in paths:
        offsets.append(offsets[-1] + len(path))
    stops = pa.array([number[stop] for path in paths for stop in path], pa.int16())
    lists = pa.ListArray.from_arrays(
        pa.array(offsets, pa.int32()), pa.DictionaryArray.from_arrays(stops, pa.array(codes))
    )
    return pa.table({"path": lists, "count": pa.array([counts[path] for path in paths], pa.int32())})


def main() -> None:
    """Fetch, make, and write or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--honyx", type=Path, help="the honyx source distribution, instead of fetching it")
    parser.add_argument("--airportsdata", type=Path, help="the airportsdata wheel, instead of fetching it")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder to write to")
    parser.add_argument("--check", action="store_true", help="only compare with what the folder holds")
    options = parser.parse_args()

    lines = fetch(HONYX, options.honyx).decode("ascii").splitlines()
    counts = Counter(tuple(line.split(",")) for line in lines)
    codes = sorted({stop for path in counts for stop in path})
    airports = airports_table(fetch(AIRPORTS, options.airportsdata), codes)
    itineraries = itineraries_table(counts, codes)

    table_file, airports_file = options.output / "itineraries.parquet", options.output / "airports.csv"
    if options.check:
        # Contents, not bytes: another pyarrow signs and compresses the same table in its own way.
        same = airports_file.read_bytes() == airports and pq.read_table(table_file).equals(itineraries)
        print(f"{options.output}: {'as made' if same else 'differs from what this script makes'}")
        raise SystemExit(0 if same else 1)
    options.output.mkdir(parents=True, exist_ok=True)
    pq.write_table(itineraries, table_file, compression="zstd", compression_level=22)
    airports_file.write_bytes(airports)
    size = table_file.stat().st_size + airports_file.stat().st_size
    sizes = f"{len(lines):,} itineraries, {len(counts):,} distinct, {len(codes)} airports, {size:,} bytes"
    print(f"{options.output}: {sizes}")


if __name__ == "__main__":
    main()
