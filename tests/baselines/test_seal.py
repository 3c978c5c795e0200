"""SEAL: what its network reads, what it never sees, and how its pairs are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from baseline_cases import held_out, network
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import roc_auc_score

import honlearn.baselines.seal as seal
from honlearn.baselines.dgcnn import DGCNN, INPUTS, MOST_LABELS, Shape, _Neighbors
from honlearn.baselines.seal import SEALLinkPredictor
from honlearn.baselines.subgraphs import Extractor, Rows, Subgraphs
from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import keyed_pairs, linked_keys
from honlearn.tasks.link_split import hide_pairs, split_links

SMALL: dict[str, Any] = {"width": 8, "n_layers": 2, "max_epochs": 2, "max_pairs": 100, "random_state": 0}
PAIRS = np.array([[0, 1], [5, 3], [7, 20], [1, 0], [30, 2]], np.int32)


def shape(**changes: Any) -> Shape:
    given = {"n_layers": 2, "width": 6, "pool": 12, "dropout": 0.5, "inputs": INPUTS[3], "direction": "both"}
    return Shape(**{"n_entities": network().n_entities, "directed": True, **given, **changes})


def dgcnn(**changes: Any) -> DGCNN:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return DGCNN(shape(**changes)).eval()


def base(of: HigherOrderNetwork) -> torch.Tensor:
    return torch.from_numpy(of.base.astype(np.int64))


def dense(rows: Rows) -> torch.Tensor:
    size = len(rows.indptr) - 1
    matrix = sparse.csr_array((rows.weights, rows.indices, rows.indptr), shape=(size, size))
    return torch.from_numpy(matrix.toarray())


def slowly(module: DGCNN, graphs: Subgraphs, entity: torch.Tensor) -> torch.Tensor:
    """Return the logit of one graph by dense products, as the equations say."""
    labels = torch.tensor(
        [MOST_LABELS if role == 1 else label for role, label in zip(graphs.roles, graphs.labels, strict=True)]
    )
    assert module.degrees is not None
    assert module.identity is not None
    z = module.labels(labels) + module.degrees(torch.from_numpy(graphs.degrees))
    z = z + module.identity(entity[graphs.nodes])
    parts = []
    for layer in module.layers:
        own, out, into = layer(z).chunk(3, 1)
        z = torch.tanh(own + dense(graphs.out) @ out + dense(graphs.into) @ into)
        parts.append(z)
    table = torch.cat(parts, 1)
    table = table[table[:, -1].argsort(descending=True, stable=True)]
    pool = module.shape.pool
    table = torch.cat([table, torch.zeros(pool, table.shape[1])])[:pool]
    h = torch.relu(
        torch.nn.functional.conv1d(
            table.view(1, 1, -1), module.rows.weight[:, None], module.rows.bias, table.shape[1]
        )
    )
    h = torch.relu(module.convolution(torch.nn.functional.max_pool1d(h, 2)))
    return module.head(torch.relu(module.dense(h.flatten(1)))).squeeze()


@pytest.mark.parametrize("order", [1, 2])
@torch.no_grad()
def test_logits_are_those_of_the_equations_and_of_no_company(order: int) -> None:
    module, extract, entity = dgcnn(), Extractor(network(order), 1, 9), base(network(order))
    together = module(extract(PAIRS), entity)
    alone = torch.stack([slowly(module, extract(pair[None]), entity) for pair in PAIRS])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
    assert together.std() > 0


def test_sums_over_neighbors_have_the_gradients_of_dense_products() -> None:
    graphs = Extractor(network(), 1, 9)(PAIRS)
    parts = torch.randn(len(graphs.nodes), 15, generator=torch.Generator().manual_seed(0))
    seed = torch.randn(len(graphs.nodes), 5, generator=torch.Generator().manual_seed(1))
    compiled, plain = (parts.clone().requires_grad_() for _ in range(2))
    summed: torch.Tensor = _Neighbors.apply(compiled, (graphs.out, graphs.into))
    own, out, into = plain.chunk(3, 1)
    wanted = own + dense(graphs.out) @ out + dense(graphs.into) @ into
    torch.testing.assert_close(summed, wanted)
    summed.backward(seed)
    wanted.backward(seed)
    assert plain.grad is not None
    torch.testing.assert_close(compiled.grad, plain.grad)


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("direction", ["in", "out", "both"])
def test_every_weight_learns(inputs: str, direction: str) -> None:
    module, extract = dgcnn(inputs=inputs, direction=direction).train(), Extractor(network(), 2, 9)
    module(extract(PAIRS), base(network())).square().sum().backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@torch.no_grad()
def test_the_way_back_is_another_pair_only_with_direction() -> None:
    extract, entity = Extractor(network(1)), base(network(1))
    for directed in (True, False):
        module = dgcnn(directed=directed)
        there, back = module(extract(PAIRS), entity), module(extract(PAIRS[:, ::-1]), entity)
        assert torch.allclose(there, back, atol=1e-6) is not directed


@pytest.mark.parametrize("order", [1, 2])
def test_a_prediction_never_sees_the_edges_of_its_pair(order: int) -> None:
    whole = network(order)
    model = SEALLinkPredictor(whole, **SMALL).fit()
    names = whole.vocabulary.names
    for pair in keyed_pairs(linked_keys(whole), whole.n_entities)[::60].tolist():
        asked = [tuple(names[i] for i in pair)]
        known = model.predict_proba(asked)
        model.network = hide_pairs(whole, np.array([pair], np.int32))
        assert model.predict_proba(asked).tobytes() == known.tobytes()
        model.network = whole


class Watched(Extractor):
    """Remembers what was asked of it."""

    asked: list[tuple[HigherOrderNetwork, NDArray[np.int32]]] = []  # noqa: RUF012

    def __call__(self, pairs: NDArray[np.int32]) -> Subgraphs:
        Watched.asked.append((self.network, pairs))
        return super().__call__(pairs)


def test_an_epoch_draws_its_pairs_anew_and_hides_what_validates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal, "Extractor", Watched)
    Watched.asked = []
    model = SEALLinkPredictor(network(), **{**SMALL, "max_pairs": 64, "max_epochs": 3}).fit()
    pool, validation, *epochs = Watched.asked
    assert pool[0] is model.network
    assert len(validation[1]) == 16, "a quarter of max_pairs"
    assert [len(pairs) for _, pairs in epochs] == [64] * 3
    assert len({pairs.tobytes() for _, pairs in epochs}) == 3
    seen = {tuple(pair) for _, pairs in epochs for pair in pairs.tolist()}
    assert not seen & {tuple(pair) for pair in validation[1].tolist()}
    # Linked pairs come first; neither they nor their ways back have an edge while the model trains.
    linked = {frozenset(pair) for pair in validation[1][:8].tolist()}
    for shown in (validation[0], *(visible for visible, _ in epochs)):
        ends = zip(shown.base[shown.sources].tolist(), shown.base[shown.indices].tolist(), strict=True)
        assert not linked & {frozenset(pair) for pair in ends}


def closing(n_nodes: int = 60) -> HigherOrderNetwork:
    """Return a ring lattice with shortcuts of two: neighbours of a link have many neighbours in common."""
    steps = [(i, (i + d) % n_nodes) for i in range(n_nodes) for d in (1, 2, 3, 4)]
    return from_edges([f"n{u:02d}" for u, _ in steps], [f"n{v:02d}" for _, v in steps], [1] * len(steps))


def test_labels_alone_tell_who_is_near() -> None:
    """All degrees are equal, and no entity is known by name."""
    split = split_links(closing(), 0.15, seed=1)
    model = SEALLinkPredictor(
        split.network, **{**SMALL, "max_epochs": 8, "max_pairs": None, "inputs": "labels"}
    )
    model.set_params(learning_rate=0.01, validation_fraction=0.0, batch_size=16)
    linked = model.fit(exclude=split.names).predict_proba(split.names)[:, 1]
    assert roc_auc_score(split.labels, linked) >= 0.95


def test_the_size_of_the_pool_is_the_share_of_the_training_subgraphs() -> None:
    split = held_out()
    sizes = {}
    for pool in (0.0, 0.5, 1.0):
        model = SEALLinkPredictor(split.network, **{**SMALL, "max_epochs": 1, "pool": pool}).fit()
        sizes[pool] = model.pool_size_
        assert model.module_.dense.in_features == 32 * (sizes[pool] // 2 - 4)
    assert sizes[0.0] < sizes[0.5] < sizes[1.0]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("hops", 0, r"'hops' parameter of SEALLinkPredictor must be a whole number, at least 1. Got 0"),
        ("max_per_hop", 0, r"'max_per_hop' parameter .* at least 1. Got 0"),
        ("max_pairs", 0.5, r"'max_pairs' parameter .* at least 1. Got 0.5"),
        ("pool", 1.5, r"'pool' parameter .* at least 0 and at most 1. Got 1.5"),
        ("inputs", "label", r"'inputs' parameter .* Got 'label' instead; did you mean 'labels'\?"),
        ("direction", "along", r"'direction' parameter .* must be one of 'in', 'out', 'both'"),
    ],
)
def test_parameters_are_checked(name: str, value: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        SEALLinkPredictor(network(), **{name: value}).fit()


def test_few_pairs_of_a_user_are_enough() -> None:
    names = network().vocabulary.names
    pairs = [(names[i], names[i + 1]) for i in range(24)]
    model = SEALLinkPredictor(network(), **SMALL).fit(pairs, [1] * 3 + [0] * 21)
    assert model.history_["validation_score"].isna().all(), "only unlinked pairs were left to validate on"
    assert model.history_["validation_loss"].notna().all()
    assert np.isfinite(model.predict_proba(pairs)).all()
    assert model.n_parameters_ == sum(weight.numel() for weight in model.module_.parameters())
