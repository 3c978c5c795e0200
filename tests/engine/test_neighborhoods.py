"""Sampled neighbourhoods are exact ones in the limit, layer by layer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from model_cases import STREAMS, context, ensemble, exact, small_network

from honlearn.engine.adjacency import directed_means
from honlearn.engine.sampled import SampledNeighborhood
from honlearn.ensemble.ensemble import Surroundings
from honlearn.hon.edgelist import from_edges


@torch.no_grad()
def sampling_error(kind: str, widths: tuple[int, ...], fan_out: int, runs: int) -> float:
    """Return the root mean square difference of sampled from exact representations of all nodes."""
    hon = small_network()
    model = ensemble(hon, kind, widths=widths)
    roots = np.arange(hon.n_nodes, dtype=np.int32)[None].repeat(3, 0)
    whole = Surroundings((exact(hon, len(widths), kind == "gin"),))
    expected = model.represent(roots, whole, context())
    near = Surroundings((SampledNeighborhood(hon, (fan_out,) * len(widths), kind == "gin"),))
    differences = [model.represent(roots, near, context(step=step)) - expected for step in range(runs)]
    return float(torch.stack(differences).square().mean().sqrt())


@pytest.mark.parametrize("kind", ["mean", "gin"])
@pytest.mark.parametrize(("widths", "fan_out"), [((9,), 90), ((9, 7), 16)])
def test_many_samples_converge_to_exact(kind: str, widths: tuple[int, ...], fan_out: int) -> None:
    few, many = (sampling_error(kind, widths, n, runs=45 // len(widths) ** 3) for n in (fan_out, 9 * fan_out))
    # The error of a mean falls with the root of the sample: by 3 for 9 times the samples.
    assert 2.4 < few / many < 3.8


def test_a_sampled_maximum_is_exact_once_all_were_seen() -> None:
    assert sampling_error("max", (9, 7), 4, 1) > 0.01
    assert sampling_error("max", (9, 7), 400, 1) < 1e-6


def test_a_fan_out_is_the_papers_tree() -> None:
    hon = small_network()
    first, second = SampledNeighborhood(hon, (64, 1)).hops(np.zeros((3, 2), np.int32), STREAMS, 0)
    # A root reads 64 + 64 neighbours, each of these 1 + 1: 1 + 128 + 256 = 385 nodes a root.
    assert second.rows.shape[1] == 2
    assert first.rows.shape[1] == 2 * (1 + 128)
    assert SampledNeighborhood(hon, (64, 1)).rows_a_root == 1 + 128
    assert first.into.indices.shape[1] + first.out_of.indices.shape[1] == 2 * (128 + 256)
    assert np.allclose(second.into.weights, 1 / 64)


def test_sums_of_equal_weights_are_plain_sums() -> None:
    hon = from_edges(["a", "b", "c"], ["d", "d", "d"], [4, 4, 4])
    near = exact(hon, 1, sums=True)
    hop = near.hops(np.array([[hon.index("d")]], np.int32), np.zeros(1, np.uint64), 0)[0]
    row = slice(*hop.into.indptr[hon.index("d") : hon.index("d") + 2])
    assert hop.into.weights[0, row].tolist() == [1, 1, 1]


def test_a_power_flattens_the_shares() -> None:
    hon = from_edges(["a", "b"], ["d", "d"], [16, 1])
    into = [directed_means(hon, p).parts[0].weights[0].tolist() for p in (1.0, 0.5, 0.0)]
    assert np.allclose(into, [[16 / 17, 1 / 17], [0.8, 0.2], [0.5, 0.5]])


def test_rows_of_means_add_up_to_one_or_nothing() -> None:
    hon = small_network(2)
    near = exact(hon, 2)
    for hop in near.hops(np.zeros((1, 1), np.int32), np.zeros(1, np.uint64), 0):
        for part in (hop.into, hop.out_of):
            sums = np.add.reduceat(np.append(part.weights[0], 0), part.indptr[:-1]) * (
                np.diff(part.indptr) > 0
            )
            assert np.allclose(sums[np.diff(part.indptr) > 0], 1, atol=1e-6)


def test_a_step_samples_anew_and_the_same_step_the_same() -> None:
    near = SampledNeighborhood(small_network(), (6,))
    roots = np.arange(12, dtype=np.int32)[None].repeat(3, 0)
    one, again, other = (near.hops(roots, STREAMS, step)[0].into.indices for step in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
