"""With mask_self a root cannot read its identity, and all others read it as before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from mask_cases import SlowLearner, returning, returning_paths
from model_cases import STREAMS, around, context, ensemble, small_network
from numpy.typing import NDArray
from scipy.sparse import csr_array

from honlearn.engine import propagate
from honlearn.engine.hashing import site_keys
from honlearn.engine.neighborhoods import SelfMask
from honlearn.engine.sampled import SampledNeighborhood
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Ensemble
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork

KINDS = ["mean", "max", "gin"]
WIDTHS = [(7,), (9, 7), (9, 8, 7)]
FORMS: list[Any] = [False, True, "sparse"]
ROOTS = np.array([[0, 1, 4, 4, 16], [15, 1, 2, 3, 12], [9, 8, 7, 6, 17]], np.int32)


def some_features(hon: HigherOrderNetwork) -> NDArray[np.float64]:
    random = np.random.default_rng(1)
    return random.normal(size=(hon.n_entities, 5)) * (random.random((hon.n_entities, 5)) < 0.6)


def made(
    hon: HigherOrderNetwork, kind: str, featured: Any = False, masked: bool = True, **parameters: Any
) -> Ensemble:
    """Return a model; `featured` True or "sparse" gives it features beside identities."""
    values = some_features(hon)
    features = Features(csr_array(values) if featured == "sparse" else values) if featured else None
    return ensemble(hon, kind, features=features, mask_self=masked, **parameters)


def sampled(fan_out: int | None, depth: int) -> dict[str, Any]:
    return {} if fan_out is None else {"fan_outs": (fan_out,) * depth}


def everyone(hon: HigherOrderNetwork, learners: int = 3) -> NDArray[np.int32]:
    return np.arange(hon.n_nodes, dtype=np.int32)[None].repeat(learners, 0)


def changed(model: Ensemble, entity: int) -> None:
    """Change the identity vector of an entity in every table of the model."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("identity"):
                parameter[:, entity] += 3.0


# --- against the slow learner ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("widths", "masked", "featured"),
    [
        *((widths, masked, form) for widths in WIDTHS[:2] for masked in (True, False) for form in FORMS),
        # A third layer reads no input.
        (WIDTHS[2], True, "sparse"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_whole_neighborhoods_are_those_of_the_slow_learner(
    kind: str, widths: tuple[int, ...], featured: Any, masked: bool
) -> None:
    for hon in (small_network(entities=7, extra=6, edges=30), returning_paths()):
        model = made(hon, kind, featured, masked, widths=widths, learners=2, edge_power=0.5)
        roots = np.random.default_rng(0).permutation(everyone(hon, 2), axis=1)[:, :12]
        roots[1] = roots[1, ::-1]
        got = model.represent(roots, around(hon, model, bool(featured)), context(2)).detach().numpy()
        values = some_features(hon) if featured else None
        for learner in range(2):
            slow = SlowLearner(hon, model, learner, values, masked, power=0.5)
            expected = [slow.represent(hon.nodes[node]) for node in roots[learner]]
            np.testing.assert_allclose(got[learner], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_needed_are_computed_as_among_all(kind: str) -> None:
    hon = small_network(3, entities=40, extra=20, edges=70)
    model = made(hon, kind, widths=(9, 9, 9), input_dropout=0.5, hidden_dropout=0.5)
    near = around(hon, model)
    few = np.array([[3, 17], [20, 5], [3, 3]], np.int32)
    assert near.of_kind[0].hops(few, np.zeros(3, np.uint64), 0)[1].rows.shape[1] < hon.n_nodes
    for training in (False, True):
        whole = model.represent(everyone(hon), near, context(training=training))
        some = model.represent(few, near, context(training=training))
        # A product of fewer rows may round its last bit differently.
        torch.testing.assert_close(some, torch.stack([whole[i, few[i]] for i in range(3)]))


# --- who reads an identity ---------------------------------------------------------------------------


@pytest.mark.parametrize("fan_out", [None, 4])
@pytest.mark.parametrize("featured", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_neither_a_masked_root_nor_its_contexts_read_its_identity(
    kind: str, depth: int, featured: bool, fan_out: int | None
) -> None:
    hon = returning()
    r = np.full((3, 1), hon.index("r"), np.int32)
    for masked in (True, False):
        model = made(hon, kind, featured, masked, widths=(9, 7)[:depth], **sampled(fan_out, depth))
        near = around(hon, model, featured)
        before = model.represent(r, near, context()).detach()
        changed(model, int(r[0, 0]))
        after = model.represent(r, near, context()).detach()
        assert torch.equal(before, after) is masked


@pytest.mark.parametrize("fan_out", [None, 6])
@pytest.mark.parametrize("kind", KINDS)
def test_a_context_does_not_look_up_where_it_comes_from(kind: str, fan_out: int | None) -> None:
    hon = returning()
    contexts = np.array([[hon.index("a|r"), hon.index("b|r")]] * 3, np.int32)
    for masked in (True, False):
        model = made(hon, kind, masked=masked, widths=(7,), **sampled(fan_out, 1))
        near = around(hon, model)
        before = model.represent(contexts, near, context()).detach()
        changed(model, hon.index("r"))
        after = model.represent(contexts, near, context()).detach()
        assert torch.equal(before, after) is masked


@pytest.mark.parametrize("fan_out", [None, 30])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_others_read_the_identity_of_a_root_in_the_same_batch(
    kind: str, depth: int, fan_out: int | None
) -> None:
    # d looks up c, and c does not look up c.
    hon = from_edges(["c", "e", "d"], ["d", "d", "e"])
    c, d = hon.index("c"), hon.index("d")
    roots = np.array([[c, d, c], [d, c, c], [c, c, d]], np.int32)
    model = made(hon, kind, widths=(9, 8, 7)[:depth], **sampled(fan_out and fan_out // depth**2, depth))
    near = around(hon, model)
    before = model.represent(roots, near, context()).detach()
    changed(model, c)
    moved = (before != model.represent(roots, near, context()).detach()).any(2).numpy()
    assert moved[roots == d].all()
    # With two layers and more c reads itself through d, unless a maximum hides it.
    if depth == 1:
        assert not moved[roots == c].any()
    elif kind != "max":
        assert moved[roots == c].all()


@pytest.mark.parametrize("featured", [False, True])
@pytest.mark.parametrize("fan_out", [None, 5])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kind", ["mean", "max"])
def test_the_own_identity_of_a_masked_root_has_no_gradient(
    kind: str, depth: int, fan_out: int | None, featured: bool
) -> None:
    # No node of this network is its own neighbour, or that of a node of its family.
    hon = from_edges(*zip(*((f"n{i}", f"n{(i + k) % 9}") for i in range(9) for k in (1, 3)), strict=True))
    roots = np.array([[0, 4], [4, 2], [7, 7]], np.int32)
    for masked in (True, False):
        model = made(hon, kind, featured, masked, widths=(9, 7)[:depth], **sampled(fan_out, depth))
        near = around(hon, model, featured)
        for place in range(2):
            out = model.represent(roots[:, place : place + 1], near, context())
            table = model.stacks[0].layers[0].own
            (grad,) = torch.autograd.grad(out.square().sum(), table.identity)
            own = grad[torch.arange(3), torch.from_numpy(roots[:, place]).long()]
            assert bool(own.any()) is not masked
            # Everything beside the roots' identities is trained as before: neighbours', and features.
            assert grad.any() or depth == 1
            if featured:
                out = model.represent(roots[:, place : place + 1], near, context())
                assert torch.autograd.grad(out.square().sum(), table.matrix)[0].any()


def test_a_masked_root_still_looks_up_its_features() -> None:
    hon = from_edges(["a", "b"], ["b", "c"])
    roots = np.full((1, 1), hon.index("a"), np.int32)
    model = ensemble(hon, learners=1, features=Features(np.eye(3)), mask_self=True, widths=(9,))
    near = around(hon, model, True)
    before = model.represent(roots, near, context(1)).detach()
    matrix = model.stacks[0].layers[0].own.matrix
    with torch.no_grad():
        matrix[:, hon.index("a")] += 1.0
    after = model.represent(roots, near, context(1)).detach()
    own = matrix.shape[2]
    torch.testing.assert_close(after[..., :own] - before[..., :own], torch.ones(1, 1, own))
    assert torch.equal(after[..., own:], before[..., own:])


def test_names_do_not_matter() -> None:
    hon, values = returning_paths(), some_features(returning_paths())
    order = np.random.default_rng(3).permutation(hon.n_entities)

    def turned(label: str) -> str:
        return "|".join(f"x{order[hon.index(part)]:02d}" for part in label.split("|"))

    table = hon.to_pandas()
    other = from_edges(table["source"].map(turned), table["target"].map(turned), table["weight"])
    # Row `order[i]` of the other network is row i of this one.
    moved = np.empty_like(values)
    moved[order] = values
    place = np.array([[other.index(turned(label)) for label in hon.nodes]] * 3, np.int32)
    for kind in KINDS:
        one = ensemble(hon, kind, features=Features(values), mask_self=True)
        two = ensemble(other, kind, features=Features(moved), mask_self=True)
        state = {name: tensor.clone() for name, tensor in one.state_dict().items()}
        for name in state:
            if name.endswith("identity"):
                state[name][:, torch.from_numpy(order)] = one.state_dict()[name]
        two.load_state_dict(state)
        straight = one.represent(everyone(hon), around(hon, one, True), context())
        renamed = two.represent(place, around(other, two, True), context())
        torch.testing.assert_close(renamed, straight, rtol=1e-4, atol=1e-5)


# --- samples -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("featured", [False, True])
@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("fan_outs", [(7,), (5, 3), (3, 2, 2)])
def test_masked_samples_are_the_same_with_what_is_masked_left_out(
    fan_outs: tuple[int, ...], sums: bool, featured: bool
) -> None:
    hon = returning_paths()
    roots = everyone(hon)[:, ::3]
    plain, masked = (
        SampledNeighborhood(hon, fan_outs, sums, 0.5, SelfMask(active, featured)).hops(roots, STREAMS, 4)
        for active in (False, True)
    )
    for one, other in zip(plain[1:], masked[1:], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(_flat(one), _flat(other), strict=True))
    one, other = plain[0], masked[0]
    count = roots.shape[1]
    assert np.array_equal(one.own.indices[:, count:], other.own.indices[:, count:])
    hidden = hon.base[roots] + hon.n_entities if featured else np.full_like(roots, -1)
    assert np.array_equal(other.own.indices[:, :count], hidden)
    tree = SampledNeighborhood(hon, fan_outs, sums, 0.5).sampler.levels(roots, fan_outs, _keys(len(fan_outs)))
    nodes = np.concatenate(tree[:-1], 1)
    left_out = 0
    for before, after in ((one.into, other.into), (one.out_of, other.out_of)):
        for learner, row in np.ndindex(nodes.shape):
            some = slice(*before.indptr[row : row + 2])
            drawn, kept = before.indices[learner, some], after.indices[learner, some]
            node = nodes[learner, row]
            gram = hon.nodes[node].split("|") if node >= 0 else [""]
            origin = hon.index(gram[1]) if len(gram) > 1 else -1
            assert np.array_equal(kept, np.where(drawn == origin, -1, drawn))
            left_out += int((kept < drawn).sum())
            if not sums and (kept >= 0).any():
                there = after.weights[learner, some][kept >= 0]
                np.testing.assert_allclose(there.sum(), 1, rtol=1e-6)
        if sums:
            assert np.array_equal(before.weights, after.weights)
    assert left_out > 100


def _flat(hop: Any) -> list[NDArray[Any]]:
    return [hop.rows, *hop.own, *hop.into, *hop.out_of]


def _keys(depth: int) -> NDArray[np.uint64]:
    return np.stack([site_keys(STREAMS, 4, 32 + i) for i in range(2 * depth)])


@torch.no_grad()
def sampling_error(kind: str, widths: tuple[int, ...], fan_out: int, runs: int, featured: bool) -> float:
    """Return the root mean square difference of sampled from exact representations of all nodes."""
    hon = small_network()
    model = made(hon, kind, featured, widths=widths)
    exact = model.represent(everyone(hon), around(hon, model, featured), context())
    drawn = made(hon, kind, featured, widths=widths, **sampled(fan_out, len(widths)))
    near = around(hon, drawn, featured)
    found = [model.represent(everyone(hon), near, context(step=step)) - exact for step in range(runs)]
    return float(torch.stack(found).square().mean().sqrt())


@pytest.mark.parametrize(("kind", "featured"), [("mean", True), ("gin", False)])
@pytest.mark.parametrize(("widths", "fan_out"), [((9,), 30), ((9, 7), 16)])
def test_many_samples_converge_to_exact(
    kind: str, widths: tuple[int, ...], fan_out: int, featured: bool
) -> None:
    few, many = (sampling_error(kind, widths, n, 20, featured) for n in (fan_out, 9 * fan_out))
    # The error of a mean falls with the root of the sample: by 3 for 9 times the samples.
    assert 2.4 < few / many < 3.8


def test_a_sampled_maximum_is_exact_once_all_were_seen() -> None:
    assert sampling_error("max", (9, 7), 4, 1, featured=True) > 0.01
    assert sampling_error("max", (9, 7), 400, 1, featured=True) < 1e-6


# --- kernels and tensors -----------------------------------------------------------------------------


@pytest.mark.parametrize("featured", [False, True])
@pytest.mark.parametrize("fan_outs", [None, (4, 3, 2)])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("widths", [(7,), (9, 7), (9, 9, 9)])
@pytest.mark.parametrize("kind", KINDS)
def test_tensor_operations_agree_with_the_compiled_kernels(
    kind: str,
    widths: tuple[int, ...],
    shared: bool,
    fan_outs: tuple[int, ...] | None,
    featured: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hon = small_network(4, entities=30, extra=10, edges=90)
    given: dict[str, Any] = {"fan_outs": fan_outs and fan_outs[: len(widths)]}
    given |= {"input_dropout": 0.3, "hidden_dropout": 0.3}
    model = made(hon, kind, featured, widths=widths, variant="pool", shared=shared, **given)
    near = around(hon, model, featured)
    results = []
    for compiled in (True, False):
        monkeypatch.setattr(propagate, "is_compiled", lambda tensor, answer=compiled: answer)
        out = model(ROOTS, near, context(training=True))
        results.append((out.detach(), torch.autograd.grad(out.square().sum(), list(model.parameters()))))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=1e-4, atol=1e-5)
    # Of maxima that are equal one is trained by the kernels, all of them by tensor operations.
    if kind != "max":
        for got, expected in zip(results[0][1], results[1][1], strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)
