"""Explanations of links, by deletion, and of the classes of paths, by terms."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ensemble_cases import Case, fitted, tiny
from scipy.special import softmax

import honlearn as hl
from honlearn import PathClassifier
from honlearn.errors import InputError, ParameterError
from honlearn.sampling.pairs import PairSampler
from honlearn.tasks.link_split import hide_pairs

LINKS = [Case((name,), task="links") for name in ("sage", "gat", "torch")]


@pytest.mark.parametrize("case", LINKS, ids=str)
def test_a_link_without_a_neighbour_is_read_on_a_network_without_the_edges(case: Case) -> None:
    model, network = fitted(case), tiny()[0]
    found = model.explain("a0", "a3", top=2)
    assert found.probability == pytest.approx(model.predict_proba([("a0", "a3")])[0, 1], abs=1e-6)
    assert len(found.of_kind("neighbor")) == 2
    for reason in found.of_kind("neighbor"):
        edited = hide_pairs(network, network.vocabulary.codes(reason.name.split(" – "))[None])
        made = dataclasses.replace(
            model._fitted_model,
            network=edited,
            sampler=PairSampler(edited, model._fitted_model.sampler.directed),
            source=dataclasses.replace(model._fitted_model.source, network=edited),
        )
        inference = made.inference(model.ensemble_, model._runtime(), 0)
        expected = inference.proba(network.vocabulary.codes(["a0", "a3"])[None])[0, 1]
        assert reason.without == pytest.approx(expected, abs=1e-6)
    effects = [abs(found.effect(one)) for one in found.of_kind("neighbor")]
    assert effects == sorted(effects, reverse=True)


def test_the_strongest_reasons_of_a_link_have_shapley_values() -> None:
    model, network = fitted(LINKS[0]), tiny()[0]
    found = model.explain("a0", "a3", top=50).of_kind("neighbor")
    values, others = [one.value for one in found[:3]], list(found[3:])
    assert len(others) >= 2
    assert {one.value for one in others} == {None}

    def score(gone: Sequence[Any]) -> float:
        pairs = [network.vocabulary.codes(one.name.split(" – ")) for one in gone]
        edited = hide_pairs(network, np.array(pairs)) if pairs else network
        return float(model._on_network(edited).predict_proba([("a0", "a3")])[0, 1])

    # Over all orders in which three neighbours, and the rest as one player, can leave.
    players, expected = [[one] for one in found[:3]] + [others], np.zeros(4)
    for order in itertools.permutations(range(4)):
        gone: list[Any] = []
        for player in order:
            before = score(gone)
            gone = gone + players[player]
            expected[player] += (before - score(gone)) / 24
    assert values == pytest.approx(expected[:3], abs=1e-6)


def test_a_link_without_memory_has_only_base_nodes() -> None:
    model, network = fitted(LINKS[0]), tiny()[0]
    found = model.explain("a0", "a3", top=50)
    names = [reason.name for reason in found.of_kind("memory")]
    contexts = [n for end in ("a0", "a3") for n in network.relatives(end) if "|" in n]
    assert sorted(names) == sorted(n for n in contexts if network.relatives(n.split("|")[0])[n] > 0)
    assert [one.name for one in found.references] == [
        "without memory (base nodes alone)",
        "on the first-order network",
        f"by counts alone (share {model.count_model_.share:.2f})",
        "by the learners alone",
    ]
    first = model._on_network(network.first_order()).predict_proba([("a0", "a3")])[0, 1]
    assert found.references[1].probability == pytest.approx(first)
    # The model itself is as it was.
    assert model.network_ is network


def test_links_that_cannot_be_explained() -> None:
    model = fitted(LINKS[0])
    with pytest.raises(InputError, match=r"takes two entities\. Got 'a0' twice"):
        model.explain("a0", "a0")
    with pytest.raises(InputError, match="'a9'"):
        model.explain("a0", "a9")


def path_classifier(**given: object) -> PathClassifier:
    there, back = [["A", "B", "C"], ["B", "C", "A"]], [["C", "B", "A"], ["A", "C", "B"]]
    paths, labels = 9 * (there + back), 9 * ["there", "there", "back", "back"]
    return PathClassifier(random_state=0, **given).fit(paths, labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("vectors", [0, 4])
@pytest.mark.parametrize("top", [2, 100])
def test_parts_of_a_logit_add_up(top: int, vectors: int) -> None:
    model = path_classifier(vectors=vectors, C=1.0)
    path = ["B", "C", "unknown", "A"]
    found = model.explain(path, top=top)
    proba = model.predict_proba([path])[0]
    assert found.probability == pytest.approx(proba.max())
    code = int(proba.argmax())
    logits = np.log(proba) - np.log(proba).mean()
    start = model.logistic_.intercept / model.temperature_
    total = sum(one.logit or 0.0 for one in found.reasons)
    assert total + start[code] - start.mean() == pytest.approx(logits[code])
    assert found.references[0].probability == pytest.approx(softmax(start)[code])
    assert ("summary" in {one.kind for one in found.reasons}) == bool(vectors)


def test_without_a_gram_its_column_is_zero() -> None:
    model = path_classifier(C=1.0)
    path = hl.Paths.from_lists([["B", "C", "A"]])
    found = model.explain(path, "back", top=100)
    columns = model._columns(path).toarray()
    for reason in found.of_kind("gram"):
        places = [i for i in range(model.grams_.n_columns) if " → ".join(model.grams_.gram(i)) == reason.name]
        left = columns.copy()
        left[:, places] = 0
        logits = (left @ model.logistic_.coef.T + model.logistic_.intercept) / model.temperature_
        assert reason.without == pytest.approx(softmax(logits[0])[list(model.classes_).index("back")])
    assert "logit" in str(found)


def test_paths_that_cannot_be_explained() -> None:
    model = path_classifier(C=1.0)
    with pytest.raises(InputError, match=r"takes one path\. Got 2 paths"):
        model.explain(hl.Paths.from_lists([["A"], ["B"]]))
    with pytest.raises(ParameterError, match="one of the classes, back, there"):
        model.explain(["A", "B"], "away")
