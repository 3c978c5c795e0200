from __future__ import annotations

import math

import numpy as np
import pytest
from baseline_cases import network, nodes

import honlearn as hl
from honlearn.baselines.honem import HONEMClassifier, neighborhood_matrix
from honlearn.errors import ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.network import HigherOrderNetwork


def slow(hon: HigherOrderNetwork, decay: float) -> np.ndarray:
    """Sum over orders, context by context, by names."""
    names = list(hon.vocabulary)
    total = np.zeros((len(names), len(names)))
    for order in range(1, hon.max_order + 1):
        found: dict[tuple[str, str], list[float]] = {}
        for label in hon.nodes:
            parts = label.split("|")
            if len(parts) == order:
                for target, chance in hon.transition(label, collapse=True).items():
                    found.setdefault((parts[-1], target), []).append(chance)
        for (i, j), chances in found.items():
            total[names.index(i), names.index(j)] += math.exp(-decay * (order - 1)) * np.mean(chances)
    return total


@pytest.mark.parametrize("decay", [0.0, 1.0, 2.5])
def test_the_matrix_is_the_sum_over_orders(decay: float) -> None:
    hon = hl.grow(
        [list("ACDB"), list("BCEA"), list("ACDA"), list("DBCE")] * 3, order=3, alpha=1, min_support=1
    )
    assert hon.max_order == 3
    np.testing.assert_allclose(neighborhood_matrix(hon, decay).toarray(), slow(hon, decay), atol=1e-12)
    np.testing.assert_allclose(neighborhood_matrix(network(), decay).toarray(), slow(network(), decay))


def test_a_first_order_network_has_transition_probabilities_alone() -> None:
    hon = from_edges(["A", "A", "B"], ["B", "C", "C"], [3, 1, 2])
    np.testing.assert_allclose(neighborhood_matrix(hon).toarray(), [[0, 0.75, 0.25], [0, 0, 1], [0, 0, 0]])
    flat = neighborhood_matrix(hon, edge_power=0.0).toarray()
    np.testing.assert_allclose(flat[0], [0, 0.5, 0.5])


def test_names_do_not_matter() -> None:
    table = network().to_pandas()
    names, groups = nodes()

    def turned(label: str) -> str:
        return "|".join(f"{99 - int(part[3:])}{part[:3]}" for part in label.split("|"))

    other = from_edges(table["source"].map(turned), table["target"].map(turned), table["weight"])
    settings = {"dimensions": 8, "n_threads": 1}
    straight = HONEMClassifier(network(), **settings).fit(names[:30], groups[:30])
    renamed = HONEMClassifier(other, **settings).fit([turned(name) for name in names[:30]], groups[:30])
    got = renamed.predict_proba([turned(name) for name in names])
    np.testing.assert_allclose(got, straight.predict_proba(names), atol=1e-3)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"dimensions": 0}, "'dimensions' parameter of HONEMClassifier must be a whole number, at least 1"),
        ({"decay": -1}, "'decay' parameter of HONEMClassifier must be a number at least 0"),
        (
            {"regularization": 0},
            "'regularization' parameter of HONEMClassifier must be a number greater than 0",
        ),
    ],
)
def test_parameters_are_checked(setting: dict[str, float], message: str) -> None:
    names, groups = nodes()
    with pytest.raises(ParameterError, match=message):
        HONEMClassifier(network(), **setting).fit(names, groups)
