"""``honlearn explain``: nodes, links and paths, as text and as JSON, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import QUICK, Files, Run

import honlearn as hl


def test_a_node_as_text_and_json(honlearn: Run, model: Path) -> None:
    outcome = honlearn("explain", model, "s3", "--top", 2)
    assert (outcome.code, outcome.err) == (0, "")
    expected = hl.load_model(model).explain("s3", top=2)
    assert outcome.out == f"{expected}\n"
    found = json.loads(honlearn("explain", model, "s3", "--top", 2, "--json", "--label", "c1").out)
    assert (found["subject"], found["label"]) == ("s3", "c1")
    assert found["reasons"][0].keys() >= {"kind", "name", "value", "without", "effect", "count", "support"}


def test_with_the_observed_paths(honlearn: Run, model: Path, tmp_path: Path) -> None:
    node, hub = "s3", next(iter(hl.load_model(model).network.neighbors("s3"))).split("|")[0]
    (tmp_path / "paths.csv").write_text(f"who,at,what\n1,1,{node}\n1,2,{hub}\n")
    words = ("--paths", tmp_path / "paths.csv", "--sequence", "who", "--entity", "what")
    outcome = honlearn("explain", model, node, *words)
    assert f"in 1 path: {node} → {hub} once" in outcome.out


def test_links_and_paths(honlearn: Run, files: Files, tmp_path: Path) -> None:
    honlearn("train", files.net, "-o", tmp_path / "links", "--task", "links", *QUICK)
    outcome = honlearn("explain", tmp_path / "links", "s1", "s3", "--top", 1)
    assert outcome.out.startswith("s1 → s3: linked, probability 0."), outcome.err
    (tmp_path / "p.txt").write_text("A B C\nC B A\n" * 6)
    rows = "".join(f"{i},{'up' if i % 2 else 'down'}\n" for i in range(1, 13))
    (tmp_path / "y.csv").write_text("path,label\n" + rows)
    honlearn("train", tmp_path / "p.txt", tmp_path / "y.csv", "-o", tmp_path / "m", "--task", "paths")
    outcome = honlearn("explain", tmp_path / "m", "1", "--paths", tmp_path / "p.txt")
    assert outcome.out.startswith("A → B → C: up, probability "), outcome.err
    outcome = honlearn("explain", tmp_path / "m", "99", "--paths", tmp_path / "p.txt")
    assert (outcome.code, "no path '99'" in outcome.err) == (2, True)
    assert "name the file" in honlearn("explain", tmp_path / "m", "1").err
    assert "name both ends" in honlearn("explain", tmp_path / "links", "s1").err
    assert "no classes" in honlearn("explain", tmp_path / "links", "s1", "s3", "--label", "x").err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("s99",), "not among the 24 entities"),
        (("s1", "s2"), "not of links: name one node"),
        (("s1", "--label", "c9"), "must be one of the classes, c0, c1. Got 'c9' instead"),
        (("s1", "--top", 99), "from 1 to 62. Got 99 instead"),
        (("s1", "--min-length", "2"), "options of the reader need --paths"),
    ],
)
def test_one_line_says_what_is_wrong(
    honlearn: Run, model: Path, words: tuple[object, ...], message: str
) -> None:
    outcome = honlearn("explain", model, *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_another_kind_of_model_is_refused(honlearn: Run, files: Files, tmp_path: Path) -> None:
    honlearn("train", *files, "-o", tmp_path / "m", "--model", "majority")
    outcome = honlearn("explain", tmp_path / "m", "s1")
    assert (outcome.code, "explained are deep graph ensembles" in outcome.err) == (2, True)
