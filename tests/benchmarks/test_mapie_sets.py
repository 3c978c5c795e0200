"""Sets of MAPIE on our probabilities are those of our scores, where both are defined in the same way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from honlearn.conformal import p_values
from honlearn.ensemble.training import Held
from honlearn.tasks.crossed import Crossed, Kernel, count_fits

pytest.importorskip("mapie", reason="MAPIE is not installed")
BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
LEVELS = (0.8, 0.9)


@pytest.mark.filterwarnings("ignore")
def test_split_sets_are_those_of_lac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from mapie_sets import split_sets

    random = np.random.default_rng(0)
    held, labels = random.dirichlet(np.ones(3), 60), np.arange(60) % 3
    final = random.dirichlet(np.ones(3), 40)
    masks = split_sets(held, labels, final, "lac", LEVELS)
    values = p_values(1 - final, 1 - held[np.arange(60), labels])
    for place, level in enumerate(LEVELS):
        assert np.array_equal(masks[:, :, place], values > 1 - level)


@pytest.mark.filterwarnings("ignore")
def test_cross_sets_are_ours_but_for_one_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from mapie_sets import cross_sets

    random = np.random.default_rng(1)
    n, size = 60, 40
    # Of the last class nothing was held back.
    labels = random.integers(0, 3, n)
    positions = np.array([np.arange(0, n, 2), np.arange(1, n, 2)])
    held = random.dirichlet(np.ones(4), n).astype(np.float32)
    given = random.dirichlet(np.ones(4), (2, size)).astype(np.float32)
    given[:, :, 3], held[:, 3] = 1e-6, 1e-6
    given, held = given / given.sum(2, keepdims=True), held / held.sum(1, keepdims=True)
    parts = [Crossed(Held(positions, held[positions], labels[positions]), given, 1.0)]
    known = (np.ones(n, bool), held, labels)
    kernel = Kernel(np.zeros((size, 4), np.float32), 0.0)
    masks = cross_sets(parts, kernel, known, 1.0, np.arange(size), "crossval", (0.4, 0.6))
    counts = count_fits(parts, kernel, known, 1.0).counts[:, :3]
    for place, alpha in enumerate((0.6, 0.4)):
        low, high = counts > alpha * n + 1, counts >= alpha * n - 2
        assert (masks[:, :3, place] >= low).all()
        assert (masks[:, :3, place] <= high).all()
        assert low.any()
        assert not high.all()
    assert not masks[:, 3].any()
