"""From a network file to a page by the command line alone: what evaluate keeps is what report shows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from report_cases import content_of

import honlearn as hl
from honlearn.cli import main
from honlearn.experiments.expected_links import link_candidates
from honlearn.hon.edgelist import from_edges
from honlearn.results.runs import read_run

QUICK = ["--set", "n_learners=3", "widths=6,6", "max_epochs=4", "patience=2", "n_threads=1"]


def command(*words: object) -> int:
    with pytest.raises(SystemExit, match=r"^\d*$") as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network, labels, and a table of its nodes with coordinates beside them."""
    folder = tmp_path_factory.mktemp("data")
    data = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    hon = hl.grow(data.paths)
    hon.save(folder / "net.hon")
    rows = "".join(f"{node},{label}\n" for node, label in data.labels.items())
    (folder / "labels.csv").write_text(f"node,label\n{rows}")
    places = "".join(f"{node},{30 + i},{-100 + i}\n" for i, node in enumerate(hon.vocabulary.names))
    (folder / "nodes.csv").write_text(f"node,latitude,longitude\n{places}")
    return folder


def test_a_run_on_nodes_shows_learners_relatives_curves_and_a_map(files: Path, tmp_path: Path) -> None:
    words = ["--model", "dge-bag", "--model", "dge-pool", "--input", "both", "--folds", 3, *QUICK]
    assert command("evaluate", files / "net.hon", files / "labels.csv", "-o", tmp_path / "run", *words) == 0
    assert command("report", tmp_path / "run", "-o", tmp_path / "page.html", "--title", "A title") == 0
    content = content_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    study = content["study"]
    assert content["title"] == "A title"
    assert study["missing"] == []
    assert study["network"]["map"] is not None
    assert set(study["predictions"]) == {
        f"dge-{m} · {i}" for m in ("bag", "pool") for i in ("higher-order", "first-order")
    }
    bag, pool = (study["predictions"][f"dge-{m} · higher-order"]["learners"] for m in ("bag", "pool"))
    assert bag["number"] == pool["number"] == 3
    assert "relative" in bag
    # A member of a pooled model reads a relative for each learner, so it has none of its own.
    assert "relative" not in pool
    assert {c["curve"] for c in study["curves"]["dge-bag · higher-order"]} == {"loss", "validation_loss"}
    assert study["diversity"]["dge-bag · higher-order"]["pairs"] <= 3 * 3


def test_votes_are_those_of_the_relatives_named(files: Path, tmp_path: Path) -> None:
    words = ["--model", "dge-bag", "--folds", 2, *QUICK, "n_draws=1", "--set", "kernel_share=0"]
    assert command("evaluate", files / "net.hon", files / "labels.csv", "-o", tmp_path / "run", *words) == 0
    study = read_run(tmp_path / "run").studies[0]
    network = study.network()
    assert network is not None
    for record in study.models[0].records:
        answers = study.answers(record)
        assert answers is not None
        # With one draw the prediction is the mean of exactly these votes.
        assert answers.arrays["drawn"].mean(0) == pytest.approx(answers.arrays["proba"], abs=2e-3)
        sizes = [len(network.family(node)) for node in answers.about["nodes"]]
        assert (answers.arrays["relatives"] < np.array(sizes)).all()
        assert (answers.arrays["relatives"] >= 0).all()


def test_a_run_on_links_shows_pairs_and_new_links(files: Path, tmp_path: Path) -> None:
    words = ["--task", "links", "--model", "dge-bag", "--repetitions", 2, *QUICK]
    assert command("evaluate", files / "net.hon", "-o", tmp_path / "run", *words) == 0
    assert (
        command("report", tmp_path / "run", "-o", tmp_path / "page.html", "--nodes", files / "nodes.csv") == 0
    )
    study = content_of((tmp_path / "page.html").read_text(encoding="utf-8"))["study"]
    links = study["links"]["dge-bag · higher-order"]
    assert links["pairs"]
    assert links["curve"]
    assert study["network"]["map"] is not None
    hon = hl.load_network(files / "net.hon").first_order()
    linked = {(s, t) for s, t, _ in hon.to_pandas().itertuples(index=False)}
    assert not {(u, v) for u, v, *_ in links["new"]} & linked


def test_artefacts_may_be_left_out(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "dge-bag", "--folds", 2, "--no-artefacts", *QUICK]
    assert command("evaluate", files / "net.hon", files / "labels.csv", "-o", tmp_path / "run", *words) == 0
    assert not (tmp_path / "run" / "artefacts").exists()
    capsys.readouterr()
    assert command("report", tmp_path / "run", "-o", tmp_path / "page.html", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes"] == (tmp_path / "page.html").stat().st_size


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("report", tmp_path / "none", "-o", tmp_path / "page.html") == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "no such folder; name a run that 'honlearn evaluate" in err


def test_candidates_are_unlinked_and_the_likeliest_first() -> None:
    hon = from_edges(["A", "A", "B", "C", "C"], ["B", "C", "D", "D", "A"], [1, 9, 5, 5, 1])
    # A → C → D carries 9 · 5/6, A → B → D 1 · 1; C → A → B carries 1 · 1/10, C → A → C is a way back.
    assert link_candidates(hon, 9) == [("A", "D"), ("C", "B")]
    assert link_candidates(hon, 1) == [("A", "D")]
