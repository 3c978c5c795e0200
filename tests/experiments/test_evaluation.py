from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torch_geometric.nn.models import GraphSAGE

import honlearn as hl
from honlearn.errors import DamageWarning, InputError, ParameterError
from honlearn.experiments.evaluate import ModelSpec, NodeData, evaluate, plan, run_job
from honlearn.experiments.folds import Folds
from honlearn.experiments.predictions import Predictions
from honlearn.experiments.registry import find_model
from honlearn.learners import GCN, SAGE, TorchLearner
from honlearn.results.record import Configuration, DataDigests, Record, Sizes, Times, required
from honlearn.results.records import FILE
from honlearn.results.summary import compare, summarise, write_summary
from honlearn.tasks.nested import nested

QUICK = {"n_learners": 2, "widths": (6, 6), "max_epochs": 3, "patience": 2, "n_threads": 1}


@pytest.fixture(scope="module")
def data() -> NodeData:
    made = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    return NodeData.of(hl.grow(made.paths), list(made.labels), list(made.labels.values()), "both")


def spec(name: str = "dge-bag", **settings: Any) -> ModelSpec:
    return ModelSpec(find_model(name), {**QUICK, **settings})


def without_times(record: Record) -> Record:
    return replace(record, times=Times())


def test_the_grid(data: NodeData) -> None:
    jobs = plan(data, [spec(), spec("dge-pool")], Folds("stratified", 3), [4, 5])
    assert len(jobs) == 2 * 2 * 2 * 3
    assert len({job.digest for job in jobs}) == len(jobs)
    asked = [(c.model, c.input, c.seed, c.fold) for c in (job.configuration for job in jobs)]
    assert asked[0] == ("dge-bag", "gk", 4, 0)
    assert asked[-1] == ("dge-pool", "g1", 5, 2)
    for job in jobs:
        assert sorted([*job.train, *job.test]) == list(range(18))
    # Every row is tested on the same nodes, with the same seed of the fit.
    split = {(a[2], a[3]): (job.seed, job.test.tolist()) for a, job in zip(asked, jobs, strict=True)}
    assert all(split[a[2], a[3]] == (job.seed, job.test.tolist()) for a, job in zip(asked, jobs, strict=True))
    assert len(split) == 6


def test_the_digest_is_of_what_decides_the_result(data: NodeData) -> None:
    def digest(who: ModelSpec, seed: int = 0, count: int = 3, given: NodeData = data) -> str:
        return plan(given, [who], Folds("stratified", count), [seed])[0].digest

    base = digest(spec())
    assert base == digest(spec(n_threads=2, verbose=False))
    relabelled = NodeData(data.nodes, (*data.labels[:-1], "c2"), data.inputs)
    others = [
        digest(spec(learning_rate=0.02)),
        digest(spec("dge-bag*")),
        digest(spec(), seed=1),
        digest(spec(), count=4),
        digest(spec(), given=NodeData(data.nodes, data.labels, {"gk": data.inputs["g1"]})),
        digest(spec(), given=relabelled),
    ]
    assert len({base, *others}) == 7


def test_the_digest_is_of_every_kind_of_learner(data: NodeData) -> None:
    def digest(learner: Any) -> str:
        spec = ModelSpec(find_model("dge-bag"), {"learner": learner})
        return plan(data, [spec], Folds("stratified", 3), [0])[0].digest

    def module(hidden: int) -> TorchLearner:
        return TorchLearner(lambda n_in, n_out: GraphSAGE(n_in, hidden, 2, n_out))

    learners = [SAGE(), SAGE(widths=(5, 5)), [SAGE(), GCN()], [SAGE(), GCN(widths=(5, 5))], [GCN(), SAGE()]]
    assert len({digest(learner) for learner in [*learners, module(8), module(9)]}) == 7
    assert digest(module(8)) == digest(module(8))
    assert digest("sage") == digest(SAGE())
    assert digest(["sage", "gcn"]) == digest([SAGE(), GCN()])


def test_a_record_holds_what_a_reader_needs(data: NodeData) -> None:
    [job, *_] = plan(data, [spec()], Folds("stratified", 3), [0])
    record, table = run_job(job, data)
    json.dumps(record.to_json(), allow_nan=False)
    sizes = record.to_json()["sizes"]
    assert 0 < sizes.pop("kernel_share") <= 0.75
    assert sizes | {"parameters": None} == {
        "train": 12,
        "test": 6,
        "classes": 2,
        "unseen_classes": 0,
        "parameters": None,
    }
    assert record.configuration.parameters["widths"] == [6, 6]
    assert required(record.times.fit_cpu_seconds, "fit_cpu_seconds") > 0
    assert {"honlearn", "torch", "python"} <= set(record.versions)
    right = (table["label"] == table["predicted"]).mean()
    assert record.score("micro_f1") == pytest.approx(right)
    assert table["disagreement"].mean() == pytest.approx(record.score("disagreement"))
    assert table["node"].tolist() == [data.nodes[i] for i in job.test]
    assert table[["p_c0", "p_c1"]].sum(axis=1).to_numpy() == pytest.approx(1, abs=1e-5)


def test_a_run_that_stopped_goes_on_to_the_same_records(data: NodeData, tmp_path: Path) -> None:
    jobs = plan(data, [spec()], Folds("stratified", 3), [0])
    whole = [record for _, record, _ in evaluate(data, jobs, tmp_path / "whole")]
    steps = evaluate(data, jobs, tmp_path / "run")
    next(steps)
    steps.close()
    with open(tmp_path / "run" / FILE, "ab") as file:
        file.write(b'{"digest": "cut off')
    with pytest.warns(DamageWarning, match="the last line was cut short"):
        again = list(evaluate(data, jobs, tmp_path / "run"))
    assert [ran for _, _, ran in again] == [False, True, True, True, True, True]
    assert [without_times(r) for _, r, _ in again] == [without_times(r) for r in whole]
    assert len((tmp_path / "run" / FILE).read_text().splitlines()) == 6


def test_predictions_are_kept_and_made_where_they_lack(data: NodeData, tmp_path: Path) -> None:
    one = NodeData(data.nodes, data.labels, {"gk": data.inputs["gk"]})
    jobs = plan(one, [spec()], Folds("stratified", 3), [0])
    first = [without_times(record) for _, record, _ in evaluate(one, jobs, tmp_path)]
    assert not (tmp_path / "predictions.parquet").exists()
    again = list(evaluate(one, jobs, tmp_path, keep_predictions=True))
    assert [(without_times(r), ran) for _, r, ran in again] == [(r, True) for r in first]
    assert not any(ran for _, _, ran in evaluate(one, jobs, tmp_path, keep_predictions=True))
    table = pd.read_parquet(tmp_path / "predictions.parquet")
    assert sorted(table["node"]) == sorted(data.nodes)
    assert dict(zip(table["node"], table["label"], strict=True)) == dict(
        zip(data.nodes, data.labels, strict=True)
    )
    expected = ["model", "input", "seed", "fold", "node", "label", "predicted", "p_c0", "p_c1"]
    more = ["confidence", "entropy", "disagreement", "expected_entropy", "mutual_information"]
    assert list(table.columns) == [*expected, *more]


def test_a_class_that_the_training_part_lacks(data: NodeData) -> None:
    labels = ("alone", *data.labels[1:])
    odd = NodeData(data.nodes, labels, {"gk": data.inputs["gk"]})
    jobs = plan(odd, [spec()], Folds("file", 1, ((data.nodes[0], data.nodes[1]),)), [0])
    record, table = run_job(jobs[0], odd)
    assert record.sizes.counts["unseen_classes"] == 1
    assert table["p_alone"].tolist() == [0.0, 0.0]
    assert 16.118 / 2 <= record.score("log_loss") < 16.12
    assert record.score("micro_f1") <= 0.5


def test_predictions_agree_with_the_estimator(data: NodeData) -> None:
    given = nested(hl.DGEClassifier, QUICK)
    clf = hl.DGEClassifier(data.inputs["gk"], **given, random_state=0).fit(data.nodes, data.labels)
    table = Predictions.of(clf, data.nodes[:7]).table()
    assert table["label"].tolist() == clf.predict(data.nodes[:7]).tolist()
    assert np.array_equal(table[["p_c0", "p_c1"]], clf.predict_proba(data.nodes[:7]))
    assert np.allclose(table["disagreement"], clf.disagreement(data.nodes[:7]))
    assert np.allclose(table["entropy"], clf.entropy(data.nodes[:7]))


def test_data_that_cannot_be_evaluated(data: NodeData) -> None:
    hon = data.inputs["gk"]
    with pytest.raises(
        InputError, match="none of the 1 labelled nodes is in the network: they are called 'x'"
    ):
        NodeData.of(hon, ["x"], ["a"])
    with pytest.raises(ParameterError, match=r"'input' parameter of evaluate .* Got 'g2'"):
        NodeData.of(hon, ["s0"], ["a"], "g2")
    with pytest.raises(InputError, match="all labelled nodes are of the class 'a'"):
        plan(NodeData.of(hon, ["s0"], ["a"]), [spec()], Folds(), [0])
    with pytest.raises(ParameterError, match="a model is named twice: dge-bag, dge-bag"):
        plan(data, [spec(), spec()], Folds(), [0])
    with pytest.raises(InputError, match=r"; 2 of them are there in another spelling: ' S0' is 's0'"):
        NodeData.of(hon, [" S0", "S1 ", "x"], ["a", "b", "c"])
    hint = NodeData.of(hon, ["s0", "S1"], ["a", "b"]).missing_spellings
    assert hint.endswith("spelling: 'S1' is 's1'; spell them alike in both")
    some = NodeData.of(hon, ["s0", "x", "s1"], ["a", "b", "b"], "both")
    assert (some.nodes, some.labels, some.missing) == (("s0", "s1"), ("a", "b"), ("x",))
    for which in ("gk", "g1", "both"):  # a network without memory is never called gk
        assert list(NodeData.of(data.inputs["g1"], ["s0"], ["a"], which).inputs) == ["g1"]
    assert list(NodeData.of(hon, ["s0"], ["a"], "g1").inputs) == ["g1"]


def made_record(model: str, fold: int, score: float, seed: int = 0) -> Record:
    names = ("macro_f1", "log_loss", "accuracy", "single_micro_f1", "gain", "disagreement")
    asked = Configuration(model, "gk", seed, fold, data=DataDigests(test=f"{fold}"))
    scores = {"micro_f1": score, **dict.fromkeys(names)}
    return Record(f"{model}{seed}{fold}", asked, scores, Sizes(train=80, test=20), Times(1.0, 2.0))


def test_the_summary(tmp_path: Path) -> None:
    ours, theirs = [0.5, 0.6, 0.7, 0.6, 0.6], [0.48, 0.59, 0.67, 0.58, 0.58]
    first = [made_record("a", fold, score) for fold, score in enumerate(theirs)]
    second = [made_record("b", fold, score) for fold, score in enumerate(ours)]
    rows = summarise([*first, *reversed(second)])
    assert [(row["model"], row["records"], row["p_value"] is None) for row in rows] == [
        ("a", 5, True),
        ("b", 5, False),
    ]
    assert rows[1]["micro_f1_mean"] == pytest.approx(np.mean(ours))
    assert rows[1]["micro_f1_std"] == pytest.approx(np.std(ours, ddof=1))
    assert rows[1]["gain_mean"] is None
    # The same five differences as in the test of the corrected t-test.
    assert rows[1]["p_value"] == pytest.approx(0.0135169, abs=1e-7)
    assert compare(second[:1], first) is None
    assert compare(second, [made_record("a", 0, 0.5, seed=9)]) is None
    write_summary(tmp_path, rows, {"nodes": 100})
    table = pd.read_csv(tmp_path / "summary.csv")
    assert table["micro_f1_mean"].tolist() == [row["micro_f1_mean"] for row in rows]
    assert json.loads((tmp_path / "summary.json").read_text()) == {"nodes": 100, "rows": rows}
