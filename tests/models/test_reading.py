"""The kernel's reading: left-out scores are those of a fit without, calibration, what is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import check_grad
from scipy.special import log_softmax, softmax
from threadpoolctl import threadpool_limits

import honlearn as hl
from honlearn.hon import embedding
from honlearn.hon.edgelist import from_edges
from honlearn.hon.embedding import path_embedding
from honlearn.hon.network import HigherOrderNetwork
from honlearn.models import reading as module
from honlearn.models.examples import Examples
from honlearn.models.reading import Rows, Vectors, calibrate, choose_vectors, read

Codes = NDArray[np.int64]


def example(labels: Codes, nodes: Codes | None = None, weights: Rows | None = None) -> Examples:
    nodes = np.arange(len(labels)) if nodes is None else nodes
    weights = np.ones(len(labels)) if weights is None else weights
    return Examples(nodes.astype(np.int32), np.asarray(labels, np.int64), weights.astype(np.float32))


def clouds(size: int = 60, classes: int = 3, seed: int = 0, spread: float = 0.6) -> tuple[Rows, Codes]:
    """Return vectors [V, 4] around a centre for each class, and the classes."""
    random = np.random.default_rng(seed)
    labels = np.arange(size) % classes
    return random.normal(size=(classes, 4))[labels] + spread * random.normal(size=(size, 4)), labels


def kernel(numbers: Rows, known: Examples, classes: int, landmarks: int = 10**6) -> module._Kernel:
    return module._Kernel(numbers, known, classes, landmarks)


def similar(numbers: Rows) -> Rows:
    """Return the kernel of all entities by its definition, one pair at a time."""
    rows = numbers / np.linalg.norm(numbers, axis=1, keepdims=True)
    rows = (rows - rows.mean(0)) / rows.std(0)
    apart = np.square(rows[:, None] - rows[None]).sum(2)
    return np.asarray(np.exp(-0.3 * apart / numbers.shape[1]))


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
    numbers, labels = clouds(40)
    known = np.random.default_rng(1).permutation(40)[:25]
    weights = np.random.default_rng(2).uniform(0.1, 3, 25) if weighted else np.ones(25)
    (fit,) = kernel(numbers, example(labels[known], known, weights), 3).fits([penalty])
    weights = weights.astype(np.float32).astype(np.float64)
    weights /= weights.mean()
    truth = np.eye(3)[labels[known]]
    # The mean of the classes is that of all examples.
    truth -= weights @ truth / 25
    alike = similar(numbers)[np.ix_(known, known)]
    for left in range(25):
        rest = np.where(np.arange(25) == left, 0, weights)
        expected = alike[left] @ ridge(alike, truth, rest, penalty)
        np.testing.assert_allclose(fit.left_out[left], expected, rtol=1e-5, atol=1e-8)


def test_what_a_fit_says_is_the_ridge_regression_as_it_is_written() -> None:
    numbers, labels = clouds(40)
    made = kernel(numbers, example(labels[:25]), 3)
    (fit,) = made.fits([0.3])
    truth = np.eye(3)[labels[:25]]
    alike = similar(numbers)
    expected = alike[:, :25] @ ridge(alike[:25, :25], truth - truth.mean(0), np.ones(25), 0.3)
    np.testing.assert_allclose(made._kernel(made.vectors) @ fit.coefficients, expected, atol=1e-7)


@pytest.mark.parametrize("landmarks", [12, 100])
def test_a_label_has_no_part_in_its_own_score(landmarks: int) -> None:
    numbers, labels = clouds(60)
    other = np.where(np.arange(60) == 4, (labels + 1) % 3, labels)
    one, two = (
        next(kernel(numbers, example(y), 3, landmarks).fits([0.01])).left_out for y in (labels, other)
    )
    # The mean of the classes moves with a label. Scores are linear in the truth, so its part is known.
    shift = np.eye(3)[other].mean(0) - np.eye(3)[labels].mean(0)
    expected = one[4] - shift * _of_ones(numbers, example(labels), landmarks, 4)
    np.testing.assert_allclose(two[4], expected, atol=1e-9)
    # What is like it hears of the change.
    assert np.abs(one - two).max() > 0.05


def _of_ones(numbers: Rows, known: Examples, landmarks: int, place: int) -> float:
    """Return the left-out score of an example where the truth is 1 for everyone."""
    made = kernel(numbers, known, 3, landmarks)
    rows = made._lifted(slice(None)) * np.sqrt(made.weights)[:, None]
    rest = np.delete(rows, place, 0)
    onto = rest.T @ np.delete(np.sqrt(made.weights), place)
    solved = np.linalg.solve(rest.T @ rest + 0.01 * np.eye(rows.shape[1]), onto)
    return float(made._lifted(slice(place, place + 1))[0] @ solved)


def test_an_example_of_weight_2_is_one_that_is_there_twice() -> None:
    numbers, labels = clouds(30)
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    twice = np.concatenate([np.arange(30), np.arange(10)])
    # Weights are scaled to a mean of 1, and the penalty stays as it is: 40 examples count as 30.
    (one,) = kernel(numbers, example(labels, weights=weights), 3).fits([0.3])
    (two,) = kernel(numbers, example(labels[twice], twice), 3).fits([0.3 * 40 / 30])
    np.testing.assert_allclose(one.coefficients, two.coefficients, atol=1e-8)


def test_only_the_proportions_of_weights_count() -> None:
    numbers, labels = clouds()
    weights = np.random.default_rng(0).uniform(0.5, 2, 60)
    one, two = (
        read(Vectors(1, 1.0, numbers), example(labels, weights=factor * weights), 3, 0) for factor in (1, 64)
    )
    assert one.proba.tobytes() == two.proba.tobytes()


def test_an_example_without_weight_says_nothing() -> None:
    numbers, labels = clouds()
    weights = np.ones(60)
    weights[7] = 0
    other = np.where(np.arange(60) == 7, (labels + 1) % 3, labels)
    one, two = (read(Vectors(1, 1.0, numbers), example(y, weights=weights), 3, 0) for y in (labels, other))
    assert one.proba.tobytes() == two.proba.tobytes()


def test_blocks_come_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, labels = clouds()
    whole = read(Vectors(1, 1.0, numbers), example(labels[:50]), 3, 0)
    monkeypatch.setattr(module, "_BLOCK", 7)
    np.testing.assert_allclose(
        read(Vectors(1, 1.0, numbers), example(labels[:50]), 3, 0).proba, whole.proba, atol=1e-5
    )


def test_few_landmarks_are_near_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, labels = clouds(600, spread=0.4)
    known = example(labels[:400])
    whole = read(Vectors(1, 1.0, numbers), known, 3, 0)
    monkeypatch.setattr(module, "_MANY", 60)
    few = read(Vectors(1, 1.0, numbers), known, 3, 0)
    assert few.proba.tobytes() != whole.proba.tobytes()
    assert np.abs(few.proba - whole.proba).mean() < 0.03
    assert abs(few.loss - whole.loss) < 0.05
    for got in (few, whole):
        assert (got.proba[400:].argmax(1) == labels[400:]).mean() > 0.85


# --- calibration -------------------------------------------------------------------------------------


def slopes(scores: Rows, labels: Codes, weights: Rows, monkeypatch: pytest.MonkeyPatch) -> Iterator[float]:
    """Yield how far the slope that the search is told is from finite differences, at random places."""

    def instead(loss, start, **_):  # type: ignore[no-untyped-def]
        seen.append((loss, start))
        raise StopIteration

    seen: list[tuple] = []  # type: ignore[type-arg]
    with monkeypatch.context() as patch:
        patch.setattr(module, "minimize", instead)
        with pytest.raises(StopIteration, match=r"^$"):
            calibrate(scores, labels, weights)
    ((loss, start),) = seen
    random = np.random.default_rng(0)
    for _ in range(3):
        place = start + random.normal(size=len(start))
        yield check_grad(lambda x: loss(x)[0], lambda x: loss(x)[1], place) / np.linalg.norm(loss(place)[1])


@pytest.mark.parametrize("classes", [1, 2, 5, 70])
def test_the_slope_is_that_of_finite_differences(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    scores, labels = random.normal(size=(30, classes)), random.integers(0, classes, 30)
    assert max(slopes(scores, labels, random.uniform(0, 2, 30), monkeypatch)) < 1e-5


@settings(max_examples=20)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 99))
def test_no_calibration_nearby_is_better(classes: int, size: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    scores, labels = random.normal(size=(size, classes)), random.integers(0, classes, size)
    weights = random.uniform(0.1, 2, size)

    def loss(numbers: Rows) -> float:
        square = numbers[1 : 1 + classes**2].reshape(classes, classes)
        logits = scores @ (numbers[0] * np.eye(classes) + square) + numbers[1 + classes**2 :]
        chance = log_softmax(logits, 1)[np.arange(size), labels]
        return float(-(weights * chance).sum() + np.square(numbers[1:]).sum() / 2)

    found = calibrate(scores, labels, weights)
    least = loss(found.packed)
    for _ in range(20):
        step = random.normal(size=len(found.packed)) * 0.1
        step[0] = max(step[0], -found.packed[0])
        assert loss(found.packed + step) > least - 1e-4
    # Where the search begins does not matter.
    assert abs(loss(calibrate(scores, labels, weights, found).packed) - least) < 1e-4


def test_many_classes_are_not_mixed() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(210) % 70
    scores = np.eye(70)[labels] + 0.2 * random.normal(size=(210, 70))
    found = calibrate(scores, labels, np.ones(210))
    assert len(found.packed) == 1 + 70
    assert np.array_equal(found.matrix, found.packed[0] * np.eye(70))
    assert (found.logits(scores).argmax(1) == labels).mean() > 0.95
    few = calibrate(scores[:, :64], labels % 64, np.ones(210))
    assert len(few.packed) == 1 + 64**2 + 64


def test_labelled_entities_are_calibrated_without_their_part() -> None:
    numbers, labels = clouds()
    made = kernel(numbers, example(labels), 3)
    (fit,) = made.fits([0.1])
    got = made.reading(fit)
    part = np.arange(60) % 5
    for number in range(5):
        rest = part != number
        alone = calibrate(fit.left_out[rest], labels[rest], np.ones(48))
        expected = softmax(alone.logits(fit.left_out[~rest]), 1)
        np.testing.assert_allclose(got.proba[~rest], expected, atol=2e-3)
    chance = np.log(got.proba[np.arange(60), labels].astype(np.float64))
    np.testing.assert_allclose(got.loss, -chance.mean(), rtol=1e-5)
    assert got.penalty == 0.1


# --- what is read ------------------------------------------------------------------------------------


def two_steps(side: int = 24) -> tuple[HigherOrderNetwork, Codes]:
    """Return a network of which one step says nothing and two steps say all, and the side of each source.

    Every source goes to one of many gates of its own, and the gates lead to one of two sides.
    """
    paths = [
        [f"{side_}{i:02d}", f"gate{side_}{i:02d}", f"end{side_}{j}"]
        for side_ in "ab"
        for i in range(side)
        for j in range(3)
    ]
    hon = hl.grow(paths, order=1)
    names = [name for name in hon.vocabulary if not name.startswith(("gate", "end"))]
    return hon, np.array([hon.index(name) for name in names])


def test_two_steps_are_looked_at_where_one_says_nothing() -> None:
    hon, nodes = two_steps()
    labels = (np.arange(len(nodes)) >= len(nodes) // 2).astype(np.int64)
    known = example(labels, nodes)
    learned, chosen = choose_vectors(hon, known, 2, 0)
    assert (learned.reach, chosen.reach) == (2, 2)
    assert read(chosen, known, 2, 0).loss < 0.1
    # Without the second step it is a guess.
    near = Vectors(1, 1.0, path_embedding(hon, chosen.numbers.shape[1], 1, chosen.smoothing))
    assert read(near, known, 2, 0).loss > 0.5


def test_steps_are_counted_once_for_each_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    hon, nodes = two_steps()
    known = example((np.arange(len(nodes)) >= len(nodes) // 2).astype(np.int64), nodes)
    counted: list[int] = []
    count = embedding.steps_apart

    def noted(network: HigherOrderNetwork, reach: int) -> Any:
        counted.append(reach)
        return count(network, reach)

    monkeypatch.setattr(embedding, "steps_apart", noted)
    for vectors in choose_vectors(hon, known, 2, 0):
        steps = vectors.reach, vectors.smoothing
        longest = min(128, hon.n_entities // 2)
        every = path_embedding(hon, longest, *steps)
        assert vectors.numbers.tobytes() == every[:, : vectors.numbers.shape[1]].tobytes()
    assert sorted(counted[:2]) == [1, 2]
    assert len(counted) == 4  # those two, and one for each comparison above


def numbered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by one with each embedding that is made."""
    made: list[int] = []
    find = module.embedding

    def noted(ahead: Any, dimensions: int, smoothing: float) -> Rows:
        made.append(dimensions)
        return find(ahead, dimensions, smoothing)

    monkeypatch.setattr(module, "embedding", noted)
    return made


def test_what_one_step_says_is_known_on_the_next_network(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [list(path) for path in ("axd", "bxe", "cxd", "ayd", "bye", "cye") for _ in range(9)]
    first, later = hl.grow(paths, order=1), hl.grow(paths, order=2, tau=1)
    assert later.n_conditional
    known = example(np.arange(first.n_entities) % 2)
    alone = [choose_vectors(network, known, 2, 0) for network in (first, later)]
    made, one_step = numbered(monkeypatch), {}
    together = [choose_vectors(network, known, 2, 0, one_step) for network in (first, later)]
    for pair, again in zip(alone, together, strict=True):
        for one, two in zip(pair, again, strict=True):
            assert one[:2] == two[:2]
            assert one.numbers.tobytes() == two.numbers.tobytes()
    # Nothing is left to do on the same network but two steps, short with either smoothing.
    made.clear()
    choose_vectors(first, known, 2, 0, one_step)
    of_two = {(one.reach, one.smoothing) for one in together[0] if one.reach == 2}
    assert len(made) == 2 + len(of_two)


@pytest.mark.parametrize("other", ["labels", "nodes", "weights", "seed", "classes"])
def test_what_one_step_says_of_other_examples_is_not_taken(other: str) -> None:
    hon, labels = ring()
    nodes, weights, one_step = np.arange(60), np.ones(60), {}
    choose_vectors(hon, example(labels[:40], nodes[:40], weights[:40]), 3, 0, one_step)
    if other == "labels":
        labels = labels[::-1]
    elif other == "nodes":
        nodes = nodes[::-1]
    elif other == "weights":
        weights[7] = 2
    seed, classes = int(other == "seed"), 4 if other == "classes" else 3
    known = example(labels[:40], nodes[:40], weights[:40])
    one = choose_vectors(hon, known, classes, seed, one_step)
    assert len({mark for mark, *_ in one_step}) == 2
    two = choose_vectors(hon, known, classes, seed)
    assert [v[:2] for v in one] == [v[:2] for v in two]
    assert [v.numbers.tobytes() for v in one] == [v.numbers.tobytes() for v in two]


def ring(size: int = 60) -> tuple[HigherOrderNetwork, Codes]:
    """Return a ring where neighbours are near, and its three arcs."""
    ends = [(f"n{i:03d}", f"n{(i + step) % size:03d}") for i in range(size) for step in (1, 2, 3)]
    return from_edges(*zip(*ends, strict=True)), np.arange(size) * 3 // size


def test_answers_are_probabilities_and_the_same_each_time() -> None:
    hon, labels = ring()
    known = example(labels[::2], np.arange(60)[::2])
    _, vectors = choose_vectors(hon, known, 3, 5)
    one = read(vectors, known, 3, 5)
    assert one.proba.shape == (60, 3)
    assert one.proba.dtype == np.float32
    assert (one.proba >= 0).all()
    np.testing.assert_allclose(one.proba.sum(1), 1, atol=1e-6)
    assert (one.proba.argmax(1) == labels).mean() > 0.85
    for threads in (1, 2):
        with threadpool_limits(threads):
            _, again = choose_vectors(hon, known, 3, 5)
            two = read(again, known, 3, 5)
        assert again[:2] == vectors[:2]
        assert again.numbers.tobytes() == vectors.numbers.tobytes()
        assert two.proba.tobytes() == one.proba.tobytes()
        assert two[1:] == one[1:]


def test_labels_that_say_nothing_are_read_as_nothing() -> None:
    # An entity's own label would give it away.
    hon, _ = ring(120)
    labels = np.random.default_rng(0).integers(0, 2, 120)
    known = example(labels)
    got = read(choose_vectors(hon, known, 2, 0)[1], known, 2, 0)
    assert got.loss > 0.6
    assert (got.proba.argmax(1) == labels).mean() < 0.7


def test_who_is_there_twice_does_not_tell_on_itself() -> None:
    numbers, _ = clouds()
    labels = np.random.default_rng(1).integers(0, 2, 60)
    twice = np.concatenate([np.arange(60), np.arange(30)])
    weights = np.where(np.arange(60) < 30, 2.0, 1.0)
    vectors = Vectors(1, 1.0, numbers)
    one = read(vectors, example(labels[twice], twice), 2, 0)
    two = read(vectors, example(labels, weights=weights), 2, 0)
    assert one.proba.tobytes() == two.proba.tobytes()
    assert one.loss > 0.6
    # Two labels of one entity are two examples.
    both = example(np.array([0, 1, 1, 0]), np.array([3, 3, 5, 3]))
    merged = module._once(both)
    assert merged.nodes.tolist() == [3, 3, 5]
    assert merged.labels.tolist() == [0, 1, 1]
    assert merged.weights.tolist() == [2, 1, 1]


def test_learners_read_the_first_numbers_at_a_length_of_one() -> None:
    numbers, _ = clouds()
    numbers[3] = 0
    got = Vectors(1, 1.0, numbers).first(3)
    assert got.dtype == np.float32
    expected = numbers[:, :3] / np.maximum(np.linalg.norm(numbers[:, :3], axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(got, expected, atol=1e-6)
    assert not got[3].any()
    assert Vectors(1, 1.0, numbers).first(99).shape == (60, 4)


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
def test_little_is_read_as_well_as_it_can_be(
    hon: HigherOrderNetwork, labels: list[int], nodes: range
) -> None:
    known = example(np.array(labels), np.array(nodes))
    classes = max(labels) + 1
    got = read(choose_vectors(hon, known, classes, 0)[1], known, classes, 0)
    assert got.proba.shape == (hon.n_entities, classes)
    np.testing.assert_allclose(got.proba.sum(1), 1, atol=1e-5)
    assert np.isfinite(got.loss)


def test_more_than_64_classes_are_read() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(350) % 70
    numbers = random.normal(size=(70, 16))[labels] + 0.1 * random.normal(size=(350, 16))
    got = read(Vectors(1, 1.0, numbers), example(labels[:280]), 70, 0)
    assert (got.proba[280:].argmax(1) == labels[280:]).mean() > 0.9
