"""``honlearn reproduce``: tables and figures on a small network, protocols, dry runs, errors; the page."""

from __future__ import annotations

import csv
import json
import re
import runpy
import sys
from pathlib import Path

import pytest
from command_line import Files, Outcome, Run

import honlearn as hl
from honlearn.cli import main
from honlearn.pages.conclusions import across
from honlearn.pages.results_page import make_page
from honlearn.pages.run_folders import gather, read_runs
from honlearn.results.records import Records

QUICK = ("--set", "n_learners=3", "max_epochs=2", "widths=6,6", "n_threads=1", "gcn:width=6")
OWN = QUICK[:-1]
BOTH = ("--model", "dge-bag", "--model", "gcn")


@pytest.fixture
def small(files: Files) -> str:
    return f"{files.net}+{files.labels}"


def facts(folder: Path, name: str) -> list[dict[str, str]]:
    with open(folder / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def run(honlearn: Run, small: str, folder: Path, name: str, *words: object) -> Outcome:
    return honlearn("reproduce", name, "-o", folder, "--data", small, "--folds", 2, *words)


@pytest.fixture(scope="module")
def runs(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table that was reproduced, and a run of evaluate."""
    folder = tmp_path_factory.mktemp("runs")
    small = f"{files.net}+{files.labels}"
    fixed = ["--data", small, "--folds", "2", "--protocol", "fixed"]
    evaluated = ["evaluate", *files, "-o", str(folder / "other"), "--folds", "2", "--seeds", "2"]
    for words in (
        ["reproduce", "table-6", "-o", str(folder), *fixed, *BOTH, *QUICK],
        ["reproduce", "ensemble-size", "-o", str(folder), *fixed, "--model", "dge-bag", *OWN],
        [*evaluated, "--model", "dge-pool", *OWN],
    ):
        with pytest.raises(SystemExit, match="0"):
            main(words)
    return folder


def test_a_table_before_it_is_run(honlearn: Run, small: str, tmp_path: Path) -> None:
    dry = run(honlearn, small, tmp_path, "table-6", "--protocol", "fixed", *BOTH, *QUICK, "--dry-run")
    assert dry.code == 0, dry.err
    assert "8 jobs, 0 done before" in dry.out
    assert not (tmp_path / "net").exists()


def test_a_table_and_again(honlearn: Run, small: str, files: Files, runs: Path) -> None:
    words = ("--protocol", "fixed", *BOTH, *QUICK)
    again = run(honlearn, small, runs, "table-6", *words)
    assert again.code == 0, again.err
    assert ": micro F1" not in again.err
    assert "| GCN     | first-order" in again.out
    assert "default settings, no search; set by hand: n_learners=3" in again.out
    assert len(Records(runs / "net")) == 8
    ours = {(f["model"], f["input"]): f["ours"] for f in facts(runs, "table-6") if f["data"] == "net"}
    assert set(ours) == {("gcn", "g1"), ("gcn", "gk"), ("dge-bag", "g1"), ("dge-bag", "gk")}
    assert all(0 <= float(value) <= 1 for value in ours.values())
    assert (runs / "table-6.tex").read_text("utf-8").startswith("% needs")
    about = json.loads((runs / "net" / "run.json").read_text())
    assert (about["data"], about["published"], len(about["commands"])) == ("net", None, 2)
    # The same records as those of evaluate: the setting and the folds are the same.
    words = ("--input", "both", "--folds", 2, "--model", "dge-bag", *OWN)
    known = honlearn("evaluate", *files, "-o", runs / "net", *words)
    assert known.code == 0, known.err
    assert ": micro F1" not in known.err


def test_searches_and_sizes(honlearn: Run, small: str, tmp_path: Path) -> None:
    space = tmp_path / "space.json"
    space.write_text('{"gcn": {"widths": [4, 8]}}')
    words = ("--model", "gcn", "--space", space, "--trials", 2, "--set", "max_epochs=2")
    outcome = run(honlearn, small, tmp_path, "table-2", *words)
    assert outcome.code == 0, outcome.err
    assert (
        "settings searched on a validation part inside each training part (2 settings a search)"
        in outcome.out
    )
    searches = [record.search for record in Records(tmp_path / "net")]
    assert [search and search["trials"] for search in searches] == [2, 2]
    flattered = run(honlearn, small, tmp_path, "table-2", *words, "--protocol", "paper")
    assert "chosen on the test folds as in the paper (up to 2 tried)" in flattered.out
    sizes = run(honlearn, small, tmp_path, "table-1", "--json")
    found = {f["column"]: f["ours"] for f in json.loads(sizes.out)["facts"] if f["data"] == "net"}
    assert found["classes"] == 2
    assert found["|S|"] is None


def test_figures_of_one_run(honlearn: Run, small: str, tmp_path: Path) -> None:
    words = ("--protocol", "fixed", *QUICK)
    for name, models, count in (
        ("depth", BOTH, 6),
        ("characteristics", BOTH, 18),
        ("training-time", BOTH, 4),
    ):
        outcome = run(honlearn, small, tmp_path, name, *words, *models)
        assert outcome.code == 0, (name, outcome.err)
        assert len(facts(tmp_path, name)) == count, name
        assert (tmp_path / f"{name}.svg").stat().st_size > 1000
        assert (tmp_path / f"{name}.png").exists()
    assert {row["characteristic"] for row in facts(tmp_path, "characteristics-regression")} == {
        "out_degree",
        "in_degree",
        "family_size",
        "homophily",
    }
    lines = facts(tmp_path, "training-time")
    assert all(float(row["fit_cpu_seconds"]) > 0 and float(row["training_loss"]) > 0 for row in lines)


def test_diversity_and_size(honlearn: Run, small: str, runs: Path) -> None:
    outcome = run(honlearn, small, runs, "diversity", "--protocol", "fixed", "--model", "dge-bag", *OWN)
    assert outcome.code == 0, outcome.err
    assert ": micro F1" not in outcome.err
    assert len(facts(runs, "diversity")) == 2 * 3
    assert [row["learners"] for row in facts(runs, "ensemble-size")] == ["1", "2", "3"]


def test_sizes_of_other_ensembles_are_fitted(honlearn: Run, small: str, tmp_path: Path) -> None:
    words = ("--protocol", "fixed", "--model", "dge-pool", *OWN)
    outcome = run(honlearn, small, tmp_path, "ensemble-size", *words)
    assert outcome.code == 0, outcome.err
    assert [row["learners"] for row in facts(tmp_path, "ensemble-size")] == ["1", "2", "3"]
    assert len(Records(tmp_path / "net")) == 2 * 3
    for name in ("ensemble-size", "diversity"):
        refused = run(honlearn, small, tmp_path, name, "--model", "gcn")
        assert refused.code == 2
        assert f"the figure '{name}' is about learners, and gcn has none" in refused.err


def test_a_figure_of_nothing_says_why(honlearn: Run, small: str, tmp_path: Path) -> None:
    for name in ("depth", "training-time"):
        outcome = run(honlearn, small, tmp_path, name, "--model", "honem")
        assert outcome.code == 2
        assert "none of the models has what it varies" in outcome.err


@pytest.fixture
def paths(tmp_path: Path) -> Path:
    """A data set of one's own; with the defaults its network is of first order."""
    data = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    hl.datasets.save_folder(data, tmp_path / "own")
    return tmp_path / "own"


def test_a_dry_run_is_of_what_would_run(honlearn: Run, paths: Path, tmp_path: Path) -> None:
    words = ("-o", tmp_path / "run", "--data", paths, "--folds", 2, "--repetitions", 2, "--dry-run")
    eager = ("--tau", 0.1, "--min-support", 1)
    timed = honlearn("reproduce", "training-time", *words, *eager, *BOTH, "--set", "max_epochs=2")
    # The first fold alone, with one epoch and with two; no search.
    assert "4 jobs, 0 done before" in timed.out
    swept = honlearn("reproduce", "tau", *words, *eager)
    assert "24 jobs, 0 done before" in swept.out
    assert "tau 30" in swept.out
    first = honlearn("reproduce", "table-2", *words, *BOTH)
    assert "2 jobs, 0 done before" in first.out
    assert "not measured: own: the network is of first order; with a smaller --tau" in first.err
    # A wrong value is told though no row here has that setting.
    wrong = honlearn("reproduce", "table-2", *words, *BOTH, "--set", "n_learners=two")
    assert (wrong.code, wrong.err.count("must be a whole number. Got 'two' instead")) == (2, 1)
    assert not (tmp_path / "run").exists()


def test_json_is_json(honlearn: Run, paths: Path, tmp_path: Path) -> None:
    def refuse(word: str) -> None:
        raise AssertionError(word)

    words = ("-o", tmp_path / "run", "--data", paths, "--json")
    sizes = honlearn("reproduce", "table-1", *words)
    # No labelled node has a labelled neighbour, so there is no homophily to tell.
    found = json.loads(sizes.out, parse_constant=refuse)["facts"]
    ours = {fact["column"]: fact["ours"] for fact in found if fact["data"] == "own"}
    assert (ours["|V1|"], ours["H(G1)"]) == (24, None)
    assert "nan" not in (tmp_path / "run" / "table-1.md").read_text("utf-8")
    every = honlearn("reproduce", "all", *words, "--protocol", "fixed", "--folds", 2, "--model", "majority")
    made = [one["name"] for one in json.loads(every.out, parse_constant=refuse)]
    assert made == [f"table-{number}" for number in (1, 2, 3, 5, 6, 7, 8)]
    assert "diversity: the figure 'diversity' is about learners, and majority has none" in every.err


def test_tau_needs_paths(honlearn: Run, small: str, tmp_path: Path) -> None:
    outcome = run(honlearn, small, tmp_path, "tau", "--protocol", "fixed", *QUICK[:2])
    assert outcome.code == 2
    assert "its network can be grown anew only from paths" in outcome.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table-9"], "no table or figure is called 'table-9'; did you mean 'table-"),
        (["table-2", "--data", "ship"], "the paper's Ship cannot be had by its name"),
        (["table-2", "--model", "gcnn"], "did you mean 'gcn'?"),
        (["table-2", "--protocol", "honest"], "'protocol' parameter of reproduce must be one of"),
        (["table-2", "--set", "n_lerners=3"], "did you mean 'n_learners'?"),
        (["table-2", "--model", "gcn", "--set", "dge-bag:n_learners=3"], "'dge-bag' does not take part"),
        (["table-2", "--space", "none.json"], "none.json: no such file"),
        (["table-2", "--model", "majorty"], "did you mean 'majority'?"),
    ],
)
def test_errors_are_one_line(honlearn: Run, tmp_path: Path, words: list[str], message: str) -> None:
    outcome = honlearn("reproduce", *words, "-o", tmp_path)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_file_is_no_folder_of_a_run(honlearn: Run, small: str, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    outcome = run(honlearn, small, tmp_path / "run", "table-1")
    assert outcome.code == 2
    assert outcome.err.endswith("run: there is a file of this name; name a folder\n")


# --- the page of results ------------------------------------------------------------------------------


def test_the_page_of_results(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Path(__file__).parents[2] / "scripts" / "make_results.py"
    page = tmp_path / "docs" / "results.md"
    monkeypatch.setattr(sys, "argv", ["make_results.py", str(runs), "-o", str(page)])
    runpy.run_path(str(script), run_name="__main__")
    text = page.read_text("utf-8")
    assert "## net\n" in text
    assert "## other\n" in text
    commands = (tmp_path / "docs" / "results" / "commands.txt").read_text("utf-8")
    assert "honlearn evaluate net.hon labels.csv -o other" in commands
    assert f"honlearn reproduce table-6 -o {runs.name}" in commands
    assert str(runs.parent) not in text + commands
    assert "CPU hours in all" in text
    # Two folds with the same difference have no p-value; whether they have it depends on the processor.
    verdicts = "(a tie|(better|worse) with memory) on net"
    sentence = f"DGE-bag on the higher-order against the first-order network: {verdicts}"
    known = "nodes" in across(gather(read_runs([str(runs)])))
    assert bool(re.search(sentence, text)) == known
    paper = page.with_name("paper.md").read_text("utf-8")
    assert "![ensemble-size](results/ensemble-size.svg)" in paper
    assert (tmp_path / "docs" / "results" / "ensemble-size.csv").exists()
    assert "## Not measured" in paper
    results = gather(read_runs([str(runs)]))
    assert [(r.data, r.task, len(r.models)) for r in results] == [("net", "nodes", 4), ("other", "nodes", 1)]
    assert {len(model.records) for model in results[1].models} == {4}
    named = make_page([f"wiki={runs}/other"], tmp_path / "wiki.md")
    assert "## Wiki: node classification" in named[1].read_text("utf-8")
    assert "0.671 ± 0.01" in named[1].read_text("utf-8")
    assert "- 3 learners, not 16: DGE-pool higher-order\n" in text
    assert "With the kernel's share the ensemble adds " in text
