"""Scores of prediction sets that are smoothed over neighbours (DAPS, Zargarbashi et al. 2023).

In: scores [V, C] of entities and the first-order network. Out: with a weight λ, for each entity v

    s'(v, y) = (1 − λ) s(v, y) + λ Σ_u a_vu s(u, y),

a_vu the share of the edge weight between v and u, in either direction, among all of v's. Where neighbours
tend to be of one class, sets become smaller. The smoothed scores of calibration nodes and of new nodes are
made in the same way, so conformal prediction holds for them as for any score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from honlearn.conformal import Rows, class_p_values, crossed_p_values
from honlearn.hon.network import HigherOrderNetwork
from honlearn.tasks.prediction_sets import scores_of
from honlearn.tasks.temperature import tempered

if TYPE_CHECKING:
    from honlearn.tasks.calibrated import Calibrated

AUTO = "auto"
WEIGHTS = (0.0, 0.25, 0.5, 0.75)


def neighbor_shares(network: HigherOrderNetwork) -> csr_array:
    """Return a [V, V]: rows sum to 1, or are empty for an entity without neighbours; loops do not count.

    >>> from honlearn.hon.edgelist import from_edges
    >>> neighbor_shares(from_edges(["A", "B"], ["B", "C"], [1, 3])).toarray().tolist()
    [[0.0, 1.0, 0.0], [0.25, 0.0, 0.75], [0.0, 1.0, 0.0]]
    """
    size, ends = network.n_entities, (network.base[network.sources], network.base[network.indices])
    apart = ends[0] != ends[1]
    pairs = (ends[0][apart], ends[1][apart])
    weights = network.weights[apart].astype(np.float64)
    both = csr_array((weights, pairs), shape=(size, size))
    both = csr_array(both + both.T)
    total = np.asarray(both.sum(1)).ravel()
    both.data /= np.repeat(np.where(total > 0, total, 1.0), np.diff(both.indptr))
    return both


def smoothed(scores: Rows, shares: csr_array, rows: NDArray[np.integer], weight: float) -> Rows:
    """Return the smoothed scores of some entities [B, C]; one without neighbours keeps its own."""
    near = shares[rows]
    alone = np.diff(near.indptr) == 0
    mean = np.asarray(near @ scores)
    mean[alone] = scores[rows[alone]]
    return np.asarray((1 - weight) * scores[rows] + weight * mean)


def choose_weight(
    scores: Rows, shares: csr_array, rows: NDArray[np.integer], labels: NDArray[np.int64], alpha: float
) -> float:
    """Return the weight with the smallest sets of labelled entities (`rows`) that cover 1 − alpha of them.

    Sets of one fifth of them are calibrated on the others. Where sets are as large, the smaller weight.
    """
    return min(
        WEIGHTS, key=lambda weight: (_size(smoothed(scores, shares, rows, weight), labels, alpha), weight)
    )


def _size(scores: Rows, labels: NDArray[np.int64], alpha: float) -> float:
    return float((crossed_p_values(scores, labels) > alpha).sum(1).mean())


def smoothed_p_values(
    model: Calibrated,
    codes: NDArray[np.int32],
    score: str,
    weight: float | str,
    alpha: float,
    class_conditional: bool,
) -> Rows:
    """Return the p-value of each class [B, C] of entities, by smoothed scores of a fitted classifier.

    A node that was held back has the score of its held-back prediction, for itself and as a neighbour. A
    weight that is chosen is chosen on every other held-back node, and the rest calibrate.
    """
    known, shares = model.held_back_.known(), neighbor_shares(model.network_)
    asked = np.concatenate([known.nodes, codes])
    # Only these and their neighbours have a score.
    needed = np.unique(np.concatenate([asked, shares[asked].indices])).astype(np.int32)
    proba = model._as_held(model.predict_proba(model._named(needed)))
    proba[np.searchsorted(needed, known.nodes)] = tempered(known.proba, model.held_temperature_)
    scores = np.zeros((model.network_.n_entities, proba.shape[1]))
    scores[needed] = scores_of(score, model.seed_, proba, model._named(needed))
    nodes, labels = known.nodes, known.labels
    if isinstance(weight, str):
        weight = choose_weight(scores, shares, nodes[::2], labels[::2], alpha)
        nodes, labels = nodes[1::2], labels[1::2]
    held = smoothed(scores, shares, nodes, weight)[np.arange(len(labels)), labels]
    new = smoothed(scores, shares, codes, weight)
    return class_p_values(new, held, labels if class_conditional else None)
