"""Explanations of nodes: predictions that they start from, their sums, deletions by other means, names."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ensemble_cases import Case, fit, fitted, tiny, tiny_paths
from task_cases import FAST, communities, make_classifier

import honlearn as hl
from honlearn import DGEClassifier, PathKernel, Training
from honlearn.errors import InputError, ParameterError, UnknownNodeError
from honlearn.hon.edgelist import from_edges
from honlearn.sampling.relatives import RelativeSampler
from honlearn.tasks.explain.faithfulness import faithfulness
from honlearn.tasks.explain.value import Explanation
from honlearn.tasks.link_split import hide_pairs

CASES = [
    *(Case((name,)) for name in ("sage", "gin", "gcn", "gcnii", "gat", "gatv2")),
    *(Case(("sage",), variant) for variant in ("pool", "concat", "attn", "batch")),
    Case(("sage", "gcn")),
    Case(("sage",), with_features=True),
    Case(("sage",), shared=True),
]


def sums(found: Explanation, kind: str) -> float:
    return sum(one.value or 0.0 for one in found.of_kind(kind))


def reference(found: Explanation, start: str) -> float:
    return next(one.probability for one in found.references if one.name.startswith(start))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_lead_from_the_references_to_the_prediction(case: Case) -> None:
    model, nodes = fitted(case), tiny()[1]
    for found, proba in zip(model.explanations(nodes), model.predict_proba(nodes), strict=True):
        assert found.probability == pytest.approx(proba.max(), abs=1e-5)
        assert found.label == model.classes_[proba.argmax()]
        assert sums(found, "neighbor") == pytest.approx(
            found.probability - reference(found, "without neighbours"), abs=1e-5
        )
        if found.of_kind("memory"):
            assert sums(found, "memory") == pytest.approx(
                found.probability - reference(found, "without memory"), abs=1e-5
            )


def test_a_module_of_ones_own_is_explained_too() -> None:
    model, node = fitted(Case(("torch",))), tiny()[1][2]
    found = model.explain(node, top=2)
    assert found.probability == pytest.approx(model.predict_proba([node]).max(), abs=1e-5)
    whole = found.probability - reference(found, "without neighbours")
    assert sums(found, "neighbor") == pytest.approx(whole, abs=1e-5)


def without_contexts(model: Any, node: str, left_out: set[str]) -> np.ndarray:
    """Return the prediction where contexts are never drawn: by inference with other probabilities."""
    one, network = model.components_[0], model.network_
    sampler = RelativeSampler(network)
    weights = network.relative_probabilities().copy()
    weights[[network.index(label) for label in left_out]] = 0
    total = np.bincount(network.base, weights, network.n_entities)
    sampler.__dict__["probabilities"] = weights / total[network.base]
    read = dataclasses.replace(one.model, sampler=sampler)
    return read.inference(one.ensemble, model._runtime(), 0).proba(network.vocabulary.codes([node]))[0]


@pytest.mark.parametrize("case", [Case(("sage",)), Case(("sage",), "pool"), Case(("gat",))], ids=str)
def test_without_a_memory_the_others_are_weighed_again(case: Case) -> None:
    model, network = fitted(case), tiny()[0]
    node = max(network.vocabulary.names, key=lambda name: len(network.family(name)))
    found = model.explain(node, top=9)
    assert len(found.of_kind("memory")) > 2
    label = int(np.flatnonzero(model.classes_ == found.label)[0])
    for reason in found.of_kind("memory"):
        assert reason.without == pytest.approx(without_contexts(model, node, {reason.name})[label], abs=1e-5)
    contexts = {name for name in network.family(node) if "|" in name}
    alone = without_contexts(model, node, contexts)[label]
    assert reference(found, "without memory") == pytest.approx(alone, abs=1e-5)


def test_without_a_neighbour_one_layer_reads_a_network_without_the_edges() -> None:
    model, network = fit(Case(("sage",)), learner=hl.learners.SAGE(widths=(9,))), tiny()[0]
    node = "a3"
    found, one = model.explain(node, top=20), model.components_[0]
    label = int(np.flatnonzero(model.classes_ == found.label)[0])
    for reason in found.of_kind("neighbor"):
        pair = network.vocabulary.codes([node, reason.name])[None]
        read = dataclasses.replace(one.model, network=hide_pairs(network, pair))
        expected = read.inference(one.ensemble, model._runtime(), 0).proba(pair[:, 0])[0, label]
        assert reason.without == pytest.approx(expected, abs=1e-5)


def test_a_path_is_left_out_of_one_context() -> None:
    model, network = fit(Case(("sage",)), learner=hl.learners.SAGE(widths=(9,))), tiny()[0]
    one, proba = model.components_[0], network.relative_probabilities()
    checked = 0
    for found in model.explanations(tiny()[1], top=9):
        for reason in found.of_kind("path"):
            *before, last = reason.name.split(" → ")
            context = network.index("|".join(reversed(before)))
            ends = network.vocabulary.codes([found.subject, last])[None]
            label = int(np.flatnonzero(model.classes_ == found.label)[0])
            rows = []
            for hon in (network, hide_pairs(network, ends)):
                read = dataclasses.replace(one.model, network=hon)
                inference = read.inference(one.ensemble, model._runtime(), 0)
                needed = np.array([context], np.int32)
                inference._needed = lambda *_, needed=needed: needed  # type: ignore[method-assign]
                table = inference._represented(ends[:, 0], 0)[1]
                rows.append(one.ensemble.head(table).softmax(2).mean(0)[0, label].item())
            assert found.effect(reason) == pytest.approx(proba[context] * (rows[0] - rows[1]), abs=1e-5)
            checked += 1
    assert checked > 10


@cache
def bag() -> DGEClassifier:
    """Return a bag of several components, on the first-order network and with memory, with a kernel."""
    hon, nodes, y = tiny()
    training = Training(max_epochs=1, patience=1)
    wrong = [("ab"[name == "a"] if place in (2, 5, 8) else name) for place, name in enumerate(y)]
    kernel = PathKernel(vectors=4, share=0.25)
    model = DGEClassifier(
        hon, n_learners=6, training=training, n_threads=1, random_state=0, path_kernel=kernel
    )
    return model.fit(nodes[1:-1], wrong[1:-1])


def test_a_bag_of_several_components() -> None:
    model, nodes = bag(), tiny()[1]
    assert len(model.components_) > 1
    for found, proba in zip(model.explanations(nodes), model.predict_proba(nodes), strict=True):
        assert found.probability == pytest.approx(proba.max(), abs=1e-5)
        gained = found.probability - reference(found, "without neighbours")
        assert sums(found, "neighbor") == pytest.approx(gained, abs=1e-5)
        assert found.of_kind("example")


def test_without_the_kernel_learners_predict_alone() -> None:
    model, node = bag(), tiny()[1][4]
    found = model.explain(node)
    label = int(np.flatnonzero(model.classes_ == found.label)[0])
    weights = model.members_["weight"].to_numpy()
    alone = weights @ model.member_proba([node])[:, 0, label] / weights.sum()
    assert reference(found, "without the path kernel") == pytest.approx(alone, abs=1e-5)


def test_a_saved_model_explains_the_same(tmp_path: Path) -> None:
    bag().save(tmp_path / "model")
    again = hl.load_model(tmp_path / "model")
    assert again.explain("a3") == bag().explain("a3")


def test_counts_are_those_of_the_paths() -> None:
    paths = hl.Paths.from_lists([["A", "C", "A"], ["B", "C", "D"], ["A", "C", "D"], ["D", "A"]], [6, 9, 2, 1])
    hon = hl.grow(paths, order=2, tau=0.1, min_support=1)
    model = DGEClassifier(hon, "sage", 2, training=Training(max_epochs=1), random_state=0, n_threads=1)
    model.fit(["A", "B", "D"], ["x", "y", "y"])
    told = {one.name: one for one in model.explain("C").reasons if one.kind != "example"}
    assert (told["C|A"].count, told["C|A"].support) == (8, "A → C 8 times, then A 75% (back), D 25%")
    assert told["B"].support == "B → C 9 times"
    assert told["A → C → D"].support == "A → C → D 2 times"
    found = model.explain("C", paths=paths).reasons
    told = {one.name: one for one in found if one.kind != "example"}
    assert told["A → C → D"].support == "in 2 paths: A → C → D 2 times"
    assert (told["C|A"].count, told["D"].count) == (8, 11)
    assert told["C|A"].support.endswith("; in 8 paths: A → C → A 6 times; A → C → D 2 times")


def test_table_text_html_and_json() -> None:
    found = fitted(Case(("sage",))).explain("a1", "b", top=2)
    assert found.label == "b"
    table = found.frame()
    assert table.columns.tolist()[:5] == ["kind", "reason", "value", "effect", "without"]
    assert table["effect"].to_numpy() == pytest.approx(found.probability - table["without"].to_numpy())
    plain = json.loads(found.to_json())
    assert [row["name"] for row in plain["reasons"]] == table["reason"].tolist()
    assert plain["references"]["without neighbours"] == reference(found, "without neighbours")
    lines = str(found).splitlines()
    assert lines[0] == f"a1: b, probability {found.probability:.3f}"
    assert "neighbours" in lines
    assert lines.count("memories") == 1
    html = dataclasses.replace(found, subject="<b>")._repr_html_()
    assert "&lt;b&gt;: b" in html
    assert "<b>" not in html
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        found.label = "a"  # type: ignore[misc]


def test_how_many_reasons_are_told_does_not_change_them() -> None:
    hon, nodes, y = communities()
    model = make_classifier(hon, **{**FAST, "max_epochs": 2}, learner="sage").fit(nodes[::2], y[::2])
    node = max(nodes.tolist(), key=lambda name: len(hon.family(name)))
    whole = model.explain(node)
    for top in (1, 3):
        found = model.explanations([node], top=top)[0]
        for kind, start in (("neighbor", "without neighbours"), ("memory", "without memory")):
            told, every = found.of_kind(kind), whole.of_kind(kind)
            assert (len(told), len(every)) == (top + 1, 6)
            for one, same in zip(told[:top], every, strict=False):
                assert one == same
            gained = found.probability - reference(found, start)
            assert sums(found, kind) == pytest.approx(gained, abs=1e-5)
            left = sum(int(one.name.split(" ")[0]) if " other " in one.name else 1 for one in every[top:])
            assert told[top].name.startswith(f"{left} other ")
        assert found.of_kind("example") == whole.of_kind("example")[:top]


def test_more_reasons_than_eight_are_sampled_and_still_add_up() -> None:
    hon, nodes, y = communities()
    model = make_classifier(hon, **{**FAST, "max_epochs": 2}, learner="sage").fit(nodes[::2], y[::2])
    found = model.explain("ash03", top=12)
    assert len(found.of_kind("neighbor")) == 13
    gained = found.probability - reference(found, "without neighbours")
    assert sums(found, "neighbor") == pytest.approx(gained, abs=1e-5)
    assert found == model.explain("ash03", top=12)


def test_a_network_without_memory_and_a_node_without_neighbours() -> None:
    hon = from_edges(["A", "B", "C"], ["B", "A", "C"])
    model = DGEClassifier(hon, "sage", 2, training=Training(max_epochs=1), random_state=0, n_threads=1)
    model.fit(["A", "B"], ["x", "y"])
    found = model.explain("C")
    assert {one.kind for one in found.reasons} <= {"example"}
    assert [one.name for one in model.explain("A").of_kind("neighbor")] == ["B"]
    assert not any("memory" in one.name for one in found.references)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"node": "a9"}, UnknownNodeError, "'a9'"),
        ({"node": "a1", "label": "c"}, ParameterError, "one of the classes, a, b. Got 'c' instead"),
        ({"node": "a1", "top": 0}, ParameterError, "from 1 to 62. Got 0 instead"),
        ({"node": "a1", "paths": "p.txt"}, InputError, "'paths' must be Paths .* Got str instead"),
    ],
)
def test_what_cannot_be_explained_is_said(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fitted(Case(("sage",))).explain(**given)


def test_top_reasons_move_predictions_more_than_random_ones() -> None:
    hon, nodes, y = communities()
    model = make_classifier(hon, **{**FAST, "n_learners": 2}, learner="sage").fit(nodes[::2], y[::2])
    for one in faithfulness(model, range(0, 60, 3), k=2, draws=4):
        assert len(one.top) == 20
        assert one.gain[0] > 2 * one.gain[1] > 0, one.kind
        assert one.ratio > 1


def test_paths_are_read_as_counts() -> None:
    paths = hl.Paths.from_lists(tiny_paths())
    found = fitted(Case(("sage",))).explain("b0", paths=paths, top=3)
    for one in found.of_kind("path"):
        names = tuple(one.name.split(" → "))
        expected = sum(
            any(path[i : i + len(names)] == names for i in range(len(path)))
            for path in map(tuple, tiny_paths())
        )
        assert one.count == expected


def test_a_hub_with_more_neighbours_than_bits() -> None:
    others = [f"n{i:02d}" for i in range(80)]
    hon = from_edges(["hub"] * 80, others, list(range(1, 81)))
    model = DGEClassifier(hon, "sage", 2, training=Training(max_epochs=2), random_state=0, n_threads=1)
    model.fit(["hub", *others[:20]], ["x", "y"] * 10 + ["x"])
    found = model.explain("hub", top=3)
    names = [one.name for one in found.of_kind("neighbor")]
    assert names[3:] == ["77 other neighbours"]
    assert not any("other" in name for name in names[:3])
    gained = found.probability - reference(found, "without neighbours")
    assert sums(found, "neighbor") == pytest.approx(gained, abs=1e-5)


def test_an_updated_classifier_explains_new_entities() -> None:
    model = bag()
    wider = model.update([["a1", "new", "a3"], ["new", "a3", "a1"]])
    found = wider.explain("new")
    assert found.probability == pytest.approx(wider.predict_proba(["new"]).max(), abs=1e-5)
    assert {one.name for one in found.of_kind("neighbor")} == {"a1", "a3"}
    # Labelled entities of the fit, whose terms are in the new entity's scores.
    labelled = {model.network_.vocabulary[int(code)] for code in model.kernel_terms_[0][1].labelled.nodes}
    examples = {one.name for one in found.of_kind("example")}
    assert examples
    assert examples <= labelled
