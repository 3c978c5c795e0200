"""Scores of predicted links: how well the linked pairs of a test part stand above the others.

In: whether each pair is linked [B], the probability of a link [B], and perhaps that of each member [L, B].
Out: plain numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError
from honlearn.results.metrics import FLOOR, disagreement

HITS = (10, 50, 100)
Numbers = NDArray[np.floating[Any]]


def link_scores(truth: NDArray[np.int64], linked: Numbers, members: Numbers | None = None) -> dict[str, Any]:
    """Return the scores of one test part; those of single members are None where there are no members.

    `auprc` is the average precision (the paper's score), `auroc` the area under the ROC curve, `hits_at_k`
    and `mrr` as in :func:`hits_at` and :func:`mean_reciprocal_rank`, `single_auprc` the mean over members,
    `gain` what the ensemble adds to it.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    if not 0 < truth.sum() < len(truth):
        raise InputError("scores of links need linked and unlinked test pairs; there is only one kind")
    auprc = float(average_precision_score(truth, linked))
    certain = np.clip(np.where(truth == 1, linked, 1.0 - np.asarray(linked, np.float64)), FLOOR, 1.0)
    result: dict[str, Any] = {
        "auprc": auprc,
        "auroc": float(roc_auc_score(truth, linked)),
        "mrr": mean_reciprocal_rank(truth, linked),
        "log_loss": float(-np.log(certain).mean()),
    }
    result |= {f"hits_at_{k}": hits_at(truth, linked, k) for k in HITS}
    result |= {"single_auprc": None, "gain": None, "disagreement": None}
    if members is not None:
        single = float(np.mean([average_precision_score(truth, member) for member in members]))
        both = np.stack([1.0 - members, members], 2)
        result["single_auprc"], result["gain"] = single, auprc - single
        result["disagreement"] = float(disagreement(both).mean())
    return result


def hits_at(truth: NDArray[np.int64], linked: Numbers, k: int) -> float:
    """Return the share of linked pairs whose probability is above that of the k-th best unlinked pair.

    >>> hits_at(np.array([1, 1, 0, 0]), np.array([0.9, 0.5, 0.6, 0.1]), 1)
    0.5
    """
    others = np.sort(linked[truth == 0])
    limit = others[-k] if k <= len(others) else -np.inf
    return float((linked[truth == 1] > limit).mean())


def mean_reciprocal_rank(truth: NDArray[np.int64], linked: Numbers) -> float:
    """Return the mean of 1 / rank of each linked pair among all unlinked test pairs; ties take the middle.

    >>> mean_reciprocal_rank(np.array([1, 1, 0, 0]), np.array([0.9, 0.5, 0.6, 0.1]))
    0.75
    """
    return float((1.0 / middle_ranks(linked[truth == 1], np.sort(linked[truth == 0]))).mean())


def middle_ranks(own: Numbers, others: Numbers) -> NDArray[np.float64]:
    """Return the rank of each of `own` among `others`, which ascend; ties take the middle.

    >>> middle_ranks(np.array([0.9, 0.5]), np.array([0.1, 0.5, 0.6])).tolist()
    [1.0, 2.5]
    """
    above = len(others) - np.searchsorted(others, own, "right")
    level = len(others) - np.searchsorted(others, own, "left") - above
    return np.asarray(1.0 + above + level / 2)
