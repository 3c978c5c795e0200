"""The shared command-line options reach read_paths as its keywords."""

from __future__ import annotations

import gzip
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

import honlearn as hl
from honlearn.cli import app as cli
from honlearn.cli import reader_options as options
from honlearn.paths import ReaderOptions


def app() -> tuple[typer.Typer, dict[str, Any]]:
    seen: dict[str, Any] = {}
    made = typer.Typer()

    @made.command()
    @options.reads_paths
    def read(source: str, *, reading: dict[str, Any]) -> None:
        seen["paths"] = hl.read_paths(source, **reading)

    return made, seen


def test_there_is_an_option_for_every_keyword() -> None:
    gathered = signature(options.gathered).parameters
    assert {field.name: field.default for field in fields(ReaderOptions)} == {
        name: parameter.default for name, parameter in gathered.items()
    }


def test_every_command_that_reads_paths_has_all_options() -> None:
    names = {f"--{field.name.replace('_', '-')}" for field in fields(ReaderOptions)}
    for command in ("grow", "train", "info", "next", "score"):
        taken = typer.main.get_command(cli).commands[command].params  # type: ignore[attr-defined]
        assert names <= {name for parameter in taken for name in parameter.opts}, command


def test_options_arrive(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text("t\tleg\tport\n1\t1\tA\n1\t2\tA\n1\t3\tB\n1\t90\tC\n1\t\tD\n")
    made, seen = app()
    words = (
        "--delimiter tab --sequence t --order-by leg --entity port --max-gap 50 --drop-repeats --min-length 2"
    )
    result = CliRunner().invoke(made, [str(file), *words.split(), "--on-empty", "skip"])
    assert result.exit_code == 0, result.output
    assert list(seen["paths"]) == [("A", "B")]


def test_out_of_range_values_are_not_lost() -> None:
    assert options.gathered(min_length=0, skip_columns=-1) == {"min_length": 0, "skip_columns": -1}
    assert options.gathered() == {}


def test_limits_arrive_and_the_error_names_them(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("A B\nA LongName C\n")
    made, seen = app()
    for option, value in (("--max-line", "5"), ("--max-name", "4")):
        result = CliRunner().invoke(made, [str(file), option, value])
        assert isinstance(result.exception, hl.errors.InputError)
        assert f"({option})" in str(result.exception)
    packed = tmp_path / "p.txt.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    result = CliRunner().invoke(made, [str(packed), "--max-unpacked", "9"])
    assert "(--max-unpacked)" in str(result.exception)
    limits = ["--max-line", "14", "--max-name", "8", "--max-columns", "1", "--max-unpacked", "19"]
    assert CliRunner().invoke(made, [str(packed), *limits]).exit_code == 0
    assert len(seen["paths"]) == 2
