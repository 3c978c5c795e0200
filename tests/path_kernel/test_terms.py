"""The terms of a kernel's prediction: they are the fit's, and those of a ridge regression written out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from ridge_cases import clouds, example
from scipy.special import softmax

from honlearn.path_kernel.ridge import fit_kernel
from honlearn.path_kernel.terms import Blocks


@pytest.mark.parametrize("weighted", [False, True])
def test_terms_add_up_to_the_prediction_of_every_entity(weighted: bool) -> None:
    vectors, labels = clouds(60)
    known = np.random.default_rng(1).permutation(60)[:35]
    weights = np.random.default_rng(2).uniform(0.1, 3, 35) if weighted else None
    found = fit_kernel(vectors, example(labels[known], known, weights), 3, seed=0)
    scores = [found.terms.terms(row).sum(0) for row in found.terms.weights(range(60))]
    proba = np.stack([found.terms.proba(entity, one) for entity, one in enumerate(scores)])
    np.testing.assert_allclose(proba, found.proba, atol=1e-4)


def test_terms_are_those_of_a_ridge_regression() -> None:
    vectors, labels = clouds(40)
    known = np.arange(0, 40, 2)
    terms = fit_kernel(vectors, example(labels[known], known), 3, seed=0).terms
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = (rows - rows.mean(0)) / rows.std(0)
    alike = np.exp(-0.3 * np.square(rows[:, None] - rows[None]).sum(2) / 4)
    nodes = terms.labelled.nodes
    assert sorted(nodes.tolist()) == known.tolist()
    inverse = np.linalg.inv(alike[np.ix_(nodes, nodes)] + terms.penalty * np.eye(len(nodes)))
    np.testing.assert_allclose(terms.weights([1])[0], alike[1, nodes] @ inverse, atol=1e-5)
    own = terms.weights([int(nodes[3])])[0]
    assert own[3] == 0


def test_without_a_term_the_scores_lack_it() -> None:
    vectors, labels = clouds(40)
    known = np.arange(0, 40, 2)
    terms = fit_kernel(vectors, example(labels[known], known), 3, seed=0).terms
    weights = terms.weights([5])[0]
    truth = np.eye(3)[terms.labelled.labels]
    truth -= truth.mean(0)
    left = np.delete(weights, 4) @ np.delete(truth, 4, 0)
    numbers = terms.calibration[-1]
    expected = softmax(left @ numbers[:3] + numbers[3])
    parts = terms.terms(weights)
    np.testing.assert_allclose(terms.proba(5, parts.sum(0) - parts[4]), expected, atol=1e-8)


def test_terms_of_entities_that_are_almost_the_same() -> None:
    # Kernel matrices of such are singular but for rounding, which a large penalty multiplies.
    random = np.random.default_rng(0)
    labels = np.arange(80) % 2
    vectors = np.eye(2)[labels] @ random.normal(size=(2, 6)) + 1e-4 * random.normal(size=(80, 6))
    rows = np.hstack([vectors, np.eye(2)[labels] / 2, labels[:, None] * np.ones(9)])
    known = np.arange(0, 80, 2) + np.arange(40) % 2
    found = fit_kernel(rows, example(labels[known], known), 2, seed=0, blocks=Blocks(6, 2, 9))
    terms = dataclasses.replace(found.terms, penalty=10.0)
    weights = terms.weights(range(80))
    assert np.isfinite(weights).all()
    scores = np.stack([terms.terms(row).sum(0) for row in weights])
    assert (scores.argmax(1) == labels).all()
