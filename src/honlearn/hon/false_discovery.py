"""False discovery rate: p-values → q-values (Benjamini and Hochberg, 1995).

In: p-values, or scores of suggested links and of pairs that are none. Out: q-values. The evidence for
contexts (:mod:`honlearn.hon.evidence`) and the anomalies of paths and of edges (:mod:`honlearn.hon.steps`)
are all decided by these, and so may lists of suggested links be.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from honlearn.conformal import link_p_values
from honlearn.errors import InputError, check_integer


def q_values(p: NDArray[np.float64], tests: int | None = None) -> NDArray[np.float64]:
    """Return the least false discovery rate at which each test is a discovery, q(i) = min_{j ≥ i} p(j)·n / j.

    `tests` is n where more tests were made than are given; those left out have a larger p than all of these.

    >>> q_values(np.array([0.01, 0.04, 0.03, 0.5])).round(4).tolist()
    [0.04, 0.0533, 0.0533, 0.5]
    """
    n = len(p) if tests is None else tests
    by = np.argsort(p, kind="stable")
    ranked = p[by] * (n / np.arange(1, len(p) + 1))
    q = np.empty(len(p))
    q[by] = np.minimum(np.minimum.accumulate(ranked[::-1])[::-1], 1.0)
    return q


def link_q_values(
    scores: NDArray[np.floating], unlinked: NDArray[np.floating], candidates: int | None = None
) -> NDArray[np.float64]:
    """Return the least false discovery rate of a list of suggested links that ends with each of them.

    Suggestions with q ≤ 0.1, say, are a list of which at most 10 % are expected to be no links: Benjamini and
    Hochberg's procedure keeps its rate for conformal p-values that share their calibration pairs (Bates et
    al., 2023). What :func:`honlearn.conformal.link_p_values` asks of the unlinked pairs holds here, too.

    Parameters
    ----------
    scores : array [m]
        Scores of the suggested pairs, larger for likelier links.
    unlinked : array [n]
        Scores of pairs that are known to be unlinked, drawn as candidates are and not trained on. A list of k
        links out of c candidates at a rate q needs n ≥ c / (q k) − 1 of them.
    candidates : int, optional
        Pairs that suggestions were taken from, where only those with the highest scores are given.

    Examples
    --------
    >>> unlinked = np.linspace(0, 0.8, 99)
    >>> link_q_values(np.array([0.95, 0.9, 0.3]), unlinked).round(3).tolist()
    [0.015, 0.015, 0.63]
    >>> link_q_values(np.array([0.95, 0.9]), unlinked, candidates=20).round(3).tolist()
    [0.1, 0.1]
    """
    if not len(unlinked):
        raise InputError("link_q_values: no unlinked pairs are given; score pairs that are known to be none")
    if candidates is not None:
        candidates = check_integer("link_q_values", "candidates", candidates, len(scores))
    for name, values in (("scores", scores), ("unlinked", unlinked)):
        if np.ndim(values) != 1 or not np.isfinite(values).all():
            raise InputError(f"link_q_values: {name} must be finite numbers, one per pair")
    return q_values(link_p_values(scores, unlinked), candidates)
