"""Measuring rows: nested searches that never see a test part, protocols, budgets of parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nosy_models import NosyClassifier, NosyLinkPredictor

import honlearn as hl
from honlearn.errors import InputError, ParameterError
from honlearn.experiments import registry
from honlearn.experiments.budgets import count_parameters, settings_for, widest
from honlearn.experiments.folds import Folds
from honlearn.experiments.measure import Bench, Plan, TableRow
from honlearn.experiments.registry import Entry, find_model
from honlearn.experiments.search import Budget
from honlearn.experiments.shapes import shape_of, with_shape
from honlearn.experiments.sources import Source
from honlearn.results.artefacts import answers_path


@pytest.fixture(scope="module")
def source() -> Source:
    made = hl.datasets.synthetic(2, n_nodes=40, n_hubs=4, n_destinations=8)
    nodes, labels = made.labelled()
    return Source("small", hl.grow(made.paths), tuple(nodes), tuple(labels), None, made.paths, "synthetic")


@pytest.fixture
def nosy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the nosy models for the time of a test."""
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    registry.register(Entry("nosy", ("nodes",), "remembers", "nosy_models:NosyClassifier"))
    registry.register(Entry("fussy", ("nodes",), "refuses", "nosy_models:FussyClassifier"))
    registry.register(Entry("nosy", ("links",), "remembers", "nosy_models:NosyLinkPredictor"))
    NosyClassifier.shown.clear()
    NosyLinkPredictor.shown.clear()


def nested(**more: object) -> Plan:
    only = {"strength": [0.1, 0.9]}
    plan = Plan(folds=Folds("stratified", 4), budget=Budget(None, 3), spaces={"nosy": only})
    return replace(plan, **more)  # type: ignore[arg-type]


@pytest.mark.usefixtures("nosy")
def test_a_nested_search_never_sees_the_test_nodes(source: Source, tmp_path: Path) -> None:
    row = TableRow("nosy", "g1")
    found = Bench(source, tmp_path, nested()).measure([row])[row]
    assert len(found.records) == 4
    fits = NosyClassifier.shown
    # Three trials and a last fit for each fold.
    assert len(fits) == 4 * 4
    folds = Folds("stratified", 4).tests(source.nodes, source.labels, 0)
    for number, fold in enumerate(folds):
        tested = {source.nodes[i] for i in fold}
        trials, last = fits[4 * number : 4 * number + 3], fits[4 * number + 3]
        assert not any(tested & set(shown) for shown in [*trials, last])
        assert set(last) | tested == set(source.nodes)
        # All trials are fitted on the same four fifths of the training part.
        assert len({tuple(shown) for shown in trials}) == 1
        assert len(trials[0]) == pytest.approx(0.8 * len(last), abs=2)
    search = found.records[0].search
    assert search is not None
    assert search["trials"] == 3
    assert search["parameters"]["strength"] in (0.1, 0.5, 0.9)
    asked = found.records[0].configuration.search
    assert asked is not None
    assert asked["space"]["dimensions"] == {"strength": [0.1, 0.9]}
    again = Bench(source, tmp_path, nested()).measure([row])[row]
    assert [r.digest for r in again.records] == [r.digest for r in found.records]
    assert len(NosyClassifier.shown) == 16


@pytest.mark.usefixtures("nosy")
def test_a_nested_search_never_sees_the_test_links(source: Source, tmp_path: Path) -> None:
    row, how = TableRow("nosy", "gk"), nested(repetitions=1, spaces={"nosy": {"power": [0.5, 2.0]}})
    bench = Bench(source, tmp_path, how, "links")
    [record] = bench.measure([row])[row].records
    assert record.search is not None
    assert record.search["trials"] == 3
    *trials, (_, tested) = NosyLinkPredictor.shown
    assert len(trials) == 3
    for network, excluded in trials:
        first = network.first_order()
        links = {
            (first.vocabulary[u], first.vocabulary[v])
            for u, v in zip(first.sources, first.indices, strict=True)
        }
        hidden = {tuple(pair) for pair in tested}
        assert hidden < {tuple(pair) for pair in excluded}
        assert not links & {(v, u) for u, v in hidden}
        assert not links & {tuple(pair) for pair in excluded}


@pytest.mark.usefixtures("nosy")
def test_the_paper_protocol_takes_the_best_on_the_tests(source: Source, tmp_path: Path) -> None:
    row = TableRow("nosy", "g1")
    found = Bench(source, tmp_path, nested(protocol="paper")).measure([row])[row]
    assert found.tried == 3
    assert len(found.records) == 4
    # Three settings of a model that always names one class: nothing to choose, so nothing is flattered.
    assert found.optimism == pytest.approx(0)
    assert len(NosyClassifier.shown) == 12
    fixed = Bench(source, tmp_path, nested(protocol="fixed")).measure([row])[row]
    assert len(NosyClassifier.shown) == 12
    assert {r.digest for r in fixed.records} & {r.digest for r in found.records}


@pytest.mark.usefixtures("nosy")
def test_the_paper_protocol_passes_over_settings_that_cannot_be_fitted(
    source: Source, tmp_path: Path
) -> None:
    row, space = TableRow("fussy", "g1"), {"fussy": {"strength": [2.0, 3.0, 0.9]}}
    how = nested(protocol="paper", spaces=space, budget=Budget(None, 4))
    found = Bench(source, tmp_path, how).measure([row])[row]
    assert (found.tried, len(found.records)) == (2, 4)
    bad = replace(how, given=lambda entry: {"strength": 2.0})
    with pytest.raises(InputError, match="too strong"):
        Bench(source, tmp_path, bad).measure([row])


@pytest.mark.usefixtures("nosy")
def test_a_plan_counts_the_trials_of_a_search(source: Source, tmp_path: Path) -> None:
    def seconds(**more: object) -> float:
        [plan] = Bench(source, tmp_path, nested(**more)).planned([TableRow("nosy", "g1")])
        return plan.seconds

    fit = seconds(protocol="fixed")
    assert seconds(budget=Budget(None, 2)) == pytest.approx(3 * fit)
    # The space has two points, and the default is tried too.
    assert seconds(budget=Budget(None, 50)) == pytest.approx(4 * fit)
    assert seconds(budget=Budget(fit / 60, 50)) == pytest.approx(2 * fit)
    assert seconds(budget=Budget(None, 2), protocol="paper") == pytest.approx(2 * fit)


@pytest.mark.usefixtures("nosy")
def test_rows_that_cannot_be_had_have_a_reason(source: Source, tmp_path: Path) -> None:
    first = replace(source, network=source.network.first_order())
    rows = [TableRow("nosy", "gk"), TableRow("nobody", "g1"), TableRow("nosy", "g1")]
    found = Bench(first, tmp_path, nested(protocol="fixed")).measure(rows)
    assert [measured.reason for measured in found.values()] == [
        "the network is of first order; with a smaller --tau or --min-support its paths may grow more",
        "no model nobody for nodes",
        "",
    ]
    with pytest.raises(ParameterError, match=r"'protocol' parameter of reproduce must be one of 'nested'"):
        nested(protocol="honest")


@pytest.mark.usefixtures("nosy")
def test_answers_that_are_missing_are_made_and_first_folds(source: Source, tmp_path: Path) -> None:
    row, bench = TableRow("nosy", "g1"), Bench(source, tmp_path, nested(protocol="fixed", first_folds=1))
    [record] = bench.measure([row])[row].records
    path = answers_path(tmp_path, record.digest)
    path.unlink()
    bench.measure([row])
    assert not path.exists()
    bench.measure([row], need_answers=True)
    assert path.exists()
    plan = bench.planned([row, TableRow("nobody", "g1")])
    assert [(p.data, p.model, p.jobs, p.done) for p in plan] == [("small", "nosy", 1, 1)]


# --- widths for a budget -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "count",
    [
        lambda w: 2 * w * w + 30 * w + 7,
        lambda w: 1000 * w + 3,
        lambda w: 16 * (416 * w + 3 * (w // 3) * w) + 10,
        lambda w: 8 * (max(w, 8) // 8) * 50,
    ],
)
@pytest.mark.parametrize("budget", [30_000, 123_456, 1_000_000])
def test_the_widest_is_within_the_budget_and_the_next_is_not(count: object, budget: int) -> None:
    assert callable(count)
    width = widest(count, budget)
    assert count(width) <= budget
    assert count(width + 1) > budget or count(width + 8) > budget


@pytest.mark.parametrize(("name", "layers"), [("dge-bag", 2), ("dge-bag*", 2), ("gcnii", 4), ("gatv2", 2)])
def test_models_for_a_budget(source: Source, name: str, layers: int) -> None:
    entry = find_model(name)
    input = "gk" if name.startswith("dge") else "g1"
    found = settings_for(entry, source, input, layers, 20_000)
    assert shape_of(entry.parameters(found.settings)) == (layers, found.width)
    assert found.parameters == count_parameters(entry, source, input, found.settings)
    assert 0.6 * 20_000 < found.parameters <= 20_000


def test_a_bag_has_fewer_learners_where_the_budget_is_small(source: Source) -> None:
    bag = find_model("dge-bag")
    found = settings_for(bag, source, "gk", 2, 1_000)
    assert found.learners == 4
    # What is chosen from labels is left out, or the budget could not be kept.
    assert (found.settings["path_features"], found.settings["kernel_share"]) == (0, 0)
    assert settings_for(find_model("gcn"), source, "g1", 2, 1_000).settings.keys() == {"widths"}
    with pytest.raises(ParameterError, match=r"needs at least [\d,]+ parameters on small; the budget is 50"):
        settings_for(bag, source, "gk", 2, 50)


def test_shapes_in_the_words_of_each_model() -> None:
    bag, gcn, dbgnn = find_model("dge-bag"), find_model("gcn"), find_model("dbgnn")
    assert with_shape(bag, {"fan_outs": (64, 1)}, layers=3) == {"widths": (128,) * 3, "fan_outs": (64, 1, 1)}
    assert with_shape(bag, {"widths": 64, "fan_outs": 8}, layers=2) == {
        "widths": (64,) * 2,
        "fan_outs": (8, 1),
    }
    assert with_shape(bag, {"widths": (8, 8)}, width=4) == {"widths": (4, 4)}
    assert with_shape(gcn, {}, layers=3, width=16) == {"widths": (16, 16, 16)}
    assert with_shape(dbgnn, {}, layers=3, width=16) == {"n_layers": 3, "width": 16}
    with pytest.raises(ParameterError, match="model 'honem' has no layers"):
        with_shape(find_model("honem"), {}, layers=2)
    assert np.isfinite(widest(lambda w: w * w, 10_000))
