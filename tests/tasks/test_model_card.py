"""The card of a saved model: what it tells of each kind, and that no file can make it do or show more."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import log_loss
from task_cases import communities

import honlearn as hl
from honlearn.errors import FormatError
from honlearn.experiments.registry import find_model
from honlearn.stored import Fields
from honlearn.tasks.card_text import MARK, escaped, is_own, markdown
from honlearn.tasks.fit_facts import Clock, read_facts
from honlearn.tasks.held_scores import held_scores, held_set_scores
from honlearn.tasks.model_card import _member
from honlearn.tasks.temperature import tempered

_SMALL: dict[str, Any] = {"n_learners": 2, "widths": (4, 4), "max_epochs": 2, "n_threads": 1}


@lru_cache
def fitted(name: str, task: str = "nodes") -> Any:
    """Return a small fitted model of this name."""
    network, nodes, labels = communities()
    if task == "paths":
        paths = 12 * [["A", "B", "C"], ["C", "B", "A"]]
        return hl.PathClassifier(vectors=2, random_state=0).fit(paths, 12 * ["on", "back"])
    entry = find_model(name, task)
    wanted = {**_SMALL, "random_state": 0}
    model = entry.make(network, **{key: value for key, value in wanted.items() if key in entry.keywords()})
    return model.fit() if task == "links" else model.fit(nodes, labels)


def changed(folder: Path, **values: object) -> None:
    """Change fields of the facts in a model folder."""
    path = folder / "training.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


CASES = [("dge-bag", "nodes"), ("dge-pool", "links"), ("gcn", "nodes"), ("majority", "nodes"), ("", "paths")]


@pytest.mark.parametrize(("name", "task"), CASES)
def test_every_kind_of_model_has_a_card(name: str, task: str, tmp_path: Path) -> None:
    model = fitted(name, task)
    model.save(tmp_path / "model")
    card = hl.model_card(tmp_path / "model")
    assert card["model"]["kind"] == type(model).__name__
    assert card["model"]["task"] == task
    assert card["data"]["entities"] == model.network.n_entities
    assert card["data"]["unit"] == {"links": "pairs"}.get(task, task)
    assert card["training"]["cpu_seconds"] >= 0
    assert card["versions"]["honlearn"] == hl.__version__
    json.dumps(card, allow_nan=False)
    text = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert text.startswith(MARK)
    assert text == markdown(card)
    for section in ("## Data", "## Training", "## Versions", "## Limits"):
        assert section in text


def test_counts_are_those_of_the_labels(tmp_path: Path) -> None:
    _, nodes, labels = communities()
    fitted("dge-bag").save(tmp_path)
    data = hl.model_card(tmp_path)["data"]
    names, counts = np.unique(labels, return_counts=True)
    assert data["classes"] == dict(zip(names.tolist(), counts.tolist(), strict=True))
    assert data["examples"] == len(nodes)


def test_shares_of_members_and_kernel_sum_to_one(tmp_path: Path) -> None:
    model = fitted("dge-bag")
    model.save(tmp_path)
    choice = hl.model_card(tmp_path)["choice"]
    assert choice["path_kernel_share"] == model.kernel_share_
    assert sum(one["share"] for one in choice["members"]) + choice["path_kernel_share"] == pytest.approx(1)
    assert sum(one["share"] for one in choice["members"]) == pytest.approx(model.members_["weight"].sum())
    whole, member = hl.model_card(tmp_path)["held_back"]
    assert member["log_loss"] == pytest.approx(model.history_["validation_loss"].min())
    known = model.held_back_.known()
    proba = tempered(known.proba, model.held_temperature_)
    assert whole["accuracy"] == pytest.approx((proba.argmax(1) == known.labels).mean())
    assert whole["examples"] == len(known.labels)
    assert hl.model_card(tmp_path)["calibration"]["temperature"] == model.temperature_


def test_scores_of_what_was_held_back_by_other_means() -> None:
    rng = np.random.default_rng(0)
    proba, labels = rng.dirichlet(np.ones(3), 200).astype(np.float32), rng.integers(0, 3, 200)
    found = held_scores(proba, labels)
    exact = proba / proba.astype(float).sum(1, keepdims=True)
    assert found["log_loss"] == pytest.approx(log_loss(labels, exact), rel=1e-5)
    assert found["brier"] == pytest.approx(((proba - np.eye(3)[labels]) ** 2).sum(1).mean(), rel=1e-5)
    error = 0.0
    for low in range(10):
        mine = [i for i in range(200) if low / 10 <= proba[i].max() < (low + 1) / 10]
        if mine:
            right = np.mean([proba[i].argmax() == labels[i] for i in mine])
            error += len(mine) / 200 * abs(right - np.mean([proba[i].max() for i in mine]))
    assert found["calibration_error"] == pytest.approx(error, rel=1e-5)
    assert found["accuracy_pm"] == pytest.approx(
        1.96 * np.sqrt(found["accuracy"] * (1 - found["accuracy"]) / 199), rel=1e-3
    )
    assert held_scores(proba[:0], labels[:0]) == {}


@pytest.mark.parametrize(("name", "task"), [("dge-bag", "nodes"), ("", "paths")])
def test_a_card_has_the_sets_of_what_was_held_back(name: str, task: str, tmp_path: Path) -> None:
    fitted(name, task).save(tmp_path)
    rows = hl.model_card(tmp_path)["prediction_sets"]
    assert [row["asked"] for row in rows] == [0.8, 0.9, 0.95]
    assert [row["mean_size"] for row in rows] == sorted(row["mean_size"] for row in rows)
    assert "| asked | coverage | mean size |" in (tmp_path / "README.md").read_text("utf-8")


def test_sets_of_what_was_held_back_by_other_means() -> None:
    rng = np.random.default_rng(1)
    proba, labels = rng.dirichlet(np.ones(3), 31), rng.integers(0, 3, 31)
    found = held_set_scores(proba, labels)
    sets = []
    for i in range(31):
        others = [j for j in range(31) if j % 5 != i % 5]
        # How many true classes of the others are no more probable than this class is.
        worse = [sum(proba[j, labels[j]] <= p for j in others) for p in proba[i]]
        sets.append({c for c in range(3) if (1 + worse[c]) / (1 + len(others)) > 0.2})
    assert found["coverage_80"] == pytest.approx(np.mean([labels[i] in one for i, one in enumerate(sets)]))
    assert found["set_size_80"] == pytest.approx(np.mean([len(one) for one in sets]))
    assert held_set_scores(proba[:1], labels[:1]) == {}


def test_a_mixed_bag_has_the_edge_powers_of_all_its_learners() -> None:
    def member(*powers: float | None) -> object:
        learners = [{"object": "GAT", "parameters": {"edge_power": power}} for power in powers]
        row = {"learners": learners, "network": "network", "n_learners": 2, "epochs": [3, 4], "share": 1.0}
        return _member(Fields(row, "config"), 0.0)["edge_power"]

    assert member(None, 0.25, 0.25) == 0.25
    assert member(0.5, 0.25) == "0.5, 0.25"
    assert member(None) is None


def test_a_card_of_paths_has_what_was_tried_and_the_temperature(tmp_path: Path) -> None:
    model = fitted("", "paths")
    model.save(tmp_path)
    card = hl.model_card(tmp_path)
    assert card["choice"]["C"] == model.C_
    assert len(card["choice"]["tried"]) == len(model.search_results_)
    assert card["held_back"] == [{"log_loss": pytest.approx(model.search_results_["loss"].min())}]
    assert card["calibration"] == {"temperature": pytest.approx(model.temperature_)}


def test_a_model_keeps_its_facts_when_it_is_loaded_and_saved_again(tmp_path: Path) -> None:
    fitted("gcn").save(tmp_path / "model")
    hl.load_model(tmp_path / "model").save(tmp_path / "again")
    for name in ("training.json", "README.md"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


def test_a_model_without_facts_has_a_card_that_tells_so(tmp_path: Path) -> None:
    fitted("majority").save(tmp_path)
    (tmp_path / "training.json").unlink()
    card = hl.model_card(tmp_path)
    assert "training" not in card
    assert card["data"]["classes"] == dict.fromkeys(sorted(set(communities()[2])))
    assert "not recorded" in card["limits"][0]
    assert not hasattr(hl.load_model(tmp_path), "fit_facts_")


def test_facts_of_another_model_are_not_taken_for_its_own(tmp_path: Path) -> None:
    fitted("majority").save(tmp_path)
    changed(tmp_path, config="0")
    assert "training" not in hl.model_card(tmp_path)
    assert not hasattr(hl.load_model(tmp_path), "fit_facts_")


def test_facts_of_a_model_before_do_not_stay(tmp_path: Path) -> None:
    fitted("majority").save(tmp_path)
    without = hl.load_model(tmp_path)
    del without.fit_facts_
    without.save(tmp_path)
    assert not (tmp_path / "training.json").exists()


def test_the_digest_is_of_examples_and_labels() -> None:
    labels, nodes = np.array(["a", "b", "a"]), np.arange(3)
    first = Clock().facts("nodes", labels, nodes)
    assert Clock().facts("nodes", labels, nodes).digest == first.digest
    assert Clock().facts("nodes", labels[::-1].copy(), nodes[::-1]).digest != first.digest
    assert Clock().facts("nodes", np.array(["a", "b", "b"]), nodes).digest != first.digest
    assert (first.examples, first.classes) == (3, {"a": 2, "b": 1})


def test_limits_follow_from_the_data(tmp_path: Path) -> None:
    network, nodes, labels = communities()
    few = [*range(1, len(nodes), 2)]
    known = [nodes[i] for i in few], np.array([labels[i] for i in few], object)
    known[1][0] = "rare"
    find_model("majority").make(network).fit(*known).save(tmp_path)
    lines = " ".join(hl.model_card(tmp_path)["limits"])
    assert f"{len(few)} of {network.n_entities} entities had a label" in lines
    assert "'rare' (1)" in lines
    assert "somewhat optimistic" not in lines  # nothing was held back


def test_a_class_can_make_no_markdown(tmp_path: Path) -> None:
    evil = "x|y\n# title <script>alert(1)</script> [l](http://a) `c`"
    paths = 6 * [["A", "B"], ["B", "A"]]
    hl.PathClassifier(vectors=0, C=1.0, random_state=0).fit(paths, 6 * [evil, "b"]).save(tmp_path)
    text = (tmp_path / "README.md").read_text("utf-8")
    assert "<script>" not in text
    assert "\n# title" not in text
    assert [line for line in text.splitlines() if line.startswith("| x")] == [f"| {escaped(evil)} | 6 |"]
    assert r"\[l\]" in text


def test_somebodys_own_readme_stays(tmp_path: Path) -> None:
    fitted("majority").save(tmp_path)
    assert is_own(tmp_path / "README.md")
    (tmp_path / "README.md").write_text("mine")
    fitted("majority").save(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"
    assert not is_own(tmp_path / "README.md")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"examples": "many"}, "'examples' must be a whole number"),
        ({"examples": -1}, "'examples' must be a whole number"),
        ({"unit": "apples"}, "'unit' must be one of"),
        ({"classes": {"a": 1.5}}, "'a' must be a whole number"),
        ({"classes": []}, "'classes' must be a JSON object"),
        ({"versions": {"honlearn": 3}}, "'honlearn' must be text"),
        ({"scores": {"accuracy": "high"}}, "'accuracy' must be a number"),
        ({"seconds": -1}, "'seconds' must be a number"),
        ({"format": "x"}, "not a file of this version"),
    ],
)
def test_strange_facts_are_refused(values: dict[str, Any], said: str, tmp_path: Path) -> None:
    fitted("majority").save(tmp_path)
    changed(tmp_path, **values)
    for use in (hl.model_card, hl.load_model):
        with pytest.raises(FormatError, match=said):
            use(tmp_path)


def test_a_damaged_network_is_named(tmp_path: Path) -> None:
    fitted("majority").save(tmp_path)
    path = tmp_path / "network.hon"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"network\.hon: truncated or changed"):
        hl.model_card(tmp_path)


def test_facts_are_none_where_there_is_no_file(tmp_path: Path) -> None:
    assert read_facts(tmp_path, "") is None
