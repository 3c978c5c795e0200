"""Kernel ridge regression: left-out scores are those of a fit without the example; predictions."""

from __future__ import annotations

import numpy as np
import pytest
from ridge_cases import clouds, example, ring
from scipy.special import log_softmax, softmax
from threadpoolctl import threadpool_limits

from honlearn.ensemble.examples import Examples
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.path_kernel import ridge as module
from honlearn.path_kernel import terms
from honlearn.path_kernel.calibration import Rows, calibrate
from honlearn.path_kernel.path_vectors import choose_vectors
from honlearn.path_kernel.ridge import fit_kernel
from honlearn.path_kernel.terms import Blocks


def kernel(vectors: Rows, known: Examples, classes: int, landmarks: int = 10**6) -> module.PathRidge:
    return module.PathRidge(vectors, known, classes, landmarks)


def similar(vectors: Rows) -> Rows:
    """Return the kernel of all entities by its definition, one pair at a time."""
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = (rows - rows.mean(0)) / rows.std(0)
    apart = np.square(rows[:, None] - rows[None]).sum(2)
    return np.asarray(np.exp(-0.3 * apart / vectors.shape[1]))


def ridge(alike: Rows, truth: Rows, weights: Rows, penalty: float) -> Rows:
    """Return the dual coefficients of a weighted ridge regression, solved as it is written."""
    kept = weights > 0
    found = np.zeros_like(truth)
    system = alike[np.ix_(kept, kept)] + penalty * np.diag(1 / weights[kept])
    found[kept] = np.linalg.solve(system, truth[kept])
    return found


# --- left out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_score_left_out_is_that_of_a_fit_without_the_example(weighted: bool, penalty: float) -> None:
    vectors, labels = clouds(40)
    known = np.random.default_rng(1).permutation(40)[:25]
    weights = np.random.default_rng(2).uniform(0.1, 3, 25) if weighted else np.ones(25)
    (fit,) = kernel(vectors, example(labels[known], known, weights), 3).fits([penalty])
    weights = weights.astype(np.float32).astype(np.float64)
    weights /= weights.mean()
    truth = np.eye(3)[labels[known]]
    # The mean of the classes is that of all examples.
    truth -= weights @ truth / 25
    alike = similar(vectors)[np.ix_(known, known)]
    for left in range(25):
        rest = np.where(np.arange(25) == left, 0, weights)
        expected = alike[left] @ ridge(alike, truth, rest, penalty)
        np.testing.assert_allclose(fit.left_out[left], expected, rtol=1e-5, atol=1e-8)


def test_a_fit_is_the_ridge_regression_as_it_is_written() -> None:
    vectors, labels = clouds(40)
    made = kernel(vectors, example(labels[:25]), 3)
    (fit,) = made.fits([0.3])
    truth = np.eye(3)[labels[:25]]
    alike = similar(vectors)
    expected = alike[:, :25] @ ridge(alike[:25, :25], truth - truth.mean(0), np.ones(25), 0.3)
    np.testing.assert_allclose(made._kernel(made.vectors) @ fit.coefficients, expected, atol=1e-7)


@pytest.mark.parametrize("landmarks", [12, 100])
def test_a_label_has_no_part_in_its_own_score(landmarks: int) -> None:
    vectors, labels = clouds(60)
    other = np.where(np.arange(60) == 4, (labels + 1) % 3, labels)
    one, two = (
        next(kernel(vectors, example(y), 3, landmarks).fits([0.01])).left_out for y in (labels, other)
    )
    # The mean of the classes moves with a label. Scores are linear in the truth, so its part is known.
    shift = np.eye(3)[other].mean(0) - np.eye(3)[labels].mean(0)
    expected = one[4] - shift * _of_ones(vectors, example(labels), landmarks, 4)
    np.testing.assert_allclose(two[4], expected, atol=1e-9)
    # Scores of similar entities change.
    assert np.abs(one - two).max() > 0.05


def _of_ones(vectors: Rows, known: Examples, landmarks: int, place: int) -> float:
    """Return the left-out score of an example where the truth is 1 for everyone."""
    made = kernel(vectors, known, 3, landmarks)
    rows = made._lifted(slice(None)) * np.sqrt(made.weights)[:, None]
    rest = np.delete(rows, place, 0)
    onto = rest.T @ np.delete(np.sqrt(made.weights), place)
    solved = np.linalg.solve(rest.T @ rest + 0.01 * np.eye(rows.shape[1]), onto)
    return float(made._lifted(slice(place, place + 1))[0] @ solved)


def test_an_example_of_weight_2_is_one_that_is_there_twice() -> None:
    vectors, labels = clouds(30)
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    twice = np.concatenate([np.arange(30), np.arange(10)])
    # Weights are scaled to a mean of 1, and the penalty stays as it is: 40 examples count as 30.
    (one,) = kernel(vectors, example(labels, weights=weights), 3).fits([0.3])
    (two,) = kernel(vectors, example(labels[twice], twice), 3).fits([0.3 * 40 / 30])
    np.testing.assert_allclose(one.coefficients, two.coefficients, atol=1e-8)


def test_only_the_proportions_of_weights_count() -> None:
    vectors, labels = clouds()
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    one, two = (fit_kernel(vectors, example(labels, weights=factor * weights), 3, 0) for factor in (1, 64))
    assert one.proba.tobytes() == two.proba.tobytes()


def test_an_example_without_weight_changes_nothing() -> None:
    vectors, labels = clouds()
    weights = np.ones(60)
    weights[7] = 0
    other = np.where(np.arange(60) == 7, (labels + 1) % 3, labels)
    one, two = (fit_kernel(vectors, example(y, weights=weights), 3, 0) for y in (labels, other))
    assert one.proba.tobytes() == two.proba.tobytes()


def test_blocks_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, labels = clouds()
    whole = fit_kernel(vectors, example(labels[:50]), 3, 0)
    monkeypatch.setattr(module, "_BLOCK", 7)
    np.testing.assert_allclose(fit_kernel(vectors, example(labels[:50]), 3, 0).proba, whole.proba, atol=1e-5)


def test_few_landmarks_are_near_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, labels = clouds(600, spread=0.4)
    known = example(labels[:400])
    whole = fit_kernel(vectors, known, 3, 0)
    monkeypatch.setattr(terms, "LANDMARKS", 60)
    few = fit_kernel(vectors, known, 3, 0)
    assert few.proba.tobytes() != whole.proba.tobytes()
    assert np.abs(few.proba - whole.proba).mean() < 0.03
    assert abs(few.loss - whole.loss) < 0.05
    for got in (few, whole):
        assert (got.proba[400:].argmax(1) == labels[400:]).mean() > 0.85


def test_labelled_entities_are_calibrated_without_their_part() -> None:
    vectors, labels = clouds()
    made = kernel(vectors, example(labels), 3)
    (fit,) = made.fits([0.1])
    got = made.prediction(fit)
    part = np.arange(60) % 5
    for number in range(5):
        rest = part != number
        alone = calibrate(fit.left_out[rest], labels[rest], np.ones(48))
        expected = softmax(alone.logits(fit.left_out[~rest]), 1)
        np.testing.assert_allclose(got.proba[~rest], expected, atol=2e-3)
    log_probability = np.log(got.proba[np.arange(60), labels].astype(np.float64))
    np.testing.assert_allclose(got.loss, -log_probability.mean(), rtol=1e-5)
    assert got.penalty == 0.1


@pytest.mark.parametrize("mixed", [True, False])
def test_penalties_are_judged_by_a_calibration_on_other_examples(mixed: bool) -> None:
    vectors, labels = clouds()
    made = kernel(vectors, example(labels), 3)
    (fit,) = made.fits([0.1], mixed)
    part = np.arange(60) % 2
    for number in range(2):
        rest, own = part != number, part == number
        alone = calibrate(fit.left_out[rest], labels[rest], np.ones(30), mixed=mixed)
        assert (alone.matrix[0, 1] != 0) == mixed
        expected = -log_softmax(alone.logits(fit.left_out[own]), 1)[np.arange(30), labels[own]]
        np.testing.assert_allclose(fit.losses[own], expected, atol=5e-3)
    assert fit.loss == pytest.approx(fit.losses.mean())


def test_a_penalty_that_follows_the_labels_too_closely_is_not_chosen() -> None:
    # Few examples of many classes, whose vectors overlap: a calibration fitted on the very scores that it is
    # judged by makes the least penalty look best.
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 10
    vectors = np.eye(10)[labels] @ rng.normal(size=(10, 16)) + 1.6 * rng.normal(size=(400, 16))
    known = example(labels[:120])
    made = kernel(vectors, known, 10)
    fits = list(made.fits(module.PENALTIES))
    loss = [
        -np.log(made.prediction(fit).proba[np.arange(120, 400), labels[120:]].astype(np.float64)).mean()
        for fit in fits
    ]
    chosen = min(range(len(fits)), key=lambda place: fits[place].loss)
    assert loss[chosen] < min(loss) + 0.05


# --- predictions ------------------------------------------------------------------------------------


def test_answers_are_probabilities_and_the_same_each_time() -> None:
    hon, labels = ring()
    known = example(labels[::2], np.arange(60)[::2])
    _, (vectors, *_) = choose_vectors(hon, known, 3, 5)
    one = fit_kernel(vectors.values, known, 3, 5)
    assert one.proba.shape == (60, 3)
    assert one.proba.dtype == np.float32
    assert (one.proba >= 0).all()
    np.testing.assert_allclose(one.proba.sum(1), 1, atol=1e-6)
    assert (one.proba.argmax(1) == labels).mean() > 0.85
    for threads in (1, 2):
        with threadpool_limits(threads):
            _, (again, *_) = choose_vectors(hon, known, 3, 5)
            two = fit_kernel(again.values, known, 3, 5)
        assert again[:2] == vectors[:2]
        assert again.values.tobytes() == vectors.values.tobytes()
        assert two.proba.tobytes() == one.proba.tobytes()
        assert two[1:3] == one[1:3]
        for mine, its in zip(two.model, one.model, strict=True):
            assert mine.tobytes() == its.tobytes()


def test_the_model_predicts_for_others_what_it_does_for_those_without_labels() -> None:
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], 30)
    vectors = np.eye(3)[labels] @ rng.normal(size=(3, 5)) + 0.3 * rng.normal(size=(90, 5))
    nodes = np.arange(0, 90, 2, dtype=np.int32)
    known = Examples(nodes, labels[nodes].astype(np.int64), np.ones(45, np.float32))
    fitted = fit_kernel(vectors, known, 3, 0)
    others = np.arange(1, 90, 2)
    np.testing.assert_allclose(
        fitted.model.proba(vectors[others], Blocks(5)), fitted.proba[others], atol=1e-4
    )


def test_random_labels_are_predicted_no_better_than_expected_by_chance() -> None:
    # An entity's own label would give it away.
    hon, _ = ring(120)
    labels = np.random.default_rng(0).integers(0, 2, 120)
    known = example(labels)
    got = fit_kernel(choose_vectors(hon, known, 2, 0)[1][0].values, known, 2, 0)
    assert got.loss > 0.6
    assert (got.proba.argmax(1) == labels).mean() < 0.7


def test_a_repeated_example_does_not_predict_its_own_label() -> None:
    vectors, _ = clouds()
    labels = np.random.default_rng(1).integers(0, 2, 60)
    twice = np.concatenate([np.arange(60), np.arange(30)])
    weights = np.where(np.arange(60) < 30, 2.0, 1.0)
    one = fit_kernel(vectors, example(labels[twice], twice), 2, 0)
    two = fit_kernel(vectors, example(labels, weights=weights), 2, 0)
    assert one.proba.tobytes() == two.proba.tobytes()
    assert one.loss > 0.6
    # Two labels of one entity are two examples.
    both = example(np.array([0, 1, 1, 0]), np.array([3, 3, 5, 3]))
    merged = both.once()
    assert merged.nodes.tolist() == [3, 3, 5]
    assert merged.labels.tolist() == [0, 1, 1]
    assert merged.weights.tolist() == [2, 1, 1]


@pytest.mark.parametrize(
    ("hon", "labels", "nodes"),
    [
        (ring(30)[0], [0] * 30, range(30)),
        (ring(30)[0], [0], [7]),
        (ring(30)[0], [0, 1], [7, 8]),
        (ring(30)[0], list(range(30)), range(30)),
        (ring(30)[0], [0] * 28 + [1, 2], range(30)),
        (from_edges(["A", "B", "C"], ["A", "B", "C"]), [0, 1, 1], range(3)),
        (from_edges(["A"], ["A"]), [0], [0]),
        (from_edges(["A", "B", "Z", "Y"], ["B", "A", "Z", "Y"]), [0, 1, 0, 1], range(4)),
        (from_edges(["hub"] * 40, [f"leaf{i}" for i in range(40)]), [0, 1] * 20, range(40)),
    ],
    ids=["one class", "one example", "two", "classes of one", "rare", "no steps", "one entity",
         "isolated", "star"],
)  # fmt: skip
def test_degenerate_inputs_give_probabilities(
    hon: HigherOrderNetwork, labels: list[int], nodes: range
) -> None:
    known = example(np.array(labels), np.array(nodes))
    classes = max(labels) + 1
    got = fit_kernel(choose_vectors(hon, known, classes, 0)[1][0].values, known, classes, 0)
    assert got.proba.shape == (hon.n_entities, classes)
    np.testing.assert_allclose(got.proba.sum(1), 1, atol=1e-5)
    assert np.isfinite(got.loss)


def test_more_than_64_classes() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(350) % 70
    vectors = random.normal(size=(70, 16))[labels] + 0.1 * random.normal(size=(350, 16))
    got = fit_kernel(vectors, example(labels[:280]), 70, 0)
    assert (got.proba[280:].argmax(1) == labels[280:]).mean() > 0.9
