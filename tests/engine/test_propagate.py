"""The compiled products against tensor operations: values, gradients, masks, threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from model_cases import around, context, ensemble, exact, small_network

from honlearn.engine import products, propagate, tensorops
from honlearn.engine.hashing import drop_threshold, hash32, hash32_tensor, short_keys, site_keys
from honlearn.engine.neighborhoods import Hop
from honlearn.engine.propagate import Dropout, LookupSites, drop, gather, lookup_layer, max_rows, sum_rows
from honlearn.engine.runtime import Runtime
from honlearn.engine.sampled import SampledNeighborhood

KEYS = np.array([5, 77, 4_000_000_000], np.uint32)


@pytest.fixture(params=["exact", "sampled"])
def hop(request: pytest.FixtureRequest) -> Hop:
    hon = small_network()
    roots = np.array([[0, 1, 4, 4], [15, 1, 2, 3], [9, 8, 7, 6]], np.int32)
    near = exact(hon, 1) if request.param == "exact" else SampledNeighborhood(hon, (5,))
    return near.hops(roots, np.arange(3, dtype=np.uint64), 0)[0]


def table(width: int, learners: int = 3, seed: int = 0, rows: int = 12) -> torch.Tensor:
    return torch.randn(learners, rows, width, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def same(one: torch.Tensor, other: torch.Tensor, *leaves: torch.Tensor) -> None:
    """Compare values, and gradients of a random linear function of both."""
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
    pull = torch.randn(one.shape, generator=torch.Generator().manual_seed(9))
    grads = torch.autograd.grad((one * pull).sum(), leaves)
    for got, expected in zip(grads, torch.autograd.grad((other * pull).sum(), leaves), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize("learners", [1, 3])
def test_sums(hop: Hop, rate: float, learners: int) -> None:
    x, site = table(6, learners), Dropout(rate, KEYS)
    got = sum_rows(Runtime(n_threads=1), hop.into, hop.rows, x, site)
    same(got, tensorops.sum_rows(x, hop.into, hop.rows, 3, rate, KEYS), x)


@pytest.mark.parametrize("rate", [0.0, 0.4])
@pytest.mark.parametrize("learners", [1, 3])
def test_maxima(hop: Hop, rate: float, learners: int) -> None:
    x, site = table(6, learners), Dropout(rate, KEYS)
    got = max_rows(Runtime(n_threads=1), hop.out_of, hop.rows, x, site)
    expected = tensorops.max_rows(x, hop.out_of, hop.rows, 3, rate, KEYS)
    torch.testing.assert_close(got, expected)
    # Ties (one neighbour sampled twice) share a gradient in one and not in the other; sums agree.
    for out in (got, expected):
        (grad,) = torch.autograd.grad(out.sum(), x)
        torch.testing.assert_close(grad.sum(), (out != 0).float().sum())


@pytest.mark.parametrize("activated", [True, False])
@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("learners", [1, 3])
def test_look_up_layer(hop: Hop, rate: float, learners: int, activated: bool) -> None:
    tables = tuple(table(width, learners, seed) for seed, width in enumerate((4, 3, 3)))
    bias = torch.randn(learners, 10, generator=torch.Generator().manual_seed(5)).requires_grad_()
    sites = LookupSites(*(Dropout(rate, KEYS + np.uint32(i)) for i in range(4)))
    got = lookup_layer(Runtime(n_threads=1), hop, tables, bias, sites, activated)
    parts = zip(tables, (hop.own, hop.into, hop.out_of), sites[:3], strict=True)
    sums = [tensorops.sum_rows(t, part, hop.rows, 3, s.rate, s.keys) for t, part, s in parts]
    expected = torch.cat(sums, 2) + bias[:, None]
    if activated:
        expected = tensorops.drop(torch.relu(expected), hop.rows, rate, sites.hidden.keys)
    same(got.clone(), expected, bias, *tables)


def test_gather(hop: Hop) -> None:
    x = table(6)
    got = torch.cat(gather(Runtime(n_threads=1), hop, x), 2)
    expected = torch.cat([tensorops.sum_rows(x, part, hop.rows, 3) for part in (hop.own, *hop.parts)], 2)
    same(got, expected, x)


def test_dropout_masks_agree_and_keep_the_mean() -> None:
    rows = np.arange(400, dtype=np.int32)[None]
    x = torch.ones(3, 400, 50, requires_grad=True)
    got = drop(Runtime(n_threads=1), rows, x, Dropout(0.3, KEYS))
    same(got, tensorops.drop(x, rows, 0.3, KEYS), x)
    share = (got != 0).float().mean((1, 2))
    # 20,000 coins a learner: four standard deviations are 0.013.
    assert ((share - 0.7).abs() < 0.013).all()
    assert not torch.equal(got[0] != 0, got[1] != 0)


def test_rate_zero_is_the_identity() -> None:
    x = torch.ones(3, 2, 2)
    assert drop(Runtime(n_threads=1), np.zeros((1, 2), np.int32), x, Dropout(0.0, KEYS)) is x
    assert drop_threshold(0.0) == 0


def test_both_hashes_are_one() -> None:
    places = np.array([0, 1, 2, 77, 2**31, 2**32 - 1], np.uint32)
    for key in KEYS:
        tensor = hash32_tensor(torch.tensor(places.astype(np.int64)), torch.tensor(int(key)))
        assert tensor.tolist() == [int(hash32(place, key)) for place in places]


def test_hash_bits_are_uniform_over_places_and_keys() -> None:
    places = torch.arange(1 << 16)
    for keys in (torch.tensor(3), torch.arange(1 << 16)):
        bits = hash32_tensor(places, keys)
        counts = torch.bincount(bits >> 24, minlength=256).double()
        statistic = float(((counts - 256) ** 2 / 256).sum())
        # Chi-square with 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert 165 < statistic < 345


def test_keys_differ_by_learner_step_and_site() -> None:
    streams = np.array([1, 2, 3], np.uint64)
    keys = [short_keys(site_keys(streams, step, site)) for step in range(50) for site in range(40)]
    assert len(np.unique(np.concatenate(keys))) == 3 * 50 * 40


def test_threads_change_nothing(hop: Hop) -> None:
    x = table(6)
    one = sum_rows(Runtime(n_threads=1), hop.into, hop.rows, x, Dropout(0.4, KEYS))
    two = sum_rows(Runtime(n_threads=2), hop.into, hop.rows, x, Dropout(0.4, KEYS))
    assert torch.equal(one, two)


@pytest.mark.parametrize("fan_outs", [None, (4, 3, 2)])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("widths", [(7,), (9, 7), (9, 9, 9)])
@pytest.mark.parametrize("kind", ["mean", "gin"])
def test_whole_models_have_the_same_gradients_on_both_paths(
    kind: str,
    widths: tuple[int, ...],
    shared: bool,
    fan_outs: tuple[int, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hon = small_network(4, entities=30, extra=10, edges=90)
    given = {"fan_outs": fan_outs and fan_outs[: len(widths)], "input_dropout": 0.3, "hidden_dropout": 0.3}
    model = ensemble(hon, kind, widths=widths, variant="pool", shared=shared, **given)
    near = around(hon, model)
    roots = np.array([[0, 1, 4, 4], [15, 1, 2, 3], [9, 8, 7, 6]], np.int32)
    results = []
    for compiled in (True, False):
        monkeypatch.setattr(propagate, "is_compiled", lambda tensor, answer=compiled: answer)
        out = model(roots, near, context(training=True))
        results.append((out.detach(), torch.autograd.grad(out.square().sum(), list(model.parameters()))))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-4, atol=1e-5)
    for got, expected in zip(results[0][1], results[1][1], strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)


def test_products_are_spread_over_threads_without_a_trace() -> None:
    x, weight = table(6, rows=5), table(4, rows=6, seed=1)
    same(products.product(Runtime(n_threads=2), x, weight), x @ weight, x, weight)


def test_products_are_the_same_bytes_on_any_number_of_threads() -> None:
    # Matrices as small as these are rounded otherwise where torch may use two threads, or takes both at once.
    for size, (rows, inner, width) in enumerate([(10, 55, 5), (14, 16, 5), (10, 5, 55), (300, 24, 16)]):
        x, weight = table(inner, 4, size, rows), table(width, 4, size, inner)
        found = []
        for threads in (1, 2, 3):
            run = Runtime(n_threads=threads)
            with run.threads():
                found.append(multiplied(run, x, weight))
        assert found[0] == found[1] == found[2]


def multiplied(run: Runtime, x: torch.Tensor, weight: torch.Tensor) -> list[bytes]:
    """Return the bytes of a product and of its gradients."""
    x, weight = (given.detach().clone().requires_grad_() for given in (x, weight))
    out = products.product(run, x, weight)
    grads = torch.autograd.grad(out.square().sum(), [x, weight])
    return [tensor.detach().numpy().tobytes() for tensor in (out, *grads)]
