"""Shares of the parts of a prediction, from what each of them predicted for held-back examples.

In: for each part (learners of one kind on one network, the path kernel) the probability that it gives to the
true class of every example it did not see. Out: shares that sum to 1. Stacking (Breiman 1996; for
probabilities Yao et al. 2018) maximises

    Σ_i w_i ln Σ_m s_m p_m(i)

over shares s. The optimum on few examples is noise, so it is averaged over Bayesian bootstrap draws of the
example weights w (Rubin 1981): parts that cannot be told apart come out with about equal shares, and one that
is clearly better in every draw takes all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from honlearn.seeds import generator

_DRAWS, _STEPS = 64, 60
MOST_KERNEL = 0.75
# As many examples as tell shares to a hundredth; more would only take longer.
_MOST_EXAMPLES = 20_000


def stacked_shares(
    probability: Sequence[NDArray[np.float64]], weights: NDArray[np.float64], seed: int
) -> NDArray[np.float64]:
    """Return the share of each part, [M]; `probability` of the true class is [n] a part, NaN where unknown.

    Examples that some part knows nothing of do not count; where there are none, shares are equal.

    >>> good, bad = np.full(50, 0.9), np.full(50, 0.1)
    >>> stacked_shares([good, bad], np.ones(50), 0).round(2).tolist()
    [1.0, 0.0]
    >>> even = np.where(np.arange(50) % 2, 0.1, 0.9)
    >>> stacked_shares([even, 1 - even], np.ones(50), 0).round(1).tolist()
    [0.5, 0.5]
    """
    given = np.stack(probability)
    known = np.isfinite(given).all(0) & (weights > 0)
    given, weights = np.maximum(given[:, known], 1e-12), weights[known].astype(np.float64)
    if len(given) == 1 or not len(weights):
        return np.full(len(given), 1 / len(given))
    random = generator(seed, "shares")
    if len(weights) > _MOST_EXAMPLES:
        some = random.permutation(len(weights))[:_MOST_EXAMPLES]
        given, weights = given[:, some], weights[some]
    drawn = random.exponential(size=(_DRAWS, len(weights))) * weights
    drawn /= drawn.sum(1, keepdims=True)
    shares = np.full((_DRAWS, len(given)), 1 / len(given))
    for _ in range(_STEPS):
        # Expectation maximisation: a part's new share is the weight of the examples it accounts for.
        shares = shares * ((drawn / (shares @ given)) @ given.T)
    mean = shares.mean(0)
    return np.asarray(mean / mean.sum())


def with_less_kernel(shares: NDArray[np.float64], n_learned: int) -> NDArray[np.float64]:
    """Return shares [M] in which the odds of the parts after the first `n_learned`, the kernel's, are halved.

    The kernel has at most three quarters, so that there is always an ensemble to ask for its uncertainty.
    Held-back predictions are those of a few learners, trained on a part of the examples; in the end all of
    them predict, trained on everything, while the kernel stays as it was judged. On parts of training folds
    (Wiki, words, both flights, Air) half the odds were nearer to the best share than the odds as they are.

    >>> with_less_kernel(np.array([0.3, 0.2, 0.5]), 2).round(2).tolist()
    [0.4, 0.27, 0.33]
    >>> with_less_kernel(np.array([0.0, 1.0]), 1).round(2).tolist()
    [0.25, 0.75]
    """
    is_learned = np.arange(len(shares)) < n_learned
    out = shares * np.where(is_learned, 1.0, 0.5)
    out = np.asarray(out / out.sum())
    of_kernel = float(out[~is_learned].sum())
    if of_kernel <= MOST_KERNEL:
        return out
    # The kernel's sum may be rounded to just below 1 where nothing is left for the learners.
    total = float(out[is_learned].sum())
    learned = out[is_learned] / total if total > 0 else np.full(n_learned, 1 / n_learned)
    return np.concatenate([(1 - MOST_KERNEL) * learned, MOST_KERNEL * (out[~is_learned] / of_kernel)])


def apportion(shares: NDArray[np.float64], total: int) -> NDArray[np.int64]:
    """Return whole numbers that sum to `total`, as near to the shares as can be (largest remainders).

    >>> apportion(np.array([0.55, 0.3, 0.15]), 16).tolist()
    [9, 5, 2]
    """
    wanted = shares / shares.sum() * total
    out: NDArray[np.int64] = np.floor(wanted).astype(np.int64)
    rest = np.argsort(-(wanted - out), kind="stable")[: total - int(out.sum())]
    out[rest] += 1
    return out
