"""False discovery rate: p-values → q-values (Benjamini and Hochberg, 1995).

The evidence for contexts (:mod:`honlearn.hon.evidence`) and the anomalies of paths and of edges
(:mod:`honlearn.hon.steps`) are all decided by these.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


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
