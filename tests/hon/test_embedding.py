"""Vectors of entities: steps are those of the paths, information is a dense table's, names do not matter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import honlearn as hl
from honlearn.hon import embedding
from honlearn.hon.edgelist import from_edges
from honlearn.hon.embedding import factors, information, path_embedding, steps_apart, steps_to_others, unit
from honlearn.hon.network import HigherOrderNetwork

Walks = list[list[str]]


def counted(paths: Walks, names: list[str], reach: int) -> NDArray[np.float64]:
    """Count who is passed 1 … `reach` steps after whom, path by path."""
    found = np.zeros((len(names), len(names)))
    for path in paths:
        for distance in range(1, reach + 1):
            for earlier, later in zip(path, path[distance:], strict=False):
                found[names.index(earlier), names.index(later)] += 1
    return found


def walks(seed: int = 0, entities: int = 30, count: int = 400) -> Walks:
    """Return random walks that like neighbours, and going on the way they came."""
    random = np.random.default_rng(seed)
    names, paths = [f"n{i:02d}" for i in range(entities)], []
    for _ in range(count):
        at, step = int(random.integers(entities)), int(random.choice([-1, 1]))
        path = [at]
        for _ in range(int(random.integers(1, 6))):
            at = (at + step * int(random.integers(1, 5))) % entities
            path.append(at)
        paths.append([names[i] for i in path])
    return paths


def renamed(paths: Walks) -> tuple[Walks, dict[str, str]]:
    """Return the paths under names whose order is another, and the new name of each old one."""
    names = sorted({name for path in paths for name in path})
    shuffled = np.random.default_rng(5).permutation(len(names))
    other = {name: f"x{place:02d}" for name, place in zip(names, shuffled, strict=True)}
    return [[other[name] for name in path] for path in paths], other


# --- steps -------------------------------------------------------------------------------------------


@given(st.lists(st.text("ABC", min_size=1, max_size=7), max_size=30), st.sampled_from([1, 2, 3]))
def test_steps_are_those_of_the_paths_as_far_as_contexts_are_kept(drawn: list[str], order: int) -> None:
    # Every context of `order` entities is followed by something, so that tau None keeps it.
    paths = [list(word) for word in drawn] + [
        list(word) for word in itertools.product("ABC", repeat=order + 1)
    ]
    hon = hl.grow(paths, order=order, alpha=1, min_support=1)
    for reach in range(1, order + 1):
        np.testing.assert_allclose(
            steps_apart(hon, reach).toarray(), counted(paths, list("ABC"), reach), rtol=1e-9
        )


@pytest.mark.parametrize(("order", "tau", "support"), [(2, 1, 1), (2, 3, 2), (3, 1, 1), (3, 1, 3)])
def test_one_step_is_the_same_on_every_network_of_the_paths(order: int, tau: float, support: int) -> None:
    first = steps_to_others(hl.grow(walks(), order=1), 1)
    later = hl.grow(walks(), order=order, tau=tau, min_support=support)
    assert later.n_conditional
    found = steps_to_others(later, 1)
    for name in ("indptr", "indices", "data"):
        assert getattr(found, name).tobytes() == getattr(first, name).tobytes()


def test_the_steps_of_longer_contexts_are_not_counted_again() -> None:
    # C|A is reached from A, and the same steps are told by A|Z: 4 came, not 8.
    hon = hl.grow([["Z", "A", "C", "D"]] * 4, order=2, alpha=1, min_support=1)
    assert "A|Z" in hon.nodes
    assert "C|A" in hon.nodes
    assert steps_apart(hon, 2).toarray()[hon.index("A")].tolist() == [0, 4, 4, 0]


def test_without_memory_as_many_go_on_as_leave() -> None:
    paths = [["A", "C", "D"], ["B", "C", "E"], ["B", "C"]] * 6
    first = hl.grow(paths, order=1)
    # 18 come to C, 6 leave for D and 6 for E, wherever they came from.
    np.testing.assert_allclose(steps_apart(first, 2).toarray()[0], [0, 0, 6, 2, 2])
    np.testing.assert_allclose(steps_apart(first, 2).toarray()[1], [0, 0, 12, 4, 4])
    second = hl.grow(paths, order=2, alpha=1, min_support=1)
    np.testing.assert_allclose(steps_apart(second, 2).toarray(), counted(paths, list("ABCDE"), 2))


def test_nobody_goes_on_more_often_than_they_came() -> None:
    # Most paths begin at B: 1 comes, 9 leave.
    hon = hl.grow([["A", "B", "C"], *[["B", "C"]] * 8], order=1)
    assert steps_apart(hon, 2).toarray()[0].tolist() == [0, 1, 1]


def test_what_would_be_too_many_pairs_is_seen_one_step_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    hon = hl.grow(walks(), order=2, alpha=1, min_support=1)
    near, far = steps_apart(hon, 1).toarray(), steps_apart(hon, 2).toarray()
    assert far.sum() > near.sum()
    monkeypatch.setattr(embedding, "_MOST", 100)
    assert np.array_equal(steps_apart(hon, 2).toarray(), near)
    assert np.array_equal(path_embedding(hon, 6), path_embedding(hon, 6, reach=1))


# --- information and factors -------------------------------------------------------------------------


@pytest.mark.parametrize("smoothing", [0.75, 1.0])
def test_information_is_that_of_a_dense_table(smoothing: float) -> None:
    random = np.random.default_rng(2)
    counts = random.integers(0, 9, (14, 14)) * (random.random((14, 14)) < 0.4)
    counts[3] = counts[:, 5] = 0
    smoothed = counts.sum(0) ** smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.log(counts / counts.sum(1)[:, None] / (smoothed / smoothed.sum()))
    expected = np.where(counts > 0, np.maximum(expected, 0), 0)
    assert (expected > 0).sum() < (counts > 0).sum()
    np.testing.assert_allclose(information(csr_array(counts), smoothing).toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("dimensions", [5, 20, 100])
def test_factors_are_the_best_of_their_rank(dimensions: int, columns: int) -> None:
    random = np.random.default_rng(3)
    matrix = random.normal(size=(40, columns)) * (random.random((40, columns)) < 0.3)
    ahead, behind = factors(csr_array(matrix), dimensions)
    kept = min(dimensions, 40)
    assert ahead.shape == (40, kept)
    assert behind.shape == (columns, kept)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    best = (left[:, :kept] * values[:kept]) @ right[:kept]
    np.testing.assert_allclose(ahead @ behind.T, best, atol=1e-8)
    # Both sides weigh the same, the weightiest come first, and the sign of a pair is settled.
    for side in (ahead, behind):
        np.testing.assert_allclose((side**2).sum(0), values[:kept], atol=1e-8)
    assert (ahead[np.abs(ahead).argmax(0), np.arange(kept)] > 0).all()


@pytest.mark.parametrize("dimensions", [12, 30])
def test_beyond_the_rank_there_is_nothing(dimensions: int) -> None:
    random = np.random.default_rng(4)
    matrix = csr_array(random.normal(size=(40, 3)) @ random.normal(size=(3, 80)))
    # A start outside of what the matrix reaches makes the solver begin anew, more than once.
    one, two = factors(matrix, dimensions), factors(matrix, dimensions)
    assert [side.tobytes() for side in one] == [side.tobytes() for side in two]
    assert (one[0][:, :3] != 0).all()
    assert not one[0][:, 3:].any()
    assert not one[1][:, 3:].any()
    np.testing.assert_allclose(one[0] @ one[1].T, matrix.toarray(), atol=1e-9)


def with_spectrum(rows: int, values: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(6)
    left = np.linalg.qr(random.normal(size=(rows, len(values))))[0]
    return (left * values) @ np.linalg.qr(random.normal(size=(2 * rows, len(values))))[0].T


@pytest.mark.parametrize("threads", [1, 2])
def test_a_sketch_holds_what_the_exact_factors_hold(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from threadpoolctl import threadpool_limits

    # Without any gap, and with as many values as rows.
    values = np.arange(1, 301)[::-1] ** 0.7
    matrix = csr_array(with_spectrum(300, values))
    monkeypatch.setattr(embedding, "SKETCHED_ABOVE", 100)
    with threadpool_limits(threads):
        ahead, behind = factors(matrix, 20)
        again = factors(matrix, 20, both=False)[0]
    assert ahead.tobytes() == again.tobytes()
    kept = (ahead**2).sum(0)
    np.testing.assert_allclose(kept, values[:20], rtol=0.03)
    assert (kept**2).sum() > 0.98 * (values[:20] ** 2).sum()
    # The rest is as small as it can be, but for what the sketch misses.
    rest = np.linalg.norm(matrix.toarray() - ahead @ behind.T) ** 2
    assert rest < 1.01 * (values[20:] ** 2).sum()


def test_a_sketch_of_a_low_rank_is_exact_and_has_nothing_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "SKETCHED_ABOVE", 100)
    matrix = csr_array(with_spectrum(200, np.array([9.0, 5.0, 2.0])))
    for most in (1 << 28, 1):
        monkeypatch.setattr(embedding, "_MOST_NUMBERS", most)
        ahead, behind = factors(matrix, 10)
        np.testing.assert_allclose(ahead @ behind.T, matrix.toarray(), atol=1e-5)
        assert not ahead[:, 3:].any()
        assert not behind[:, 3:].any()


def test_rows_have_a_length_of_one_or_none() -> None:
    np.testing.assert_allclose(
        unit(np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]])), [[0.6, 0.8], [0, 0], [0, -1]]
    )


# --- vectors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimensions", [6, 200])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_vectors_are_ordered_and_the_same_each_time(order: int, dimensions: int) -> None:
    hon = hl.grow(walks(), order=order, tau=1.0, min_support=2)
    assert hon.max_order == order
    vectors = path_embedding(hon, dimensions)
    assert vectors.dtype == np.float64
    assert vectors.shape == (30, min(dimensions, 30))
    weight = (vectors**2).sum(0)
    assert (np.diff(weight) < 1e-9).all()
    assert weight[-1] > 0.1
    again = hl.grow(walks(), order=order, tau=1.0, min_support=2)
    assert path_embedding(again, dimensions).tobytes() == vectors.tobytes()


@pytest.mark.parametrize("smoothing", [0.75, 1.0])
@pytest.mark.parametrize("reach", [1, 2])
def test_vectors_hold_what_comes_after_and_what_before(reach: int, smoothing: float) -> None:
    hon = hl.grow(walks(), order=2, tau=1.0, min_support=2)
    ahead = steps_apart(hon, reach).toarray()
    np.fill_diagonal(ahead, 0)
    both = np.hstack([information(csr_array(m), smoothing).toarray() for m in (ahead, ahead.T)])
    vectors = path_embedding(hon, 200, reach, smoothing)
    # All factors together lose nothing: (U √Σ)(U √Σ)ᵀ is the root of M Mᵀ.
    alike = vectors @ vectors.T
    np.testing.assert_allclose(alike @ alike, both @ both.T, atol=1e-8)
    # Fewer of them are the first of all.
    few = path_embedding(hon, 5, reach, smoothing)
    np.testing.assert_allclose(few @ few.T, vectors[:, :5] @ vectors[:, :5].T, atol=1e-7)


def test_who_goes_there_is_unlike_who_comes_from_there() -> None:
    # a… go to X, b… come from X; looked at both ways at once all of them would be the same.
    ends = [(f"a{i}", "X") for i in range(9)] + [("X", f"b{i}") for i in range(9)]
    hon = from_edges(*zip(*ends, strict=True))
    for dimensions in (4, 16):
        vectors = unit(path_embedding(hon, dimensions, reach=1))
        alike = vectors @ vectors.T
        a, b = hon.index("a3"), hon.index("b3")
        assert alike[a, hon.index("a5")] > 0.999
        assert alike[b, hon.index("b5")] > 0.999
        assert abs(alike[a, b]) < 1e-6


def test_who_is_passed_near_is_alike() -> None:
    vectors = unit(path_embedding(hl.grow(walks(), order=2, tau=1.0, min_support=2), 6))
    alike = vectors @ vectors.T
    assert all(alike[i, (i + 1) % 30] > 0.6 > alike[i, (i + 15) % 30] for i in range(30))


def test_names_do_not_matter() -> None:
    paths = walks()
    others, other = renamed(paths)
    one, two = (hl.grow(some, order=2, tau=1.0, min_support=2) for some in (paths, others))
    place = two.vocabulary.codes([other[name] for name in one.vocabulary])
    assert not np.array_equal(place, np.arange(30))
    # The signs of vectors may differ, what is alike may not.
    similar = [vectors @ vectors.T for vectors in (path_embedding(one, 8), path_embedding(two, 8)[place])]
    np.testing.assert_allclose(similar[0], similar[1], atol=1e-4)


def test_the_order_of_paths_does_not_matter() -> None:
    one, two = (hl.grow(paths, order=2, tau=1.0, min_support=2) for paths in (walks(), walks()[::-1]))
    assert path_embedding(one, 8).tobytes() == path_embedding(two, 8).tobytes()


def lonely(count: int) -> HigherOrderNetwork:
    """Return a ring of `count` entities, and Z, which only ever comes to itself."""
    ring = [(f"a{i:02d}", f"a{(i + step) % count:02d}") for i in range(count) for step in (1, 2)]
    return from_edges(*zip(*ring, ("Z", "Z"), strict=True), list(range(1, 2 * count + 2)))


@pytest.mark.parametrize("dimensions", [3, 40])
def test_the_isolated_have_no_vector(dimensions: int) -> None:
    hon = lonely(12)
    vectors = path_embedding(hon, dimensions)
    z = hon.index("Z")
    assert not vectors[z].any()
    assert (np.linalg.norm(np.delete(vectors, z, 0), axis=1) > 0.1).all()


def test_where_nobody_is_near_anybody_all_are_zeros() -> None:
    vectors = path_embedding(from_edges(["A", "B"], ["A", "B"]), 5)
    assert vectors.shape == (2, 2)
    assert not vectors.any()


@pytest.mark.parametrize("dimensions", [8, 200])
@pytest.mark.parametrize(
    "ends",
    [
        [("hub", f"leaf{i:02d}") for i in range(60)],
        [(f"a{i:02d}", f"b{j:02d}") for i in range(30) for j in range(30)],
    ],
    ids=["star", "all to all"],
)
def test_what_is_as_chance_has_it_says_nothing(ends: list[tuple[str, str]], dimensions: int) -> None:
    hon = from_edges(*zip(*ends, strict=True))
    vectors = path_embedding(hon, dimensions)
    assert vectors.shape == (hon.n_entities, min(dimensions, hon.n_entities))
    assert not vectors.any()
