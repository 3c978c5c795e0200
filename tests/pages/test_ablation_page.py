"""The page of ablations: from real records of tiny runs, and a clear error where the reference is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_cases import cells, records, write_run

from honlearn import __version__
from honlearn.datasets import synthetic
from honlearn.errors import MissingFileError
from honlearn.experiments.evaluate import ModelSpec, NodeData, evaluate, plan
from honlearn.experiments.folds import Folds
from honlearn.experiments.registry import find_model
from honlearn.hon.build import count_grams
from honlearn.pages.ablation_page import make_page

TINY = {"n_learners": 2, "widths": (6, 6), "max_epochs": 3, "n_threads": 1}


def run(folder: Path, which: str = "gk", **settings: object) -> None:
    data = synthetic(2, n_nodes=20, n_hubs=2, n_destinations=2)
    counts = count_grams(data.paths, 2)
    nodes, labels = list(data.labels), list(data.labels.values())
    network = counts.grow(tau=1.0)
    known = NodeData.of(network, nodes, labels, which, counts if which == "auto" else None)
    spec = ModelSpec(find_model("dge-bag"), {**TINY, **settings})
    jobs = plan(known, [spec], Folds(count=5), [0])
    assert len(list(evaluate(known, jobs, folder))) == 5


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("ablations")
    run(root / "planted" / "published", mask_self=False, path_features=0)
    run(root / "planted" / "both")
    run(root / "planted" / "chosen", "auto")
    run(root / "other" / "both")
    return root


def test_every_idea_has_a_row_and_changes_are_against_the_published_method(runs: Path) -> None:
    target = runs / "docs" / "ablations.md"
    make_page(runs, target, "## Left out\n\nA thing that did not help.\n")
    text = target.read_text("utf-8")
    section = text[text.index("## planted") : text.index("## Left out")]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
    assert rows[0] == "idea"
    assert sorted(rows[1:]) == ["both", "chosen", "published"]
    assert "structures chosen: " in section
    assert "A thing that did not help." in text
    assert f"(honlearn {__version__})" in text[: text.index("## ")]
    assert "honlearn evaluate" in (runs / "docs" / "results" / "ablation-commands.txt").read_text("utf-8")
    assert (runs / "docs" / "results" / "ablation-planted.csv").is_file()
    # Without the reference there is nothing to compare with: a dash, and no number.
    other = text[text.index("## other") : text.index("## planted")]
    [row] = [line for line in other.splitlines() if line.startswith("| both")]
    assert [cell.strip() for cell in row.split("|")[5:7]] == ["–", "–"]


def test_scores_are_those_of_the_records(runs: Path, tmp_path: Path) -> None:
    import json
    import statistics

    make_page(runs, tmp_path / "page.md")
    lines = (runs / "planted" / "both" / "records.jsonl").read_text("utf-8").splitlines()
    mean = statistics.fmean(json.loads(line)["scores"]["micro_f1"] for line in lines)
    text = (tmp_path / "page.md").read_text("utf-8")
    section = text[text.index("## planted") :]
    [row] = [line for line in section.splitlines() if line.startswith("| both")]
    assert row.split("|")[2].strip().startswith(f"{mean:.3f}")


def test_without_a_reference_the_folder_is_refused(runs: Path, tmp_path: Path) -> None:
    run(tmp_path / "planted" / "both")
    with pytest.raises(MissingFileError, match=r"no run is called sage or sage-g1 or published"):
        make_page(tmp_path, tmp_path / "page.md")


def test_a_model_without_learners_has_a_dash_for_the_single_one(tmp_path: Path) -> None:
    found = records("majority", "gk", 0.5)
    for record in found:
        record["scores"]["single_micro_f1"] = None
    write_run(tmp_path / "small" / "published", found)
    make_page(tmp_path, tmp_path / "page.md")
    rows = [row for row in cells((tmp_path / "page.md").read_text("utf-8")) if row[0] == "published"]
    # In the table of all data sets, then in that of its own.
    assert rows[0] == ["published", "–"]
    assert [row[3] for row in rows[1:]] == ["–"]
