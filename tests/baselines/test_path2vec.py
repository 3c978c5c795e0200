from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from baseline_cases import network, nodes, paths
from torch.nn import functional as F

import honlearn as hl
from honlearn.baselines import path2vec
from honlearn.baselines.path2vec import Path2vecClassifier, Path2vecLinkPredictor
from honlearn.baselines.skipgram import epoch, noise_table, start, step
from honlearn.errors import InputError
from honlearn.hon.edgelist import from_edges
from honlearn.paths.paths import Paths
from honlearn.sampling.paths_within import paths_within
from honlearn.tasks.link_split import split_links

SMALL = {"dimensions": 8, "n_epochs": 3, "random_state": 0, "n_threads": 1}


def test_a_step_goes_down_the_gradient() -> None:
    random = np.random.default_rng(0)
    inner, outer = (random.normal(size=(6, 5)).astype(np.float32) for _ in range(2))
    v, u = (torch.tensor(part, dtype=torch.float64, requires_grad=True) for part in (inner, outer))
    center, targets = 2, np.array([4, 0, 3, 1], np.int32)
    dots = (u[targets.tolist()] * v[center]).sum(1)
    loss = -F.logsigmoid(dots[0]) - F.logsigmoid(-dots[1:]).sum()
    loss.backward()
    got = step(inner, outer, center, targets, 4, 0.1, np.empty(5, np.float32))
    assert got == pytest.approx(loss.item(), rel=1e-5)
    np.testing.assert_allclose(inner, (v - 0.1 * v.grad).detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(outer, (u - 0.1 * u.grad).detach().numpy(), atol=1e-6)


def test_a_target_beyond_the_count_is_not_read() -> None:
    inner, outer = start(4, 3, np.random.default_rng(0))
    outer += np.float32(1)
    before = outer.copy()
    step(inner, outer, 0, np.array([1, 2, 3], np.int32), 2, 0.5, np.empty(3, np.float32))
    np.testing.assert_array_equal(outer[[0, 3]], before[[0, 3]])
    assert (outer[[1, 2]] != before[[1, 2]]).all()


def test_negatives_come_by_their_count_to_three_quarters() -> None:
    counts = np.array([16, 0, 81, 1])
    share = np.bincount(noise_table(counts), minlength=4) / len(noise_table(counts))
    np.testing.assert_allclose(share, np.array([8, 0, 27, 1]) / 36, atol=1e-5)


def test_only_paths_and_windows_that_are_given_are_read() -> None:
    codes = np.array([0, 1, 2, 3, 4, 5], np.int32)
    vectors = start(6, 4, np.random.default_rng(0))
    before = vectors[0].copy()
    nobody = np.full(1 << 20, 5, np.int32)
    offsets = np.array([0, 3, 6])
    for _ in range(2):  # u starts at 0, so v moves from the second pass on
        loss = epoch(codes, offsets, np.array([0]), vectors, nobody, 1, 1, (0.1, 0.1), 7)
    assert (vectors[0][:3] != before[:3]).any(1).all()
    np.testing.assert_array_equal(vectors[0][3:], before[3:])
    # Two steps in all: at the start the loss of each pair is 2 log 2, and falls.
    assert 1.2 < loss < 2 * np.log(2)


def test_a_step_that_the_network_lacks_cuts_the_path() -> None:
    hon = from_edges(["A", "C|A", "B"], ["C|A", "D", "C"], [1, 1, 1])
    given = Paths.from_lists(
        [["A", "C", "D"], ["Z", "A", "C", "A", "C"], ["D"], ["B", "Z", "C"]], [2, 3, 4, 5]
    )
    cut = paths_within(given, hon)
    assert list(cut) == [("A", "C", "D"), ("A", "C"), ("A", "C"), ("D",), ("B",), ("C",)]
    assert cut.counts is not None
    assert cut.counts.tolist() == [2, 3, 3, 4, 5, 5]
    assert cut.vocabulary is hon.vocabulary


def test_hidden_links_are_not_learnt_from_the_paths() -> None:
    split = split_links(network(), 0.2, seed=3)
    model = Path2vecLinkPredictor(split.network, paths=paths(), **SMALL)
    model.seed_ = 0
    seen = {frozenset(pair) for path in model._paths() for pair in pairwise(path)}
    assert seen
    assert not seen & {frozenset(pair) for pair in split.names}


def test_paths_come_as_lists_paths_or_a_file(tmp_path: Path) -> None:
    names, groups = nodes()
    file = tmp_path / "walks.txt"
    file.write_text("".join(" ".join(path) + "\n" for path in paths()))
    answers = [
        Path2vecClassifier(network(), paths=given, **SMALL).fit(names[:30], groups[:30]).predict_proba(names)
        for given in (paths(), Paths.from_lists(paths()), str(file), file)
    ]
    assert len({answer.tobytes() for answer in answers}) == 1
    walked = Path2vecClassifier(network(), **SMALL).fit(names[:30], groups[:30]).predict_proba(names)
    assert walked.tobytes() != answers[0].tobytes()


def test_a_saved_model_has_no_paths_but_what_was_learnt(tmp_path: Path) -> None:
    names, groups = nodes()
    model = Path2vecClassifier(network(), paths=Paths.from_lists(paths()), **SMALL).fit(names, groups)
    model.save(tmp_path / "model")
    loaded = hl.load_model(tmp_path / "model")
    assert loaded.paths is None
    assert loaded.predict_proba(names).tobytes() == model.predict_proba(names).tobytes()


def test_counts_are_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.array([1, 4, 0, 2])
    visits = path2vec._visits(counts, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(visits, minlength=4), counts)
    monkeypatch.setattr(path2vec, "_MOST", 5)
    drawn = path2vec._visits(np.array([0, 10**9, 10**9]), np.random.default_rng(0))
    assert len(drawn) == 5
    assert 0 not in drawn


def test_paths_of_elsewhere_are_refused() -> None:
    names, groups = nodes()
    with pytest.raises(InputError, match="Path2vecClassifier: no path has a step of the network"):
        Path2vecClassifier(network(), paths=[["x", "y"]], **SMALL).fit(names, groups)
