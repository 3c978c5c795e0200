"""``honlearn data list`` and ``honlearn data get`` as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from honlearn.cli.data import data_app
from honlearn.datasets import load_folder, us_flights
from honlearn.errors import InputError, ParameterError


def run(*arguments: object) -> str:
    result = CliRunner().invoke(data_app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_list_fits_a_terminal_and_says_licence_and_origin() -> None:
    text = run("list")
    assert max(map(len, text.splitlines())) <= 80
    words = " ".join(text.split())
    for word in ("us_flights", "286,810", "public domain", "wikispeedia", "db1b", "synthetic"):
        assert word in words


def test_list_as_json() -> None:
    entries = {entry["name"]: entry for entry in json.loads(run("list", "--json"))}
    assert entries["us_flights"]["paths"] == 286_810
    assert entries["us_flights"]["offline"] is True
    assert entries["db1b"]["paths"] is None
    assert "licence" in entries["wikispeedia"]


def test_get_writes_the_folder_and_not_twice(tmp_path: Path) -> None:
    text = run("get", "us_flights", "-o", tmp_path / "flights")
    assert "286,810 paths" in text
    assert load_folder(tmp_path / "flights").labels == us_flights().labels
    with pytest.raises(InputError, match=r"already has paths\.txt, labels\.csv, nodes\.csv, about\.json"):
        run("get", "us_flights", "-o", tmp_path / "flights")
    run("get", "us_flights", "-o", tmp_path / "flights", "--force")


def test_get_synthetic_with_settings_and_seed(tmp_path: Path) -> None:
    common = (
        "get",
        "synthetic",
        "--set",
        "n_nodes=12",
        "--set",
        "labelled=hubs",
        "--set",
        "noise=0.25",
        "--json",
    )
    facts = json.loads(run(*common, "-o", tmp_path / "a", "--seed", 1))
    assert facts["classes"] == {"c0": 3, "c1": 3, "c2": 3, "c3": 3}
    assert facts["files"] == ["paths.txt", "labels.csv", "about.json"]
    run(*common, "-o", tmp_path / "b", "--seed", 1)
    run(*common, "-o", tmp_path / "c", "--seed", 2)
    texts = [(tmp_path / name / "paths.txt").read_bytes() for name in "abc"]
    assert texts[0] == texts[1] != texts[2]


def test_get_from_the_users_own_files(tmp_path: Path) -> None:
    for quarter in (1, 2):
        text = f"ITIN_ID,SEQ_NUM,ORIGIN,DEST\n{quarter},1,ATL,ORD\n{quarter}0,1,,ORD\n"
        (tmp_path / f"q{quarter}.csv").write_text(text)
    files = ("--from", tmp_path / "q1.csv", "--from", tmp_path / "q2.csv")
    text = run("get", "db1b", *files, "-o", tmp_path / "out")
    assert "itineraries with a missing place: 2" in text
    assert (tmp_path / "out" / "paths.txt").read_text() == "ATL ORD\nATL ORD\n"


def test_get_without_an_output_takes_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run("get", "synthetic", "--set", "n_nodes=4")
    assert (tmp_path / "synthetic" / "paths.txt").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("db1b",), r"db1b needs files of your own; pass --from FILE"),
        (("us_flights", "--from", "x"), r"--from: us_flights takes no such option"),
        (("wikispeedia", "--from", "x", "--from", "y"), r"--from: wikispeedia takes one path"),
        (("us_flights", "--seed", "1"), r"--seed: us_flights is not random"),
        (("us_flights", "--set", "a=1"), r"--set a=1: us_flights has no setting 'a'; it takes none"),
        (
            ("synthetic", "--set", "noize=1"),
            r"has no setting 'noize'; did you mean 'noise'\?; there are n_classes",
        ),
        (("synthetic", "--set", "noise"), r"--set noise: expected key=value"),
        (("synthetic", "--set", "noise=x"), r"'noise' parameter of synthetic must be a number"),
    ],
)
def test_what_is_refused(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=message):
        run("get", *arguments)
    assert list(tmp_path.iterdir()) == []
