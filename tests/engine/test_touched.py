"""Sampled steps that hold and step the rows alone that they read: against whole tables and plain Adam."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from model_cases import STREAMS, ensemble, sage_or_gin, small_network
from torch.nn import functional as F

from honlearn.engine import sampled
from honlearn.engine.context import ForwardContext
from honlearn.engine.optimizer import Adam
from honlearn.engine.runtime import Runtime
from honlearn.engine.touched import Compactor
from honlearn.ensemble.ensemble import surroundings

HON = small_network(entities=40, extra=10, edges=150)
LABELS = np.arange(6) % 3


@pytest.fixture
def row_wise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled, "ROW_WISE_FROM", 1)


def roots(step: int) -> Any:
    random = np.random.default_rng(step)
    return random.integers(0, HON.n_entities, (3, 6)).astype(np.int32)


def features(form: str) -> Any:
    if form == "none":
        return None
    from scipy.sparse import csr_array

    from honlearn.engine.weights import Features

    values = np.random.default_rng(1).normal(size=(HON.n_entities, 5)).astype(np.float32)
    return Features(values if form == "dense" else csr_array(values * (values > 0.3)))


def made(kind: str, form: str, **parameters: Any) -> tuple[Any, Any]:
    given = {"fan_outs": (2, 1), "mask_self": True, "input_dropout": 0.3, "hidden_dropout": 0.2, **parameters}
    learner, values = sage_or_gin(kind, **given), features(form)
    model = ensemble(HON, learner, features=values)
    return model, surroundings(HON, model.shape, values is not None)


def losses(model: Any, near: Any, run: Runtime, step: int) -> torch.Tensor:
    ctx = ForwardContext(run, STREAMS, step, training=True)
    logits = model(roots(step), near, ctx)
    labels = torch.from_numpy(np.stack([LABELS] * 3))
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


@pytest.mark.parametrize("form", ["none", "dense", "sparse"])
@pytest.mark.parametrize("kind", ["mean", "max", "gin"])
def test_small_tables_have_the_values_and_gradients_of_whole_ones(
    kind: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, found = Runtime(n_threads=1), []
    for least in (1, 10**9):
        monkeypatch.setattr(sampled, "ROW_WISE_FROM", least)
        model, near = made(kind, form)
        loss = losses(model, near, run, 3)
        loss.backward()
        grads = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
        for name, part in model.named_modules():
            if getattr(part, "row_gradient", None) is not None:
                touched, values = part.row_gradient
                whole = torch.zeros_like(part.identity)
                for i, count in enumerate(touched.counts):
                    assert len(set(touched.rows[i, :count].tolist())) == count
                    whole[i, touched.rows[i, :count]] = values[i, :count]
                assert f"{name}.identity" not in grads
                grads[f"{name}.identity"] = whole
        found.append((loss.detach(), grads))
    (small, grads), (whole_loss, expected) = found
    torch.testing.assert_close(small, whole_loss)
    assert grads.keys() == expected.keys()
    for name, grad in grads.items():
        torch.testing.assert_close(grad, expected[name], rtol=1e-4, atol=1e-6)


def test_features_alone_are_read_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for least in (1, 10**9):
        monkeypatch.setattr(sampled, "ROW_WISE_FROM", least)
        model, near = made("mean", "dense", identity=False)
        found.append(losses(model, near, Runtime(n_threads=1), 2).detach())
    torch.testing.assert_close(*found)


def oracle_adam(tables: list[Any], gradients: list[list[Any]], rate: float, decay: float) -> list[Any]:
    """Return the tables after steps on some rows, in float64, as the definition says row by row."""
    out = [table.double().clone() for table in tables]
    for table, steps in zip(out, gradients, strict=True):
        mean, square, stepped = torch.zeros_like(table), torch.zeros_like(table), {}
        for step, (touched, values) in enumerate(steps, 1):
            for learner, count in enumerate(touched.counts):
                for place in range(int(count)):
                    row = int(touched.rows[learner, place])
                    missed = step - 1 - stepped.get((learner, row), 0)
                    stepped[learner, row] = step
                    x, m, v = table[learner, row], mean[learner, row], square[learner, row]
                    m *= 0.9**missed
                    v *= 0.999**missed
                    grad = values[learner, place].double() + decay * x
                    m += 0.1 * (grad - m)
                    v += 0.001 * (grad**2 - v)
                    x -= rate * (m / (1 - 0.9**step)) / ((v / (1 - 0.999**step)).sqrt() + 1e-7)
    return out


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_stepped_by_the_definition_and_others_stay(row_wise: None, threads: int) -> None:
    model, near = made("mean", "dense")
    run = Runtime(n_threads=threads)
    optimizer = Adam(model, run, 0.05, 1e-7, 0.01)
    owners = [part for part in model.modules() if getattr(part, "identity", None) is not None]
    before = [part.identity.detach().clone() for part in owners]
    gradients: list[list[Any]] = [[] for _ in owners]
    for step in range(6):
        with run.step():
            losses(model, near, run, step).backward()
            for part, kept in zip(owners, gradients, strict=True):
                kept.append((part.row_gradient.touched, part.row_gradient.values.clone()))
            optimizer.step()
            optimizer.clear()
        assert all(part.row_gradient is None for part in owners)
    for part, expected, start in zip(owners, oracle_adam(before, gradients, 0.05, 0.01), before, strict=True):
        torch.testing.assert_close(part.identity.detach().double(), expected, rtol=1e-4, atol=1e-6)
        stays = (expected == start).all(2)
        assert stays.any()
        assert not stays.all()


def test_rows_that_are_always_read_are_stepped_as_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    for least in (1, 10**9):
        monkeypatch.setattr(sampled, "ROW_WISE_FROM", least)
        # So many neighbours of so many roots that every step reads every entity that has an edge to it.
        model, near = made("mean", "none", fan_outs=(40, 40), input_dropout=0.0)
        run = Runtime(n_threads=1)
        optimizer = Adam(model, run, 0.05, 1e-7, 0.0)
        for step in range(4):
            ctx = ForwardContext(run, STREAMS, step, training=True)
            everyone = np.repeat(np.arange(HON.n_nodes, dtype=np.int32)[None], 3, 0)
            with run.step():
                model(everyone, near, ctx).square().sum().backward()
                optimizer.step()
                optimizer.clear()
        states.append(model.state_dict())
    for name, tensor in states[0].items():
        torch.testing.assert_close(tensor, states[1][name], rtol=1e-3, atol=1e-4)


def test_moments_of_rows_are_kept_and_taken(row_wise: None) -> None:
    model, near = made("mean", "none")
    run = Runtime(n_threads=1)
    first, second = (Adam(model, run, 0.05, 1e-7, 0.0) for _ in range(2))
    losses(model, near, run, 0).backward()
    first.step()
    assert first.stepped
    second.restore(first.steps, first.tensors())
    assert all(torch.equal(second.stepped[i], stepped) for i, stepped in first.stepped.items())
    second.take([2, 0])
    for i, stepped in first.stepped.items():
        assert torch.equal(second.stepped[i], stepped[[2, 0]])
    damaged = {
        **first.tensors(),
        f"stepped.{next(iter(first.stepped))}": torch.zeros(2, 2, dtype=torch.int32),
    }
    with pytest.raises(ValueError, match="no steps of the rows"):
        first.restore(1, damaged)


def test_entities_have_places_in_the_order_of_their_first_use() -> None:
    own, near = np.array([[7, -1, 12], [3, 3, 13]], np.int32), np.array([[2, 7], [-1, 9]], np.int32)
    compactor = Compactor(10)
    for _ in range(2):
        (one, two), touched = compactor.compact(own, near)
        # 12 and 13 are the features of 2 and 3.
        assert touched.counts.tolist() == [2, 2]
        assert touched.rows.tolist() == [[7, 2], [3, 9]]
        assert one.tolist() == [[0, -1, 3], [0, 0, 2]]
        assert two.tolist() == [[1, 0], [-1, 1]]


def test_threads_at_the_same_time_have_places_of_their_own() -> None:
    compactor = Compactor(5000)
    asked = [np.random.default_rng(i).integers(0, 5000, (3, 4000)).astype(np.int32) for i in range(4)]

    def sound(i: int) -> bool:
        (places,), touched = compactor.compact(asked[i % 4])
        return np.array_equal(np.take_along_axis(touched.rows, places, 1), asked[i % 4])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(sound, range(400)))
