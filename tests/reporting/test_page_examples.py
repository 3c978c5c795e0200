"""The first example of the page, names of classes, folds in pairs, and held-out memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from report_cases import content_of, learned_run, small_labels, small_network, write_run

from honlearn.reporting.build import write_report
from honlearn.reporting.examples import example_context, example_entity
from honlearn.reporting.naming import class_names, class_order
from honlearn.results.learned import Entity, LearnedFacts
from honlearn.results.records import Records


def test_the_example_has_the_largest_evidence_and_is_right() -> None:
    contexts = {
        "ln_bayes_factor": [9.0, 7.0, None, 8.0],
        "strength": [None] * 4,
        "bits": [1.0, 2.0, 3.0, 4.0],
    }
    bases = ["wrong", "right", "right", "right"]
    assert example_context(contexts, bases, None) == 0
    assert example_context(contexts, bases, {"right"}) == 3
    unknown = {**contexts, "ln_bayes_factor": [None] * 4}
    assert example_context(unknown, bases, {"right"}) == 3  # by the divergence
    assert example_context(contexts, [], None) is None


def test_the_first_entity_is_right_and_changed_by_memory() -> None:
    def entity(name: str, before: float | None) -> Entity:
        reasons = None if before is None else {"references": {"on the first-order network": before}}
        return Entity(name, "a", [0.9, 0.1], None, reasons)

    rows = [entity("plain", None), entity("little", 0.8), entity("wrong", 0.0), entity("much", 0.2)]
    learned = LearnedFacts("", "", "", ["a", "b"], 0.1, rows)
    assert example_entity(learned, {"plain", "little", "much"}) == 3
    assert example_entity(learned, None) == 2
    assert example_entity(None, None) == 0


def test_classes_are_counted_and_named() -> None:
    assert class_order({"b10", "b9", "3", "20"}) == ["3", "20", "b9", "b10"]
    assert class_order(["01", "1"]) == class_order(["1", "01"])
    labels = {"x": "1", "y": "1", "z": "2"}
    one = {"x": {"state": "NY", "region": "1"}, "y": {"state": "NJ", "region": "1"}}
    assert class_names(labels, {**one, "z": {"state": "PA", "region": "2"}}) == {}
    assert class_names({"x": "1", "z": "2"}, {"x": {"name": "an"}, "z": {"name": "other"}}) == {}


def test_a_page_of_learn_has_names_an_example_and_held_out_bits(tmp_path: Path) -> None:
    run = learned_run(tmp_path / "run")
    study = content_of(write_report(run, tmp_path / "r.html").read_text("utf-8"))["study"]
    assert study["class_names"] == {"2": "two", "10": "ten"}
    assert study["network"]["classes"] == study["entities"]["classes"] == ["2", "10"]
    assert all(one["classes"] == ["2", "10"] for one in study["predictions"].values())
    # The second order saves bits beyond doubt, the third does not.
    memory = study["memory"]
    assert (memory["order"], memory["first"], memory["saved"]) == (2, 3.0, pytest.approx(0.5))
    assert study["entities"]["nodes"][study["example"]["entity"]] == "nobody knows"


def test_an_example_is_called_right_only_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = small_network()
    run = write_run(tmp_path / "run", network, small_labels(network))
    for right in ({"nobody"}, set(network.vocabulary.names), None):
        monkeypatch.setattr("honlearn.reporting.study.right_nodes", lambda predictions, right=right: right)
        study = content_of(write_report(run, tmp_path / "r.html").read_text("utf-8"))["study"]
        assert study["example"]["context"] is not None
        assert study["example"]["right"] == bool(right and right != {"nobody"})


def test_folds_are_joined_in_pairs(tmp_path: Path) -> None:
    network = small_network()
    run = write_run(tmp_path / "run", network, small_labels(network))
    study = content_of(write_report(run, tmp_path / "r.html").read_text("utf-8"))["study"]
    values = {
        name: [r.score("micro_f1") for r in Records(run) if r.configuration.input == name]
        for name in ("g1", "gk")
    }
    pair = study["pair"]
    assert [row["first"] for row in pair["folds"]] == pytest.approx(values["g1"], rel=1e-5)
    assert [row["higher"] for row in pair["folds"]] == pytest.approx(values["gk"], rel=1e-5)
    assert pair["mean"]["higher"] == pytest.approx(np.mean(values["gk"]), rel=1e-5)
    alone = write_run(tmp_path / "alone", network, small_labels(network), models=[("dge-bag", "gk")])
    study = content_of(write_report(alone, tmp_path / "a.html").read_text("utf-8"))["study"]
    assert study["pair"] is None
