"""The kernels of a fit: which vectors they read, how they are mixed, and their choice of networks."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from task_cases import make_classifier

import honlearn as hl
from honlearn.ensemble.examples import Examples
from honlearn.hon.network import HigherOrderNetwork
from honlearn.path_kernel import kernel_input
from honlearn.path_kernel.path_vectors import OneStep, Vectors, choose_vectors
from honlearn.tasks import kernel_part, structure
from honlearn.tasks.kernel_part import FittedKernel, fit_kernels, mixed, moved


@cache
def planted() -> tuple[hl.GramCounts, list[str], list[str]]:
    """Return counts of paths whose classes only two steps of memory tell, the nodes and the classes."""
    data = hl.datasets.synthetic(2, order=2, n_nodes=48, n_hubs=2, n_destinations=3)
    return hl.count_grams(data.paths, order=2), list(data.labels), list(data.labels.values())


@cache
def read() -> tuple[dict[str, tuple[HigherOrderNetwork, list[Vectors]]], Examples]:
    """Return the vectors of the network without memory and of the one with it, and labelled entities."""
    counts, nodes, y = planted()
    networks = {"first": counts.grow(order=1), "second": counts.grow(order=2, tau=1.0)}
    codes = networks["first"].vocabulary.codes(nodes)
    labels = np.unique(y, return_inverse=True)[1].astype(np.int64)
    examples, one_step = Examples(codes, labels, np.ones(len(codes), np.float32)), OneStep()
    given = (examples, 2, 0, one_step)
    return {key: (hon, choose_vectors(hon, *given)[1]) for key, hon in networks.items()}, examples


@cache
def kernels() -> dict[str, FittedKernel]:
    vectors, examples = read()
    return fit_kernels(vectors, examples, 2, 0)


def test_the_best_vectors_come_first_and_common_ones_once() -> None:
    found = kernels()
    # Of one step both networks tell the same.
    profiles = "second reach 2 profiles"
    assert sorted(found) == ["first reach 1", "first reach 2", "second reach 2", profiles]
    assert next(iter(found)) == "second reach 2"
    assert found[profiles].read.vectors is found["second reach 2"].read.vectors
    assert found[profiles].prediction.proba.tobytes() != found["second reach 2"].prediction.proba.tobytes()
    assert found["second reach 2"].prediction.loss < 0.1
    assert found["first reach 2"].prediction.loss > 0.5


def test_no_more_than_the_best_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_part, "_MOST", 1)
    vectors, examples = read()
    assert list(fit_kernels(vectors, examples, 2, 0)) == ["second reach 2", "second reach 2 profiles"]


def test_large_networks_have_kernels_on_vectors_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_input, "MOST_ENTITIES", 47)
    vectors, examples = read()
    assert sorted(fit_kernels(vectors, examples, 2, 0)) == sorted(
        set(kernels()) - {"second reach 2 profiles"}
    )


def test_a_kernel_predicts_for_others_what_it_does_for_those_without_labels() -> None:
    vectors, examples = read()
    half = examples.take(np.arange(0, len(examples), 2))
    found = fit_kernels(vectors, half, 2, 0)
    shares = dict.fromkeys(found, 1 / len(found))
    others = np.setdiff1d(np.arange(vectors["first"][0].n_entities), half.nodes)
    every = np.arange(vectors["first"][0].n_entities)
    for part, (name, one) in zip(mixed(found, shares).parts, found.items(), strict=True):
        got = part._replace(terms=None).proba(one.network, others, every)
        expected = np.float32(part.share) * one.prediction.proba[others]
        np.testing.assert_allclose(got, expected, atol=1e-4, err_msg=name)


def test_a_mix_is_the_mean_by_shares_without_those_of_hardly_any() -> None:
    found = kernels()
    first, second, third, _ = found
    got = mixed(found, {first: 0.3, second: 0.1, third: 0.001})
    assert got.share == pytest.approx(0.401)
    assert got.proba is not None
    expected = 0.75 * found[first].prediction.proba + 0.25 * found[second].prediction.proba
    np.testing.assert_allclose(got.proba, expected, atol=1e-6)
    assert [share for share, _ in got.terms] == pytest.approx([0.75, 0.25])
    assert [(part.share, part.network) for part in got.parts] == [
        (pytest.approx(0.75), found[first].network),
        (pytest.approx(0.25), found[second].network),
    ]
    assert mixed(found, {first: 0.3, second: 0.1}, 0.7).share == 0.7
    assert mixed(found, dict.fromkeys(found, 0.0)) == (0.0, None, (), ())


def test_kernels_read_networks_that_learners_judged_but_do_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    race = structure.race

    def first_order_alone(*given: Any) -> Any:
        return [one for one in race(*given) if one.is_first_order]

    monkeypatch.setattr(structure, "race", first_order_alone)
    counts, nodes, y = planted()
    few = {"n_learners": 4, "max_epochs": 1, "n_threads": 1, "random_state": 0}
    model = make_classifier(counts, **few).fit(nodes[::2], y[::2])
    assert all(one.model.network.n_conditional == 0 for one in model.components_)
    best = max(model.kernel_parts_, key=lambda part: part.share)
    assert best.network is not None
    assert best.network.n_conditional
    assert model.score(nodes[1::2], y[1::2]) > 0.9


def test_new_entities_are_predicted_from_labelled_ones_as_they_are_now() -> None:
    vectors, examples = read()
    half = examples.take(np.arange(0, len(examples), 2))
    found = fit_kernels(vectors, half, 2, 0)
    size = vectors["first"][0].n_entities
    every, others = np.arange(size), np.setdiff1d(np.arange(size), half.nodes)
    for part, one in zip(mixed(found, dict.fromkeys(found, 0.25)).parts, found.values(), strict=True):
        # Where nothing changed, fitting again changes only what rounding does to almost singular kernels.
        plain = part._replace(terms=None).proba(one.network, others, every)
        np.testing.assert_allclose(part.proba(one.network, others, every), plain, atol=3e-3)
        # Labelled entities that are gone have no part.
        gone = np.where(np.isin(every, half.nodes[:5]), -1, every)
        assert part.terms is not None
        left = moved(part.terms, gone)
        assert len(left.labelled.nodes) == len(half) - 5
        assert not np.isin(half.nodes[:5], left.labelled.nodes).any()
        assert left.labelled.weights.mean() == pytest.approx(1)
        # With all of them gone, the kernel of the fit predicts.
        none = np.where(np.isin(every, half.nodes), -1, every)
        expected = part._replace(terms=None).proba(one.network, others, none)
        np.testing.assert_array_equal(part.proba(one.network, others, none), expected)


def test_labelled_entities_keep_their_labels_under_other_codes() -> None:
    vectors, examples = read()
    terms = fit_kernels(vectors, examples, 2, 0)["first reach 1"].prediction.terms
    size = vectors["first"][0].n_entities
    order = np.random.default_rng(0).permutation(size)
    got = moved(terms, order).labelled
    known = dict(zip(terms.labelled.nodes.tolist(), terms.labelled.labels.tolist(), strict=True))
    assert {int(order[node]): int(label) for node, label in zip(got.nodes, got.labels, strict=True)} == known
