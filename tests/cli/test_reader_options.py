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
from honlearn.cli import reader_options as options
from honlearn.paths import ReaderOptions


def app() -> tuple[typer.Typer, dict[str, Any]]:
    seen: dict[str, Any] = {}
    made = typer.Typer()

    @made.command()
    def read(
        source: str,
        format: options.Format = None,
        delimiter: options.Delimiter = None,
        skip_columns: options.SkipColumns = 0,
        trailing_count: options.TrailingCount = False,
        sequence: options.Sequence = None,
        order_by: options.OrderBy = None,
        entity: options.Entity = None,
        path_column: options.PathColumn = None,
        count_column: options.CountColumn = None,
        source_column: options.SourceColumn = None,
        target_column: options.TargetColumn = None,
        max_gap: options.MaxGap = None,
        drop_repeats: options.DropRepeats = False,
        first_only: options.FirstOnly = False,
        min_length: options.MinLength = 1,
        on_empty: options.OnEmpty = "error",
        max_line: options.MaxLine = options.MAX_LINE,
        max_name: options.MaxName = options.MAX_NAME,
        max_columns: options.MaxColumns = options.MAX_COLUMNS,
        max_unpacked: options.MaxUnpacked = None,
        max_steps: options.MaxSteps = options.MAX_STEPS,
    ) -> None:
        given = {
            name: value for name, value in locals().items() if name in signature(options.gathered).parameters
        }
        seen["paths"] = hl.read_paths(source, **options.gathered(**given))

    return made, seen


def test_there_is_an_option_for_every_keyword() -> None:
    assert [field.name for field in fields(ReaderOptions)] == list(signature(options.gathered).parameters)


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
