"""The page of results: to the letter for known records, and what it does with folders that lack something."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from page_cases import MACHINE, cells, records, write_run

from honlearn.errors import MissingFileError
from honlearn.pages.conclusions import conclude
from honlearn.pages.results_page import make_page
from honlearn.pages.run_folders import gather, read_runs, without_folders

GOLDEN = Path(__file__).parent / "fixtures" / "results.md"
COMMAND = "honlearn evaluate /data/wiki2.txt /data/labels.csv -o /runs/wiki --input both"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two data sets, of which the paper has one, two tasks, a table and two figures that were reproduced."""
    root = tmp_path / "runs"
    kernel = {"kernel_share": "auto", "n_learners": 8}
    wiki = [
        *records("dge-bag", "gk", 0.70, parameters=kernel),
        *records("dge-bag", "g1", 0.66, parameters=kernel),
        *records("gcn", "g1", 0.62),
        *records("gcn", "gk", 0.699, count=7),
    ]
    write_run(root / "wiki", wiki, data="wiki", commands=[COMMAND, COMMAND], machine=MACHINE)
    links = records("dge-bag", "gk", 0.80, task="links") + records("gat", "g1", 0.79, task="links")
    write_run(root / "wiki-links", links, data="wiki", commands=[f"{COMMAND} --task links"], machine=MACHINE)
    searched = {"search": {"trials": 3}}
    shop = [
        *records("dge-bag", "gk", 0.40, **searched),
        *records("dge-bag", "g1", 0.46, **searched),
        *records("own|model*", "g1", 0.44),
    ]
    write_run(root / "shop", shop, machine={**MACHINE, "memory_gb": None})
    (root / "table-1.md").write_text(
        "**Table 1. Sizes**\n\n| data |\n|------|\n| Wiki |\n\n- a note\n", "utf-8"
    )
    for place in (root, root / "wiki"):
        (place / "depth.svg").write_text("<svg/>")
        (place / "depth.csv").write_text("layers\n2\n")
    return root


def test_the_page_to_the_letter(runs: Path, tmp_path: Path) -> None:
    page, paper, *files = make_page([str(runs)], tmp_path / "docs" / "results.md")
    assert page.read_text("utf-8") == GOLDEN.read_text("utf-8")
    assert [file.name for file in files] == [
        *("shop-nodes.csv", "wiki-nodes.csv", "wiki-links.csv", "published-nodes.csv", "published-links.csv"),
        *("commands.txt", "nodes.svg", "links.svg"),
        *("depth.svg", "depth.csv", "depth-2.svg", "depth-2.csv"),
    ]
    assert {file.parent for file in files} == {tmp_path / "docs" / "results"}
    assert all(file.is_file() for file in files)
    text = paper.read_text("utf-8")
    assert "## Table 1. Sizes" in text
    assert "results/depth-2.csv" in text
    [ours, *_] = [row for row in cells(text) if row[:2] == ["DGE-bag", "higher-order"]]
    assert ours[3] == "0.681 ± 0.00"


def test_conclusions_are_of_paired_tests(runs: Path) -> None:
    found = {(results.data, results.task): conclude(results) for results in gather(read_runs([str(runs)]))}
    wiki, shop = found["wiki", "nodes"], found["shop", "nodes"]
    assert wiki is not None
    assert shop is not None
    assert wiki.memory is not None
    assert wiki.memory.difference == pytest.approx(0.04)
    assert [one.name for one in wiki.others["better"]] == ["GCN on first-order"]
    assert [one.name for one in wiki.others["tie"]] == ["GCN on higher-order"]
    assert (wiki.gain, wiki.has_kernel) == (pytest.approx(0.02), True)
    assert (shop.reference, shop.has_kernel) == ("DGE-bag on higher-order", False)
    assert [one.name for one in shop.others["worse"]] == ["own|model* on first-order"]
    assert not any(shop.published.values())


def test_one_record_has_neither_tests_nor_deviations(tmp_path: Path) -> None:
    write_run(tmp_path / "small", records("dge-bag", "gk", 0.5, count=1) + records("gcn", "gk", 0.5, count=1))
    page, *_ = make_page([str(tmp_path / "small")], tmp_path / "page.md")
    text = page.read_text("utf-8")
    rows = {
        row[0]: row for row in cells(text[text.index("### small") : text.index("## How this was measured")])
    }
    assert rows["DGE-bag"][2:4] == ["0.500", "reference"]
    assert rows["GCN"][2:4] == ["0.500", "–, –"]
    assert "## In short" not in text
    assert "DGE-bag on G2 is " not in text


def test_published_values_stand_alone_where_an_input_was_not_measured(tmp_path: Path) -> None:
    write_run(tmp_path / "run", records("dge-bag", "g1", 0.8))
    make_page([f"air={tmp_path}/run"], tmp_path / "air.md")
    nodes, links = (
        list(csv.reader((tmp_path / "air" / f"published-{task}.csv").read_text("utf-8").splitlines()))
        for task in ("nodes", "links")
    )
    rows = {tuple(row[:2]): row[2:] for row in nodes}
    assert rows["model", "network"] == ["Air", "T2D", "Wiki", "Mag", "Mag+", "Ship"]
    assert rows["GCN", "first-order"][:2] == ["–", "0.480 ± 0.02"]  # Air's first-order network was measured
    assert rows["GCN", "higher-order"][0] == "0.805 ± 0.05"
    assert rows["DGE-bag", "higher-order"][-1] == "0.840 ± 0.01"
    assert ["GCN", "first-order", "0.794 ± 0.01"] in [row[:3] for row in links]


def test_pages_need_runs(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match="no such folder; name the folder of a run"):
        read_runs([str(tmp_path / "none")])
    with pytest.raises(MissingFileError, match="no records in these folders"):
        read_runs([str(tmp_path)])


def test_commands_have_no_folders() -> None:
    assert (
        without_folders("honlearn evaluate /a/b/net.hon+/c/labels.csv")
        == "honlearn evaluate net.hon+labels.csv"
    )
