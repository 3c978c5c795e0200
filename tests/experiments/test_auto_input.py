"""The input ``auto``: each fit chooses its network, on the nodes of the other inputs; records say which."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.experiments.evaluate import ModelSpec, NodeData, evaluate, plan
from honlearn.experiments.folds import Folds
from honlearn.experiments.link_data import LinkData, LinkProtocol
from honlearn.experiments.measure import Bench, Plan, TableRow
from honlearn.experiments.paper_tables import make_table, rows_of
from honlearn.experiments.registry import find_model, model_names
from honlearn.experiments.sources import Source
from honlearn.hon.build import GramCounts
from honlearn.pages.conclusions import name_of
from honlearn.pages.results_page import make_page
from honlearn.pages.run_folders import gather, read_runs
from honlearn.reporting.build import write_report
from honlearn.results.artefacts import FOLDER, read_answers
from honlearn.results.records import network_digest
from honlearn.results.runs import read_run

QUICK = {"n_learners": 2, "widths": (6, 6), "max_epochs": 8, "n_threads": 1}
MADE = hl.datasets.synthetic(2, n_nodes=24, n_hubs=2, n_destinations=2)
NODES, LABELS = list(MADE.labels), list(MADE.labels.values())


@pytest.fixture(scope="module")
def counts() -> GramCounts:
    return hl.count_grams(MADE.paths, order=3)


@pytest.fixture(scope="module")
def data(counts: GramCounts) -> NodeData:
    return NodeData.of(hl.grow(MADE.paths), NODES, LABELS, "all", counts)


@pytest.fixture(scope="module")
def run(data: NodeData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one ensemble on all three inputs, and of one that cannot choose."""
    folder = tmp_path_factory.mktemp("run")
    who = [spec("dge-bag"), ModelSpec(find_model("majority"))]
    jobs = plan(data, who, Folds("stratified", 2), [0])
    done = list(evaluate(data, jobs, folder, keep_artefacts=True, keep_predictions=True))
    assert len(done) == (3 + 2) * 2
    return folder


def spec(name: str = "dge-bag", **settings: Any) -> ModelSpec:
    return ModelSpec(find_model(name), {**QUICK, **settings})


def test_who_chooses() -> None:
    for task in ("nodes", "links"):
        choosing = {name for name in model_names(task) if find_model(name, task).chooses_network}
        assert choosing == {name for name in model_names(task) if name.startswith("dge-")}


def test_the_nodes_are_the_same_whatever_the_input(counts: GramCounts) -> None:
    # The counts lack one labelled source, the network another.
    fewer = hl.count_grams([path for path in MADE.paths if "s0" not in path], order=3)
    smaller = hl.grow([path for path in MADE.paths if "s1" not in path], tau=1.0)
    for which in ("gk", "g1", "both", "auto", "all"):
        found = NodeData.of(smaller, NODES, LABELS, which, fewer)
        assert found.missing == ("s0", "s1")
    assert list(NodeData.of(smaller, NODES, LABELS, "all", fewer).inputs) == ["gk", "g1", "auto"]
    assert list(NodeData.of(smaller.first_order(), NODES, LABELS, "all", fewer).inputs) == ["g1", "auto"]
    alone = NodeData.of(counts, NODES, LABELS)
    assert dict(alone.inputs) == {"auto": counts}
    with pytest.raises(InputError, match="input 'auto': a network is chosen from counts of paths, and none"):
        NodeData.of(smaller, NODES, LABELS, "auto")


def test_the_plan(data: NodeData) -> None:
    who = [spec("dge-bag", tau=3.0), ModelSpec(find_model("gcn"), {"width": 6})]
    jobs = plan(data, who, Folds("stratified", 2), [0])
    rows = [(job.configuration.model, job.configuration.input) for job in jobs[::2]]
    assert rows == [
        *(("dge-bag", name) for name in ("gk", "g1", "auto")),
        *(("gcn", name) for name in ("gk", "g1")),
    ]
    # What fixes a choice is for the input that chooses; a network that is grown has none.
    taus = {job.configuration.input: job.configuration.parameters.get("tau") for job in jobs[:6]}
    assert taus == {"gk": None, "g1": None, "auto": 3.0}
    tested = {tuple(job.test.tolist()) for job in jobs}
    assert len(tested) == 2
    with pytest.raises(ParameterError, match="input 'auto': none of gcn can choose its network"):
        plan(data, who[1:], Folds("stratified", 2), [0])


def test_links_are_not_held_out_of_counts() -> None:
    with pytest.raises(ParameterError, match=r"must be one of 'gk', 'g1', 'both'\. Got 'auto'"):
        LinkData(hl.grow(MADE.paths), LinkProtocol(), "auto")


def test_the_digest_is_of_all_levels(counts: GramCounts) -> None:
    lists = list(MADE.paths)
    same = hl.count_grams(MADE.paths, order=3)
    assert network_digest(same) == network_digest(counts)
    others = [
        hl.count_grams(MADE.paths, order=2),
        hl.count_grams(lists, order=3),  # each path once, whatever its count
        hl.count_grams([[f"{name}'" for name in path] for path in lists], order=3),
        hl.grow(MADE.paths),
    ]
    assert len({network_digest(one) for one in (counts, *others)}) == 5
    # Steps that are crossed: only grams of four entities tell these two apart.
    names = [[name] for name in "axbycz"]
    crossed = [*names, list("axby"), list("cxbz")], [*names, list("axbz"), list("cxby")]
    assert len({network_digest(hl.count_grams(paths, order=2)) for paths in crossed}) == 1
    assert len({network_digest(hl.count_grams(paths, order=3)) for paths in crossed}) == 2


def test_counts_go_to_other_processes(counts: GramCounts) -> None:
    again = pickle.loads(pickle.dumps(counts))
    assert network_digest(again) == network_digest(counts)
    assert again.grow(2) == counts.grow(2)


def test_records_say_what_was_chosen(run: Path, counts: GramCounts) -> None:
    [folder] = read_runs([str(run)])
    found = {r.configuration.input: r.sizes.chosen for r in folder.records[::2]}
    assert found["gk"] is found["g1"] is None
    chosen = found["auto"]
    assert chosen is not None
    assert set(chosen.to_json()) == {"order", "tau", "min_support", "nodes"}
    grown = counts.grow(chosen.order, chosen.tau or 1.0, int(chosen.min_support or 0))
    assert grown.n_nodes == chosen.nodes
    assert "--input all --paths PATHS" in folder.commands[0]


def test_a_run_goes_on_where_it_stopped(run: Path, data: NodeData) -> None:
    jobs = plan(data, [spec("dge-bag"), ModelSpec(find_model("majority"))], Folds("stratified", 2), [0])
    assert not any(ran for _, _, ran in evaluate(data, jobs, run, keep_predictions=True))


def test_networks_that_were_chosen_are_not_kept(run: Path, tmp_path: Path) -> None:
    assert len(list((run / FOLDER).glob("network-*.hon"))) == 2
    study = read_run(run).studies[0]
    assert {model.input for model in study.models} == {"gk", "g1", "auto"}
    for model in study.models:
        answers = read_answers(run, model.records[0].digest)
        assert answers is not None
        if model.model == "dge-bag":
            assert ("relatives" in answers.arrays) is (model.input != "auto")
            assert "members" in answers.arrays
    page = write_report(run, tmp_path / "report.html").read_text("utf-8")
    assert "chosen order (from the paths, in each fit)" in page


def test_pages_of_results_have_it(run: Path, tmp_path: Path) -> None:
    [results] = gather(read_runs([f"walks={run}"]))
    row = results.find("dge-bag", "auto")
    assert row is not None
    assert name_of(row) == "DGE-bag on chosen"
    make_page([f"walks={run}"], tmp_path / "results.md")
    assert "| DGE-bag " in (text := (tmp_path / "results.md").read_text("utf-8"))
    assert "| chosen " in text


def test_a_run_of_auto_alone_has_a_page(counts: GramCounts, tmp_path: Path) -> None:
    alone = NodeData.of(hl.grow(MADE.paths), NODES, LABELS, "auto", counts)
    jobs = plan(alone, [spec("dge-pool")], Folds("stratified", 2), [0])
    list(evaluate(alone, jobs, tmp_path / "run", keep_artefacts=True))
    assert not list((tmp_path / "run" / FOLDER).glob("network-*.hon"))
    page = write_report(tmp_path / "run", tmp_path / "report.html")
    assert "the network: no explorer" in page.read_text("utf-8")
    [folder] = read_runs([str(tmp_path / "run")])
    assert "--input auto --paths PATHS" in folder.commands[0]


# --- tables of the paper ---------------------------------------------------------------------------------


def test_rows_of_tables() -> None:
    with_choices = rows_of("table-6", ["dge-bag", "gcn"], auto=True)
    assert [(row.model, row.input) for row in with_choices if row.model == "dge-bag"][-1] == (
        "dge-bag",
        "auto",
    )
    assert not [row for row in with_choices if row.model == "gcn" and row.input == "auto"]
    assert [row for row in with_choices if row.input != "auto"] == rows_of("table-6", ["dge-bag", "gcn"])
    ensembles = {row.model for row in rows_of("table-2") if row.model.startswith("dge-")}
    chosen = [row.model for row in rows_of("table-2", auto=True) if row.input == "auto"]
    assert sorted(chosen) == sorted(ensembles)
    assert rows_of("table-7", auto=True) == rows_of("table-7")


def test_why_a_row_cannot_be_chosen(tmp_path: Path) -> None:
    source = Source("walks", hl.grow(MADE.paths), tuple(NODES), tuple(LABELS), None, MADE.paths)
    bench = Bench(source, tmp_path, Plan(auto=True))
    assert bench.reason(TableRow("dge-bag", "auto")) == ""
    assert bench.reason(TableRow("gcn", "auto")) == "gcn cannot choose its network"
    blind = Bench(Source("walks", source.network, source.nodes, source.labels), tmp_path, Plan(auto=True))
    assert blind.reason(TableRow("dge-bag", "auto")) == "there are no paths to choose a network from"


def test_a_table_with_a_row_that_chooses(tmp_path: Path) -> None:
    source = Source("walks", hl.grow(MADE.paths), tuple(NODES), tuple(LABELS), None, MADE.paths)

    def given(entry: Any) -> dict[str, Any]:
        return {**QUICK, "tau": 1.0}

    how = Plan(Folds("stratified", 2), protocol="fixed", given=given, auto=True)
    bench = Bench(source, tmp_path / "walks", how)
    planned = bench.planned(rows_of("table-6", ["dge-bag"], auto=True))
    assert [(row.input, row.jobs) for row in planned] == [("g1", 2), ("gk", 2), ("auto", 2)]
    table = make_table("table-6", [bench], ["dge-bag"], [])
    assert [cells[:2] for cells in table.rows] == [
        ["DGE-bag", name] for name in ("first-order", "higher-order", "chosen")
    ]
    fact = next(fact for fact in table.facts if fact["input"] == "auto" and fact["data"] == "walks")
    assert fact["ours"] is not None
    assert fact["published"] is None
    [folder] = read_runs([str(tmp_path)])
    chosen = [r.sizes.chosen for r in folder.records if r.configuration.input == "auto"]
    assert len(chosen) == 2
    assert all(one is not None and one.tau in (None, 1.0) for one in chosen)
