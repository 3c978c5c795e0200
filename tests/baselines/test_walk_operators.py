"""PathGCN's walks: visit frequencies by their distribution, and layers by their equation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from baseline_cases import network
from scipy import sparse
from scipy.stats import chisquare

from honlearn.baselines.graph import Graph
from honlearn.baselines.pathgcn import PathGCNClassifier, PathGCNEncoder
from honlearn.baselines.training import stream
from honlearn.baselines.walk_operators import Walker
from honlearn.errors import ParameterError

# Nobody is heard by node 3, so walks stay there.
WEIGHTS = np.array([[0, 1, 3, 0], [2, 0, 5, 1], [4, 4, 0, 2], [0, 0, 0, 0]], float)
CHANCES = np.array([[0, 0.25, 0.75, 0], [0.25, 0, 0.625, 0.125], [0.4, 0.4, 0, 0.2], [0, 0, 0, 1]])


def graph() -> Graph:
    """Return the graph in which row i of WEIGHTS is whom node i has an edge to."""
    source, target = np.nonzero(WEIGHTS)
    weights = torch.from_numpy(WEIGHTS[source, target]).float()
    return Graph(torch.arange(4), torch.from_numpy(np.stack([source, target])), weights, 4)


def test_visits_follow_the_powers_of_the_transition_matrix() -> None:
    n_walks = 20_000
    drawn = Walker(sparse.csr_array(WEIGHTS)).drawn(n_walks, 3, seed=5)
    power = np.eye(4)
    for frequencies in drawn:
        power = power @ CHANCES
        counts = np.rint(frequencies.to_dense().numpy().astype(np.float64) * n_walks)
        for row, chances in zip(counts, power, strict=True):
            possible = chances > 0
            assert (row[~possible] == 0).all()
            assert row.sum() == pytest.approx(n_walks)
            if possible.sum() > 1:
                assert chisquare(row[possible], n_walks * chances[possible]).pvalue > 1e-3


def test_steps_of_a_walk_belong_together() -> None:
    # From node 0 of a ring with two ways every walk comes back after two steps or is opposite.
    ring = np.roll(np.eye(4), 1, 1) + np.roll(np.eye(4), -1, 1)
    one, two = Walker(sparse.csr_array(ring)).drawn(1, 2, seed=1)
    first, second = one.to_dense().argmax(1), two.to_dense().argmax(1)
    assert (((first - torch.arange(4)) % 4 == 1) | ((first - torch.arange(4)) % 4 == 3)).all()
    assert (((second - first) % 4 == 1) | ((second - first) % 4 == 3)).all()


def test_the_expectation_is_what_many_walks_tend_to() -> None:
    walker = Walker(sparse.csr_array(WEIGHTS))
    for step, expected in enumerate(walker.expected(3), start=1):
        np.testing.assert_allclose(
            expected.to_dense(), np.linalg.matrix_power(CHANCES, step), rtol=1e-6, atol=1e-7
        )
    torch.testing.assert_close(walker.transition.to_dense(), torch.from_numpy(CHANCES).float())


def test_a_seed_decides_the_walks() -> None:
    walker = Walker(Graph.of(network()).adjacency("both"))
    first, again, other = (walker.drawn(20, 2, seed)[1].to_dense() for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_products_and_gradients_are_those_of_dense_matrices() -> None:
    frequencies = Walker(Graph.of(network()).adjacency("both")).drawn(30, 2, seed=0)[1]
    f = torch.randn(frequencies.shape[1], 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    g = f.detach().clone().requires_grad_()
    (frequencies @ f).square().sum().backward()
    (frequencies.to_dense() @ g).square().sum().backward()
    torch.testing.assert_close(f.grad, g.grad)


def test_the_encoder_is_the_equation() -> None:
    with stream(0, "test"), torch.no_grad():
        encoder = PathGCNEncoder(graph(), 2, 3, 0.5, "out", n_walks=10, walk_length=2).eval()
        encoder.steps.normal_()
        chances, f = torch.from_numpy(CHANCES).float(), encoder.identity.weight
        for layer, steps in zip(encoder.layers, encoder.steps, strict=True):
            along = steps[0] * f + steps[1] * (chances @ f) + steps[2] * (chances @ chances @ f)
            f = torch.relu(f + along @ layer.weight.T + layer.bias)
        torch.testing.assert_close(encoder(encoder.view(graph())), f)


def test_training_draws_anew_and_tends_to_the_prediction() -> None:
    with stream(0, "test"), torch.no_grad():
        encoder = PathGCNEncoder(graph(), 1, 6, 0.0, "out", n_walks=10, walk_length=2)
        view = encoder.view(graph())
        assert not torch.equal(encoder(view), encoder(view))
        encoder.n_walks = 40_000
        trained = encoder(view)
        torch.testing.assert_close(trained, encoder.eval()(view), atol=0.02, rtol=0)


def test_walks_are_a_number() -> None:
    with pytest.raises(ParameterError, match="'n_walks' parameter of PathGCNClassifier"):
        PathGCNClassifier(network(), n_walks=0).fit(["ash01"], ["a"])
