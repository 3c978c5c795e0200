"""Paths at addresses: an S3 server on loopback that Arrow's client reads, and files of this machine."""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import object_store
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import honlearn as hl
from honlearn.cli import main
from honlearn.errors import InputError, MissingFileError
from honlearn.executors.here import Here
from honlearn.paths import partitions
from honlearn.paths.files import find_files
from honlearn.paths.partitions import partitions_of
from honlearn.paths.source import stream_paths

COLUMN = {"path_column": "path"}


class Wide(Here):
    """Three workers, all of them this process."""

    n_workers = 3


def rows() -> list[list[str]]:
    rng = np.random.default_rng(3)
    return [[f"n{i}" for i in rng.integers(0, 12, rng.integers(2, 7))] for _ in range(400)]


def objects() -> dict[str, bytes]:
    """Return the same paths in every format."""
    text = "".join(" ".join(row) + "\n" for row in rows()).encode()
    half = text.index(b"\n", len(text) // 2) + 1
    table = io.BytesIO()
    pq.write_table(pa.table({"path": rows()}), table, row_group_size=90)
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        stream.write(text)
    return {
        "paths.txt": text,
        "packed/paths.txt.gz": gzip.compress(text),
        "packed/paths.txt.zst": packed.getvalue().to_pybytes(),
        "days/2024/a.txt": text[:half],
        "days/2025/b.txt": text[half:],
        "paths.csv": b"path\n" + text,
        "paths.parquet": table.getvalue(),
        "paths.jsonl": "".join(json.dumps(row) + "\n" for row in rows()).encode(),
    }


@pytest.fixture(scope="module", autouse=True)
def store() -> Iterator[str]:
    with (
        object_store.serving({"trips": objects(), "empty": {}}) as address,
        pytest.MonkeyPatch.context() as env,
    ):
        env.setenv("AWS_ENDPOINT_URL", address)
        env.setenv("AWS_ACCESS_KEY_ID", "user")
        env.setenv("AWS_SECRET_ACCESS_KEY", "word")
        env.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield address


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("paths.txt", {}),
        ("packed/paths.txt.gz", {}),
        ("packed/paths.txt.zst", {}),
        ("days/*/*.txt", {}),
        ("days/**/[ab].txt", {}),
        ("paths.csv", COLUMN),
        ("paths.parquet", COLUMN),
        ("paths.jsonl", {}),
    ],
)
def test_every_format_here_and_on_an_executor(
    name: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    local = hl.grow(rows(), 2, tau=1.0)
    assert hl.grow(f"s3://trips/{name}", 2, tau=1.0, **options) == local
    monkeypatch.setattr(partitions, "LEAST_BYTES", 1 << 10)
    assert hl.grow(f"s3://trips/{name}", 2, tau=1.0, executor=Wide(), **options) == local


def test_large_objects_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "LEAST_BYTES", 1 << 10)
    for name, options in (("paths.txt", {}), ("paths.parquet", COLUMN)):
        parts = partitions_of(stream_paths(f"s3://trips/{name}", **options), 3) or []
        assert len(parts) >= 3
        assert pickle.loads(pickle.dumps(parts)) == parts
        assert str(parts[0].file) == f"s3://trips/{name}"


def test_errors_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(address: str, kind: type[InputError] = InputError) -> str:
        with pytest.raises(kind, match=r"^\S+://") as caught:
            hl.grow(address)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no such bucket" in said("s3://nowhere/paths.txt", MissingFileError)
    assert "no such bucket" in said("s3://nowhere/*.txt")
    assert "no such file; did you mean 'paths.txt'?" in said("s3://trips/path.txt", MissingFileError)
    assert "no file matches the pattern" in said("s3://trips/*.xes", MissingFileError)
    assert "is a folder; name a file in it" in said("s3://trips/days")
    assert "names no file; an address is s3://BUCKET/FILE" in said("s3://trips")
    assert "a pattern needs a bucket" in said("s3://*/paths.txt")
    assert "no access; set the credentials" in said("s3://secret/paths.txt")
    assert "no access; set the credentials" in said("s3://secret/*.txt")
    assert "no files are read from ftp:// addresses; use s3://" in said("ftp://host/paths.txt")
    bad = "s3://trips/paths.txt?endpoint_override=127.0.0.1:9&scheme=http"
    assert "the store does not answer" in said(bad)


def test_errors_tell_no_secret_of_an_address() -> None:
    for address in ("s3://id:top@trips", "s3://id:top@*/a.txt", "ftp://me:top@host/a.txt?key=top"):
        with pytest.raises(InputError, match=r"^(s3|ftp)://(id|me):…@") as caught:
            find_files(address)
        assert "top" not in str(caught.value)


def test_a_name_may_hold_what_separates_keys_from_buckets() -> None:
    with object_store.serving({"b": {"a@b.txt": b"x y\n"}}) as address:
        option = f"?endpoint_override={address.removeprefix('http://')}&scheme=http"
        assert hl.read_paths(f"s3://b/a@b.txt{option}")[0] == ("x", "y")


def test_errors_in_a_file_name_its_address() -> None:
    with object_store.serving({"b": {"paths.txt": b"a b\nc  d\n"}}) as address:
        option = f"?endpoint_override={address.removeprefix('http://')}&scheme=http"
        with pytest.raises(InputError, match=r"^s3://b/paths\.txt:2: empty entity id"):
            hl.grow(f"s3://b/paths.txt{option}")


def test_addresses_of_this_machine(tmp_path: Path) -> None:
    folder = tmp_path / "my paths"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("A C D\nB C E\n")
    address = (folder / "a.txt").as_uri()
    assert "%20" in address
    assert hl.grow(address) == hl.grow(str(folder / "a.txt"))
    assert find_files(f"file://{folder}/*.txt") == [folder / "a.txt", folder / "b.txt"]
    with pytest.raises(MissingFileError, match=r"c\.txt: no such file"):
        hl.grow(f"file://{folder}/c.txt")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["grow", "s3://trips/days/*/*.txt", "-o", str(tmp_path / "net.hon"), "--tau", "1"])
    assert done.value.code == 0
    assert hl.load_network(tmp_path / "net.hon") == hl.grow(rows(), 2, tau=1.0)
    with pytest.raises(SystemExit) as failed:
        main(["grow", "s3://secret/paths.txt", "-o", str(tmp_path / "other.hon")])
    assert failed.value.code == 2
    assert capsys.readouterr().err.startswith("honlearn: s3://secret/paths.txt: no access")
