"""``--help``: options in groups, an example for each command, and no type beside a flag."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Run

import honlearn as hl
from honlearn.cli import _COMMANDS, make_app
from honlearn.cli.help import EXAMPLES, OTHER, PANEL_OF


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


def test_every_option_has_a_group_and_every_name_in_a_group_is_an_option() -> None:
    found: set[str] = set()

    def look(command: Any) -> None:
        for option in command.params:
            found.add(option.name)
            hidden = getattr(option, "hidden", True)  # arguments have no group
            assert hidden or option.rich_help_panel != OTHER, f"{command.name} {option.name}"
        for inner in getattr(command, "commands", {}).values():
            look(inner)

    look(typer.main.get_command(make_app()))
    assert set(PANEL_OF) - {"help"} <= found


def test_words_too_many_are_answered_with_an_example(honlearn: Run) -> None:
    done = honlearn("predict", "model", "LGA")
    assert done.code == 2
    assert "extra argument(s) (LGA); an example: honlearn predict model --nodes LGA,ORD" in done.err


MISSING = [
    "learn no.csv -o out",
    "learn paths.txt no.csv -o out",
    "learn folder -o out",
    "learn empty.csv -o out",
    "learn paths.pdf -o out",
    "learn paths.txt labels.csv --label-column lable -o out",
    "learn paths.txt labels.csv --node-column nod -o out",
    "learn paths.txt -o paths.txt",
    "grow no.txt -o net.hon",
    "grow empty.txt -o net.hon",
    "info no.hon",
    "convert no.hon net.txt",
    "train no.hon labels.csv -o out",
    "train net.hon no.csv -o out",
    "predict no",
    "predict folder",
    "explain no A",
    "next no.txt --after A",
    "score no.hon paths.txt",
    "score paths.txt no.txt",
    "evaluate no.hon labels.csv -o out --model gcn",
    "evaluate paths.txt no.csv -o out --model gcn",
    "report no",
    "report folder",
    "data get no",
    "learn paths.txt",
    "learn paths.txt --ordr 2 -o out",
    "lern paths.txt",
]


def test_what_is_missing_is_one_line_before_anything_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name, text in {"paths.txt": "A B\n", "paths.pdf": "A B\n", "labels.csv": "node,label\nA,x\n"}.items():
        (tmp_path / name).write_text(text)
    for name in ("empty.csv", "empty.txt"):
        (tmp_path / name).touch()
    before = sorted(os.listdir(tmp_path))
    code = (
        "import contextlib, io, json, shlex, sys\n"
        "from honlearn.cli import main\n"
        "found = []\n"
        "for words in json.load(sys.stdin):\n"
        "    text = io.StringIO()\n"
        "    try:\n"
        "        with contextlib.redirect_stderr(text):\n"
        "            main(shlex.split(words))\n"
        "    except SystemExit as end:\n"
        "        heavy = sorted({'torch', 'sklearn'} & set(sys.modules))\n"
        "        found.append([words, end.code, text.getvalue(), heavy])\n"
        "print(json.dumps(found))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(MISSING), capture_output=True, text=True, cwd=tmp_path
    )
    assert not done.stderr
    found = json.loads(done.stdout)
    assert [words for words, *_ in found] == MISSING
    for words, ended, told, heavy in found:
        assert (ended, heavy) == (2, []), words
        assert told.startswith("honlearn: "), words
        assert told.count("\n") == 1, words
    assert sorted(os.listdir(tmp_path)) == before


def test_warnings_are_one_line(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    from honlearn.cli import main

    hon = tmp_path / "net.hon"
    hl.grow([["A", "B"], ["B", "A"]], order=1).save(hon)
    (tmp_path / "labels.csv").write_text("node,label\nA,x\nB,nan\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(SystemExit):
            main(["info", str(hon), str(tmp_path / "labels.csv"), "--json"])
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f"honlearn: warning: {tmp_path / 'labels.csv'}: 'nan' is taken as a class (nodes that have "
        "it: 1); if it means that there is none, leave the field empty"
    ]
