from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import honlearn as hl
from honlearn.cli.convert import convert
from honlearn.cli.info import info
from honlearn.errors import InputError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.formats import load_network

app = typer.Typer()
app.command()(info)
app.command()(convert)


@pytest.fixture
def net(tmp_path: Path) -> str:
    hon = from_edges(
        ["A", "B", "C", "C", "C|A", "C|B"], ["C|A", "C|B", "[D]\n", "E", "[D]\n", "E"], [3, 1, 3, 1, 3, 1]
    )
    hon.save(tmp_path / "net.hon")
    (tmp_path / "labels.csv").write_text("node,label,half\nA,x,x\nB,x,\nC,x,x\nE,y,y\n")
    return str(tmp_path / "net.hon")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_info_of_a_network_that_was_not_pruned(tmp_path: Path) -> None:
    hl.grow([["A", "C", "D"], ["B", "C", "E"]], alpha=1).save(tmp_path / "all.hon")
    assert "every context" in run("info", str(tmp_path / "all.hon"))
    parameters = json.loads(run("info", str(tmp_path / "all.hon"), "--json"))["parameters"]
    assert (parameters["tau"], parameters["alpha"]) == (None, None)


def test_info_prints_the_rule_and_the_evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    paths = [["A", "C", "D"], ["B", "C", "E"]] * 5
    hl.grow(paths).save(tmp_path / "net.hon")
    text = run("info", str(tmp_path / "net.hon"))
    assert "false discovery rate 0.05" in text
    assert "ln BF" in text
    p = hl.load_network(tmp_path / "net.hon").dependencies().p_value[0]
    assert f"{p:.2g}" in text
    assert 0.004 < p < 0.02  # 2 of 252 tables are as extreme
    assert "q takes all contexts" not in text
    hl.grow(paths, tau=1).save(tmp_path / "net.hon")
    text = run("info", str(tmp_path / "net.hon"))
    assert "tau 1, min support 1" in text
    assert "q takes all contexts" in " ".join(text.split())
    hl.load_network(tmp_path / "net.hon").save(tmp_path / "net.txt")
    (tmp_path / "half.txt").write_text((tmp_path / "net.txt").read_text().replace(" 5", " 0.5"))
    assert "not known" in run("info", str(tmp_path / "net.txt"))
    assert "No evidence: it takes counts of paths" in run("info", str(tmp_path / "half.txt"))


def test_paths_given_for_a_network_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("A C D\nB C E\n")
    (tmp_path / "labels.csv").write_text("node,label\nA,x\n")
    with pytest.raises(InputError, match=r"paths\.txt:1: weight 'D' is not a number; .*grown first"):
        run("convert", str(tmp_path / "paths.txt"), str(tmp_path / "net.hon"))


def test_labels_beside_paths_describe_the_network_grown_from_them(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("A C D\nB C E\n" * 30)
    (tmp_path / "events.csv").write_text(
        "trip,stop\n" + "".join(f"{i},{stop}\n" for i in range(60) for stop in ("ACD", "BCE")[i % 2])
    )
    (tmp_path / "labels.csv").write_text("node,label\nA,x\nC,x\nD,y\n")
    hl.grow(tmp_path / "paths.txt").save(tmp_path / "net.hon")
    wanted = json.loads(run("info", str(tmp_path / "net.hon"), str(tmp_path / "labels.csv"), "--json"))
    for source, more in (("paths.txt", ()), ("events.csv", ("--sequence", "trip", "--entity", "stop"))):
        words = (str(tmp_path / source), str(tmp_path / "labels.csv"), *more, "--json")
        assert json.loads(run("info", *words)) == wanted


@pytest.mark.parametrize("suffix", [".net", ".graphml", ".gexf"])
def test_formats_that_are_written_only_are_told(net: str, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"net{suffix}"
    run("convert", net, str(file))
    with pytest.raises(InputError, match=r"is written only; networks are read from \.hon, \.txt, \.parquet"):
        run("info", str(file))


def test_info_as_tables(net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = run("info", net, net.replace("net.hon", "labels.csv"))
    for part in ("entities", "Nodes by order", "Family sizes", "Strongest dependencies", "homophily"):
        assert part in text
    assert "C|A" in text
    assert r"[D]\n 0.75→1.00" in text
    assert "Strongest dependencies" not in run("info", net, "--top", "0")


def test_info_as_json(net: str) -> None:
    facts = json.loads(run("info", net, net.replace("net.hon", "labels.csv"), "--json", "--top", "1"))
    sizes = {"order": 2, "entities": 5, "first_order_edges": 4, "nodes": 7, "edges": 6, "weight": 12}
    assert facts["sizes"] == sizes
    assert facts["families"] == [{"size": 1, "families": 4}, {"size": 3, "families": 1}]
    assert facts["orders"][1] == {"order": 2, "nodes": 2, "out_edges": 2}
    # G1: A→C and B→C agree, C→E does not, the class of [D] is not known. G2 adds C|B→E.
    labels = {"labelled": 4, "classes": 2, "homophily_first_order": pytest.approx(2 / 3), "homophily": 0.5}
    assert facts["labels"] == labels
    [strongest] = facts["dependencies"]
    assert strongest["node"] == "C|A"
    assert strongest["divergence"] == pytest.approx(0.415, abs=0.001)
    assert strongest["frequency"] is None
    assert strongest["q_value"] is None
    assert strongest["p_value"] == 1.0
    assert strongest["shifts"][1] == {"target": "[D]\n", "probability": 1.0, "without": 0.75}


def test_info_with_another_label_column(net: str) -> None:
    labels = net.replace("net.hon", "labels.csv")
    facts = json.loads(run("info", net, labels, "--json", "--label-column", "half"))
    assert facts["labels"]["labelled"] == 3


def test_info_takes_the_only_other_column_for_the_classes(net: str, tmp_path: Path) -> None:
    (tmp_path / "kinds.csv").write_text("place;kind\nA;x\nB;y\nC;x\n")
    facts = json.loads(run("info", net, str(tmp_path / "kinds.csv"), "--json"))
    assert facts["labels"]["classes"] == 2


def test_convert_by_extension(net: str, tmp_path: Path) -> None:
    for suffix in (".txt", ".parquet", ".net", ".graphml", ".gexf"):
        assert run("convert", net, str(tmp_path / f"out{suffix}")) == ""
        assert (tmp_path / f"out{suffix}").stat().st_size > 0
    assert load_network(tmp_path / "out.txt") == load_network(tmp_path / "out.parquet") == load_network(net)


def test_errors_reach_the_one_place_that_prints_them(net: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no network format"):
        run("convert", net, str(tmp_path / "out.xyz"))
