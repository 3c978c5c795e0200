"""Baselines give the same bytes on any number of threads, also on networks large enough to divide."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from honlearn.baselines.contract import threads
from honlearn.errors import ParameterError
from honlearn.experiments.registry import find_model
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork


@pytest.fixture(scope="module")
def network() -> HigherOrderNetwork:
    """3,000 entities: sums over them are longer than torch adds on one thread where it has two."""
    random, size = np.random.default_rng(0), 3000
    ends = random.integers(0, size, (20_000, 2))
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    names = np.array([f"e{i:05d}" for i in range(size)], dtype=object)
    sources, targets = names[ends.T].tolist()
    return from_edges(sources, targets, random.integers(1, 9, len(ends)).tolist())


@pytest.mark.parametrize("name", ["pathgcn", "dbgnn"])
def test_threads_change_neither_predictions_nor_curves(network: HigherOrderNetwork, name: str) -> None:
    nodes = list(network.vocabulary.names)
    labels, fits = [f"c{i % 7}" for i in range(len(nodes))], []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for count in (1, None):
            model = find_model(name).make(network, n_threads=count, random_state=0, max_epochs=2)
            fits.append(model.fit(nodes, labels))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    first, other = fits
    assert other.predict_proba(nodes).tobytes() == first.predict_proba(nodes).tobytes()
    assert other.history_.equals(first.history_)


def test_a_number_of_threads_is_checked() -> None:
    with (
        pytest.raises(ParameterError, match="The 'n_threads' parameter of X must be a whole number"),
        threads(0, "X"),
    ):
        pass
