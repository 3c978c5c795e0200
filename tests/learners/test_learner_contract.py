"""What every kind of learner must do, whatever its equation: one battery over all of them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from mask_cases import returning
from model_cases import STREAMS, around, context, small_network, stir
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn
from torch_geometric.nn.models import GraphSAGE

from honlearn.engine import propagate
from honlearn.engine.context import ForwardContext
from honlearn.engine.hashing import hash32_tensor
from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Architecture, Ensemble, Surroundings, surroundings
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.training import Problem, Trainer
from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import GAT, GCN, GCNII, GIN, SAGE, GATv2, Learner, TorchLearner
from honlearn.sampling import RelativeSampler

HON = small_network(4, entities=20, extra=10, edges=70)
ROOTS = np.array([[0, 1, 4, 4, 16], [15, 1, 2, 3, 12], [9, 8, 7, 6, 17]], np.int32)


class Weighted(nn.Module):
    """A module of a user's own: weighted sums over in-neighbours, with batch normalisation and dropout."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.own, self.near = nn.Linear(in_channels, out_channels), nn.Linear(in_channels, out_channels)
        self.norm, self.dropout = nn.BatchNorm1d(out_channels), nn.Dropout(0.2)

    def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> torch.Tensor:
        source, target = edge_index
        messages = self.near(x)[source] * edge_weight[:, None]
        out = self.own(x).index_add(0, target, messages)
        return self.dropout(self.norm(out))


def pyg_sage(in_channels: int, out_channels: int) -> nn.Module:
    return GraphSAGE(in_channels, 8, 2, out_channels)


# Each kind by the number of its layers; those of torch have the layers that their module has.
MAKERS: dict[str, Callable[..., Learner]] = {
    "sage mean": lambda widths, **given: SAGE(widths=widths, **given),
    "sage max": lambda widths, **given: SAGE(widths=widths, aggregator="max", **given),
    "gin": lambda widths, **given: GIN(widths=widths, **given),
    "gcn": lambda widths, **given: GCN(widths=widths, **given),
    "gcnii": lambda widths, **given: GCNII(widths=widths, **given),
    "gat": lambda widths, **given: GAT(widths=widths, heads=2, use_weights=True, **given),
    "gatv2": lambda widths, **given: GATv2(widths=widths, heads=2, **given),
    "torch": lambda widths, **given: TorchLearner(Weighted, 5, widths[-1], **given),
    "torch sage": lambda widths, **given: TorchLearner(pyg_sage, 5, widths[-1], **given),
}
BUILT_IN = [name for name in MAKERS if not name.startswith("torch")]
TORCH = [name for name in MAKERS if name.startswith("torch")]
# Kinds in which a learned vector stands for a hidden identity.
BY_VECTOR = ["gcn", "gcnii", "gat", "gatv2", *TORCH]

every_kind = pytest.mark.parametrize("name", MAKERS)
every_mask = pytest.mark.parametrize("masked", [False, True])


def learner(name: str, depth: int = 2, dropout: float = 0.3, **given: Any) -> Learner:
    """Return a resolved learner of width 6."""
    given["input_dropout"] = dropout
    if name in BUILT_IN:
        given["hidden_dropout"] = dropout
    made = MAKERS[name]((6, 6)[:depth], **given).resolved("nodes")
    made.check()
    return made


def some_features(kind: str | None, hon: HigherOrderNetwork = HON) -> Features | None:
    if kind is None:
        return None
    random = np.random.default_rng(1)
    values = random.normal(size=(hon.n_entities, 5)) * (random.random((hon.n_entities, 5)) < 0.6)
    return Features(csr_array(values) if kind == "sparse" else values)


def made(
    kind: Learner,
    features: Features | None = None,
    learners: Any = (0, 1, 2),
    hon: HigherOrderNetwork = HON,
    shared: bool = False,
    stirred: bool = True,
) -> Ensemble:
    shape = Architecture("pool" if shared else "bag", shared, 3, 4, hon.n_entities, (kind,))
    model = Ensemble(shape, 0, list(learners), features)
    if stirred:
        stir(model)
    return model


def represented(
    model: Ensemble,
    roots: NDArray[np.int32] = ROOTS,
    hon: HigherOrderNetwork = HON,
    features: bool = False,
    ctx: ForwardContext | None = None,
) -> torch.Tensor:
    """Return representations in evaluation, unless `ctx` is another."""
    return model.represent(roots, around(hon, model, features), ctx or context(len(roots)))


def training_step(
    model: Ensemble, features: bool, threads: int = 1
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Return representations in training and the gradients of a random function of them."""
    run = Runtime(n_threads=threads)
    stack = model.stacks[0]
    with run.step():
        h = represented(model, features=features, ctx=ForwardContext(run, STREAMS, 7, training=True))
        pull = torch.randn(h.shape, generator=torch.Generator().manual_seed(2))
        names, leaves = zip(*stack.named_parameters(), strict=True)
        grads = torch.autograd.grad((h * pull).sum(), leaves, allow_unused=True, materialize_grads=True)
        return h.detach().clone(), {n: grad.clone() for n, grad in zip(names, grads, strict=True)}


def assert_near(got: torch.Tensor, expected: torch.Tensor, what: str, tolerance: float = 1e-5) -> None:
    got, expected = got.detach(), expected.detach()
    scale = max(1.0, float(expected.abs().max()))
    difference = float((got - expected).abs().max())
    assert difference <= tolerance * scale, f"{what}: {difference}"


# --- the compiled path is plain autograd -------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("features", [None, "dense", "sparse", "only"])
@every_mask
@pytest.mark.parametrize("name", BUILT_IN)
def test_compiled_values_and_gradients_are_those_of_tensor_operations(
    name: str, masked: bool, features: str | None, shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = learner(name, mask_self=masked, identity=features != "only")
    model = made(kind, some_features(features), shared=shared)
    got, grads = training_step(model, features is not None)
    monkeypatch.setattr(propagate, "is_compiled", lambda tensor: False)
    expected, wanted = training_step(model, features is not None)
    assert_near(got, expected, "values")
    for parameter, grad in grads.items():
        assert_near(grad, wanted[parameter], parameter)
    assert sum(bool(grad.any()) for grad in grads.values()) > len(grads) / 2


@pytest.mark.parametrize("training", [False, True])
@every_mask
@pytest.mark.parametrize("features", [None, "dense", "sparse", "only"])
@pytest.mark.parametrize("name", TORCH)
def test_a_torch_learner_is_its_module(name: str, features: str | None, masked: bool, training: bool) -> None:
    kind = learner(name, dropout=0.0, mask_self=masked, identity=features != "only")
    values = some_features(features)
    model = made(kind, values)
    hidden = masked and features != "only"
    # In evaluation a mask hides one group of entities after another; with one root there is one group.
    groups = hash32_tensor(torch.arange(HON.n_entities), torch.tensor(0x51ED270B)) % 8
    roots = ROOTS if training else ROOTS[:, :1]
    before = {flat: tensor.clone() for flat, tensor in model.stacks[0].state_dict().items()}
    ctx = context(training=training)
    got = represented(model, roots, features=features is not None, ctx=ctx)
    matrix = HON.to_scipy().astype(float) ** 0.5
    both = (matrix + matrix.T).tocoo()
    edges = torch.from_numpy(np.stack([both.col, both.row]).astype(np.int64))
    weights = torch.from_numpy(both.data.astype(np.float32))
    for place in range(3):
        channels = (0 if features == "only" else 5) + (0 if values is None else 5)
        module = kind.make(channels, 6)  # type: ignore[attr-defined]
        own = {name: before["module__" + name.replace(".", "__")][place] for name in module.state_dict()}
        module.load_state_dict(own)
        module.train(training)
        parts = []
        if features != "only":
            identity = before["identity"][place].clone()
            if hidden:
                entities = torch.from_numpy(HON.base[roots[place]].astype(np.int64))
                is_hidden = torch.isin(torch.arange(HON.n_entities), entities)
                if not training:
                    is_hidden = torch.isin(groups, groups[entities])
                identity[is_hidden] = before["mask"][place]
            parts.append(identity)
        if values is not None:
            parts.append(values.dense())
        x = torch.cat(parts, 1)[HON.base.tolist()]
        takes_weights = name == "torch"
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(STREAMS[place]))
            h = module(x, edges, weights) if takes_weights else module(x, edges)
        assert_near(got[place], h[roots[place].tolist()], "values")


# --- what a representation depends on ----------------------------------------------------------------


@every_mask
@every_kind
def test_the_order_of_edges_does_not_matter(name: str, masked: bool) -> None:
    table = HON.to_pandas().sample(frac=1, random_state=3)
    other = from_edges(table["source"], table["target"], table["weight"])
    assert list(other.nodes) == list(HON.nodes)
    model = made(learner(name, mask_self=masked))
    assert torch.equal(represented(model), represented(model, hon=other))


@pytest.mark.parametrize("training", [False, True])
@every_mask
@every_kind
def test_a_learner_among_others_is_the_same_learner_alone(name: str, masked: bool, training: bool) -> None:
    kind = learner(name, mask_self=masked)
    together = represented(made(kind, stirred=False), ctx=context(training=training))
    for place in range(3):
        model = made(kind, learners=[place], stirred=False)
        ctx = ForwardContext(Runtime(n_threads=1), STREAMS[place : place + 1], 0, training)
        alone = represented(model, ROOTS[place : place + 1], ctx=ctx)
        assert_near(alone[0], together[place], f"learner {place}", 1e-6)


@pytest.mark.parametrize("training", [False, True])
@every_mask
@every_kind
def test_a_root_does_not_depend_on_the_other_roots(name: str, masked: bool, training: bool) -> None:
    if name in TORCH and training and (masked or name == "torch"):
        # There a batch is hidden as one, and a module may draw its own random numbers.
        pytest.skip("a module sees the whole batch at once in training")
    model = made(learner(name, mask_self=masked))
    everyone = np.arange(HON.n_nodes, dtype=np.int32)[None].repeat(3, 0)
    whole = represented(model, everyone, ctx=context(training=training))
    for few in (ROOTS, ROOTS[:, 2:3], ROOTS[:, ::-1].copy()):
        some = represented(model, few, ctx=context(training=training))
        expected = torch.stack([whole[i, few[i].tolist()] for i in range(3)])
        assert_near(some, expected, "values", 1e-6)


@pytest.mark.parametrize("features", [None, "dense"])
@pytest.mark.parametrize("depth", [1, 2])
@every_kind
def test_a_masked_root_does_not_read_its_identity(name: str, depth: int, features: str | None) -> None:
    if (name, depth) == ("gcnii", 2):
        pytest.skip("GCNII reads one hop more than it has layers, and so reads r through others")
    # Every neighbour of r comes from r, so there is no other way to it.
    hon = returning()
    roots = np.full((3, 1), hon.index("r"), np.int32)
    for masked in (True, False):
        model = made(learner(name, depth, mask_self=masked), some_features(features, hon), hon=hon)
        before = represented(model, roots, hon, features is not None)
        change_identity(model, hon.index("r"))
        assert torch.equal(before, represented(model, roots, hon, features is not None)) is masked


@pytest.mark.parametrize("name", [name for name in BY_VECTOR if name != "gcnii"])
def test_one_layer_masks_the_family_of_a_root_too(name: str) -> None:
    # This network has loops, and edges between nodes of one entity.
    edges = [("a", "a"), ("a", "b"), ("b", "a|b"), ("a|b", "a"), ("a|b", "c"), ("c", "a|c"), ("a|c", "a|b")]
    hon = from_edges(*zip(*edges, strict=True))
    roots = np.array([[hon.index(node) for node in ("a", "a|b", "a|c")]] * 3, np.int32)
    for masked in (True, False):
        model = made(learner(name, 1, mask_self=masked), hon=hon)
        before = represented(model, roots, hon)
        change_identity(model, hon.index("a"))
        after = represented(model, roots, hon)
        assert torch.equal(before, after) is masked


@pytest.mark.parametrize("name", BY_VECTOR)
def test_the_mask_vector_is_learned_and_read(name: str) -> None:
    model = made(learner(name, mask_self=True))
    masks = [parameter for key, parameter in model.named_parameters() if key.endswith("mask")]
    assert masks
    _, grads = training_step(model, False)
    assert all(grad.any() for key, grad in grads.items() if key.endswith("mask"))
    before = represented(model)
    with torch.no_grad():
        for mask in masks:
            mask += 1.0
    assert (before != represented(model)).any(2).all()


@torch.no_grad()
def change_identity(model: Ensemble, entity: int) -> None:
    for key, parameter in model.named_parameters():
        if key.endswith("identity"):
            parameter[:, entity] += 3.0


# --- shared weights, threads, training ---------------------------------------------------------------


@every_mask
@every_kind
def test_shared_weights_are_the_same_weights_in_each_learner(name: str, masked: bool) -> None:
    kind = learner(name, mask_self=masked)
    shared, apart = made(kind, shared=True), made(kind)
    state = shared.stacks[0].state_dict()
    assert {len(tensor) for tensor in state.values()} == {1}
    # A module with running statistics changes them in a pass: each learner its own, or all the same.
    apart.stacks[0].load_state_dict({key: torch.cat([tensor] * 3) for key, tensor in state.items()})
    got, grads = training_step(shared, False)
    expected, wanted = training_step(apart, False)
    assert_near(got, expected, "values")
    for key, grad in grads.items():
        assert_near(grad, wanted[key].sum(0, keepdim=True), key)


@every_mask
@every_kind
def test_threads_change_nothing(name: str, masked: bool) -> None:
    one, grads = training_step(made(learner(name, mask_self=masked)), False, threads=1)
    two, again = training_step(made(learner(name, mask_self=masked)), False, threads=2)
    assert torch.equal(one, two)
    assert all(torch.equal(grads[key], again[key]) for key in grads)


@pytest.mark.parametrize("name", [*BUILT_IN, "gat without weights"])
def test_learners_that_share_no_weights_are_spread_over_threads(name: str) -> None:
    class Watching(Runtime):
        def each(self, kernel: Any, n_learners: int, *arguments: Any, serial: bool = False) -> None:
            calls.append((kernel.__name__, serial))
            super().each(kernel, n_learners, *arguments, serial=serial)

    calls: list[tuple[str, bool]] = []
    kind = learner(name) if name in BUILT_IN else GAT((6,), heads=2).resolved("nodes")
    model = made(kind)
    ctx = ForwardContext(Watching(n_threads=2), STREAMS, 7, training=True)
    represented(model, ctx=ctx).sum().backward()
    assert calls
    assert not [kernel for kernel, serial in calls if serial]


def trained(kind: Learner, learners: list[int], features: Features | None) -> dict[str, torch.Tensor]:
    """Return the weights of these learners after training, learner i for i + 1 epochs."""
    shape, count = Architecture("bag", False, 3, 3, HON.n_entities, (kind,)), HON.n_entities
    nodes = np.arange(count, dtype=np.int32)
    examples = Examples(nodes, nodes.astype(np.int64) % 3, np.ones(count, np.float32))
    near = surroundings(HON, shape, features is not None)
    problem = Problem(near, RelativeSampler(HON), examples, 5, learners)
    # With a small epsilon Adam makes whole steps of gradients that are nothing but rounding.
    options = TrainingOptions(learning_rate=0.05, batch_size=8, max_epochs=3, epsilon=1e-3, show=False)
    model, schedule = Ensemble(shape, 5, learners, features), [[i + 1 for i in learners]]
    return Trainer(model, problem, options, Runtime(n_threads=1), schedule).fit()


@pytest.mark.parametrize("features", [None, "dense"])
@every_kind
def test_learners_train_together_as_alone(name: str, features: str | None) -> None:
    kind, values = learner(name, mask_self=True), some_features(features)
    # The first learners leave, and those that stay are not disturbed.
    state = trained(kind, [0, 1, 2], values)
    for place in range(3):
        for key, tensor in trained(kind, [place], values).items():
            # Which rows are computed depends on all learners' roots, and with it the last bits of sums.
            torch.testing.assert_close(tensor[0], state[key][place], rtol=1e-4, atol=1e-5)


@every_mask
@pytest.mark.parametrize("name", ["sage mean", "sage max", "gin"])
def test_rows_of_each_learner_are_read_by_tensor_operations_too(
    name: str, masked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A learner whose roots are near a hub has more rows; those of the others are filled up with an empty one.
    ring = [(f"v{i:02d}", f"v{(i + 1) % 60:02d}") for i in range(60)]
    hon = from_edges(*zip(*ring, *[("v00", f"w{i}") for i in range(9)], strict=True))
    model = made(learner(name, mask_self=masked), hon=hon)
    (near,) = around(hon, model, False).of_kind
    own = Surroundings((near.with_own_rows(),))
    assert bool((own.of_kind[0].hops(ROOTS, STREAMS, 0)[0].rows == hon.n_nodes).any()) == masked
    got = model.represent(ROOTS, own, context(3))
    monkeypatch.setattr(propagate, "is_compiled", lambda tensor: False)
    assert_near(model.represent(ROOTS, own, context(3)), got, name)


@pytest.mark.parametrize("name", ["sage mean", "gin"])
def test_one_fan_out_is_one_layer(name: str) -> None:
    one, same = (learner(name, depth=1, fan_outs=given) for given in (3, (3,)))
    one.check()
    model = made(one)
    got, expected = (
        model.represent(ROOTS, Surroundings((kind.neighborhood(HON, kind.mask(False)),)), context(3))
        for kind in (one, same)
    )
    assert torch.equal(got, expected)
    with pytest.raises(ParameterError, match="must have one number for each of the 2 layers"):
        learner(name, fan_outs=3).check()


def test_the_highest_power_leaves_no_row_of_nothing_undefined() -> None:
    # Without the way back all shares of C|A vanish in float32.
    hon = from_edges(["A", "C|A", "C|A", "D"], ["C|A", "A", "D", "A"], [2**20, 2**20, 1, 1])
    kind = SAGE(widths=(6, 6), edge_power=10).resolved("nodes")
    model = made(kind, hon=hon)
    h = model.represent(np.zeros((3, 1), np.int32), around(hon, model, False), context(3))
    assert bool(torch.isfinite(h).all())


def test_threads_that_call_a_torch_learner_at_once_do_not_share_its_weights() -> None:
    model = made(learner("torch"))
    near = around(HON, model, False)
    own = [model.represent(ROOTS + i, near, context(3)) for i in range(2)]

    def same(i: int) -> bool:
        return torch.equal(model.represent(ROOTS + i % 2, near, context(3)), own[i % 2])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(same, range(200)))
