"""``--help``: options in groups, an example for each command, and no type beside a flag."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest
import typer

from honlearn.cli import _COMMANDS, make_app
from honlearn.cli.help import EXAMPLES


def shown(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    words = name.split()
    with pytest.raises(SystemExit, match="0"):
        make_app(words[:1] or _COMMANDS)([*words, "--help"], prog_name="honlearn")
    return capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_command_has_groups_and_an_example(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(name, capsys, monkeypatch)
    assert f"Example: {EXAMPLES[name]}" in text
    assert shlex.split(EXAMPLES[name])[: 1 + len(name.split())] == ["honlearn", *name.split()]
    assert "<bool>" not in text
    assert "Run" in text


def test_commands_without_an_example_are_groups_of_commands() -> None:
    assert set(_COMMANDS) - set(EXAMPLES) == {"data"}
    group = typer.main.get_command(make_app(["data"])).commands["data"]  # type: ignore[attr-defined]
    assert {f"data {name}" for name in group.commands} == {one for one in EXAMPLES if " " in one}


@pytest.mark.parametrize("name", ["", "data"])
def test_groups_of_commands_show_no_type_beside_a_flag(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(name, capsys, monkeypatch)
    assert "--help" in text
    assert "bool" not in text.lower()


def test_a_missing_file_is_told_before_anything_heavy_is_imported() -> None:
    code = (
        "import sys\n"
        "from honlearn.cli import main\n"
        "try:\n    main(['train', 'no.hon', 'no.csv', '-o', 'out'])\n"
        "except SystemExit as end:\n    print(end.code, 'torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert done.stdout.split() == ["2", "False"]
    assert "no.hon" in done.stderr or "no.csv" in done.stderr
