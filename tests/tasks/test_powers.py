"""The power of edges' weights, chosen: who wins, that a fit is the one with that power, what is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from choice_cases import Designed, Rows
from sklearn.base import clone
from task_cases import FAST, communities, make_classifier

import honlearn as hl
from honlearn.ensemble.training import Trainer
from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import SAGE
from honlearn.learners.base import USUAL_POWER
from honlearn.tasks.choice import Candidate, Choice
from honlearn.tasks.held import HeldOutScore
from honlearn.tasks.node_fit import POWERS, NodeFitting

SHORT = {**FAST, "path_features": 0, "kernel_share": 0.0}
TRAIN = np.arange(60) % 4 < 3


def loud() -> tuple[HigherOrderNetwork, list[str], list[str]]:
    """Two groups: all that tells them apart is many thin edges, and one thick edge leads everybody astray."""
    random = np.random.default_rng(0)
    names = [f"{group}{i}" for group in "ab" for i in range(40)]
    edges: list[tuple[str, str, int]] = []
    for name in names:
        near = random.choice([other for other in names if other[0] == name[0] and other != name], 8, False)
        edges += [(name, str(other), 1) for other in near]
        edges.append((name, f"hub{random.integers(3)}", 400))
    sources, targets, weights = zip(*edges, strict=True)
    return from_edges(sources, targets, weights), names, [name[0] for name in names]


# --- the choice --------------------------------------------------------------------------------------


def designed(probabilities: dict[float, float], spread: float = 0.0) -> Designed:
    """Return searches that give the truth such probabilities by the power of the edge weights.

    With powers other than the usual one every second example held back is `spread` better, the next worse.
    """

    def probability(one: Candidate) -> Rows:
        power = float(one.key.removeprefix("edge power "))
        turns = np.where(np.arange(int(TRAIN.sum())) // 4 % 2, 1.0, -1.0)
        return probabilities[power] * np.exp(0 * turns if power == USUAL_POWER else spread * turns)

    return Designed(probability)


def resolved(search: Designed, monkeypatch: pytest.MonkeyPatch, **given: Any) -> Any:
    """Return a classifier that has fitted, whose choice was made on designed predictions."""
    hon, nodes, y = communities()
    monkeypatch.setattr(NodeFitting, "_search", lambda self, examples, *wanted: search(*wanted))
    model = make_classifier(hon, **{**SHORT, "max_epochs": 1, "edge_power": "auto", **given})
    return model.fit(nodes[TRAIN], y[TRAIN])


def test_the_power_that_loses_least_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    search = designed({0.0: 0.5, 0.25: 0.9, 0.5: 0.6, 1.0: 0.4})
    model = resolved(search, monkeypatch)
    table = model.selection_results_
    assert model.edge_power_ == model.architecture_.kinds[0].edge_power == 0.25
    assert table["edge_power"].tolist() == [0.25, 0.5, 0.0, 1.0]
    assert table["chosen"].tolist() == [True, False, False, False]
    # As many learners as hold back every example once.
    assert table["learners"].tolist() == [4] * 4
    assert table["members"].tolist() == [3, 0, 0, 0]
    assert table["loss"].tolist() == pytest.approx([-np.log(x) for x in (0.9, 0.6, 0.5, 0.4)])
    gains = [np.log(x / 0.6) for x in (0.9, 0.5, 0.4)]
    assert table["gain"].dropna().tolist() == pytest.approx(gains)
    assert np.isnan(table["gain"].iloc[1])


def test_the_usual_power_stays_where_the_gain_is_within_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    close = {0.0: 0.5, 0.25: 0.55, 0.5: 0.5, 1.0: 0.5}
    model = resolved(designed(close, spread=0.5), monkeypatch)
    table = model.selection_results_
    best = table[table["edge_power"] == 0.25].iloc[0]
    assert 0 < best["gain"] <= best["standard_error"]
    assert model.edge_power_ == USUAL_POWER
    assert table.loc[table["chosen"], "edge_power"].tolist() == [USUAL_POWER]
    assert resolved(designed(close), monkeypatch).edge_power_ == 0.25


def test_without_examples_held_back_nothing_is_chosen() -> None:
    hon, nodes, _ = communities()
    model = make_classifier(hon, **SHORT, edge_power="auto").fit(nodes[:3], list("abc"))
    assert model.edge_power_ == USUAL_POWER
    assert model.selection_results_["loss"].isna().all()


# --- the fit -----------------------------------------------------------------------------------------


def test_weights_that_lead_astray_are_ignored() -> None:
    hon, nodes, labels = loud()
    settings = {**SHORT, "max_epochs": 40}
    chosen = make_classifier(hon, **settings, edge_power="auto").fit(nodes[::2], labels[::2])
    assert chosen.edge_power_ == 0.0
    # The less the weights count, the better.
    assert chosen.selection_results_["edge_power"].tolist() == [0.0, 0.25, 0.5, 1.0]
    plain = make_classifier(hon, **settings, edge_power=0.0).fit(nodes[::2], labels[::2])
    assert not hasattr(plain, "selection_results_")
    # It is the fit with that power, to the last bit.
    assert np.array_equal(chosen.predict_proba(nodes), plain.predict_proba(nodes))


def test_another_fit_chooses_anew() -> None:
    hon, nodes, y = communities()
    clf = make_classifier(hon, **SHORT, edge_power="auto").fit(nodes[TRAIN], y[TRAIN])
    assert clf.edge_power_ in POWERS
    assert clf.get_params()["learner__edge_power"] == "auto"
    clf.set_params(learner__edge_power=1.0).fit(nodes[TRAIN], y[TRAIN])
    assert clf.architecture_.kinds[0].edge_power == 1.0
    assert not hasattr(clf, "edge_power_")
    assert not hasattr(clf, "selection_results_")
    again = clone(clf).fit(nodes[TRAIN], y[TRAIN])
    assert np.array_equal(clf.predict_proba(nodes), again.predict_proba(nodes))


def test_with_a_network_that_is_chosen_too() -> None:
    words = [["a", "b", "c"], ["d", "b", "e"], ["c", "a", "d"], ["e", "d", "a"]] * 30
    counts = hl.count_grams(words, order=2)
    clf = make_classifier(counts, **SHORT, edge_power="auto").fit(["a", "b", "c", "d", "e"], [0, 1, 0, 1, 1])
    assert len(clf.selection_results_) > 1
    assert clf.edge_power_ in POWERS


def test_killed_after_the_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hon, nodes, y = communities()
    given = {**SHORT, "edge_power": "auto", "checkpoint_seconds": 0.0}
    straight = make_classifier(hon, **given).fit(nodes[TRAIN], y[TRAIN])
    given["checkpoint"] = tmp_path / "fit"
    save = Trainer._maybe_save

    def die(trainer: Trainer) -> None:
        save(trainer)
        if trainer.options.checkpoint is not None and trainer.at.step == 3:
            raise KeyboardInterrupt("on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_maybe_save", die)
        with pytest.raises(KeyboardInterrupt, match="on purpose"):
            make_classifier(hon, **given).fit(nodes[TRAIN], y[TRAIN])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fit", "fit.choice"]
    with monkeypatch.context() as patch:
        patch.delattr(HeldOutScore, "update")  # no learner is trained for the choice again
        resumed = make_classifier(hon, **given).fit(nodes[TRAIN], y[TRAIN])
    assert resumed.edge_power_ == straight.edge_power_
    assert resumed.predict_proba(nodes).tobytes() == straight.predict_proba(nodes).tobytes()
    assert list(tmp_path.iterdir()) == []


def test_what_was_chosen_is_saved(tmp_path: Path) -> None:
    hon, nodes, y = communities()
    clf = make_classifier(hon, **SHORT, edge_power="auto").fit(nodes[TRAIN], y[TRAIN])
    clf.save(tmp_path / "model")
    again = hl.load_model(tmp_path / "model")
    assert (again.learner.edge_power, again.edge_power_) == ("auto", clf.edge_power_)
    assert again.selection_results_.equals(clf.selection_results_)
    assert np.array_equal(again.predict_proba(nodes), clf.predict_proba(nodes))
    assert f"edge power</span> {clf.edge_power_:g}" in clf._repr_html_()


def test_other_words_are_refused() -> None:
    hon, nodes, y = communities()
    with pytest.raises(ParameterError, match=r"'edge_power' parameter of SAGE .* Got 'outo'"):
        make_classifier(hon, **SHORT, edge_power="outo").fit(nodes, y)
    with pytest.raises(ParameterError, match=r"'edge_power' parameter of SAGE .* number .* Got 'auto'"):
        hl.DGELinkPredictor(hon, SAGE(widths=(4, 4), edge_power="auto"), n_learners=1).fit()


def test_a_fit_that_was_stopped_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    network, names, labels = loud()

    def made() -> Any:
        return make_classifier(network, **{**SHORT, "edge_power": "auto", "max_epochs": 2})

    model = made()
    with monkeypatch.context() as patched:
        patched.setattr(Choice, "best", lambda *given: interrupted())
        with pytest.raises(KeyboardInterrupt, match="now"):
            model.fit(names, [name[-1] for name in names])
    assert not {"_choice", "_known_vectors", "_one_step", "_notes"} & vars(model).keys()
    again, alone = model.fit(names, labels), made().fit(names, labels)
    assert again.selection_results_["loss"].tolist() == alone.selection_results_["loss"].tolist()


def interrupted() -> None:
    raise KeyboardInterrupt("now")
