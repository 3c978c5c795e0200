"""How much more likely are a context's next steps if it is a memory? ln Bayes factors, and how many are.

In: the next steps of contexts and of their suffixes. Out: for each tested context ln BF of "its own
distribution" against "that of its suffix", and the posterior probability that it has its own. Of the tested
contexts of one length a share π has a distribution drawn from Dirichlet(a·q); a and π maximise the marginal
likelihood

    Σg ln(1 − π + π·BF_g(a)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.disk_arrays import BLOCK, let_go
from honlearn.hon.next_rows import Rows
from honlearn.hon.trie import seek
from honlearn.jit import njit

# A memory differs visibly: beyond this, "its own distribution" and "that of the suffix" cannot be told apart,
# and any share of contexts would be as likely as any other.
LEAST_CONCENTRATION, MOST_CONCENTRATION = 0.25, 64.0
_GOLDEN_RATIO = (math.sqrt(5.0) - 1.0) / 2.0
_EVALUATIONS = 14
# Up to so many repetitions, a product of terms costs less than the logarithm of two gamma functions.
_FEW = 8
NOTHING_TESTED = 1.0, 0.0
"""a and π where no context is tested."""


class BayesFactors(NamedTuple):
    """ln BF and posterior per context (0 where it is not tested), concentration a and prior share π."""

    ln_bf: NDArray[np.float64]
    posterior: NDArray[np.float64]
    concentration: float
    prior: float


def bayes_factors(
    contexts: Rows, suffixes: Rows, suffix: NDArray[np.int64], tested: NDArray[np.bool_]
) -> BayesFactors:
    """Return the Bayes factors of contexts of one length, with a and π chosen for them.

        ln BF = lnΓ(a) − lnΓ(a + c) + Σx [lnΓ(a·q_x + f_x) − lnΓ(a·q_x)] − Σx f_x ln q_x

    and the same for the suffix, ln BF' with A in place of a, is subtracted: q itself is known from A = N − c
    + b steps only. The concentration of the context around it is then 1 / (1 / a + 1 / A); for a large
    suffix this is the formula above. Without it, sparse suffixes make memoryless contexts look real.

    f are the counts of the context, c their sum; q is the distribution of the suffix without the context,
    q_x = (F_x − f_x + b·F_x / N) / (N − c + b), smoothed with the weight b = K / 2 of Jeffreys' prior for K
    next steps, spread like the suffix as a whole, so that a next step that only the context takes has a q
    above 0.
    """
    if not tested.any():
        return BayesFactors(np.zeros(len(suffix)), np.zeros(len(suffix)), *NOTHING_TESTED)
    compared = compare(contexts, suffixes, suffix, tested)
    concentration, prior = fit_concentration(lambda a: compared.ln_bf(a)[tested])
    ln_bf = compared.ln_bf(concentration)
    return BayesFactors(ln_bf, posterior(ln_bf, prior, tested), concentration, prior)


class Compared(NamedTuple):
    """Contexts beside their suffixes: next steps, q of each, from how many steps it is known, ln BF'."""

    contexts: Rows
    tested: NDArray[np.bool_]
    q: NDArray[np.float64]
    known: NDArray[np.float64]
    without: NDArray[np.float64]

    def ln_bf(self, concentration: float) -> NDArray[np.float64]:
        """Return ln BF at a = `concentration`, 0 for what is not tested."""
        return _ln_bayes_factors(self.contexts, self.q, self.known, self.tested, concentration) - self.without


def compare(contexts: Rows, suffixes: Rows, suffix: NDArray[np.int64], tested: NDArray[np.bool_]) -> Compared:
    """Return what the Bayes factors of contexts are computed from, whatever a is."""
    q, known = np.ones(len(contexts.seen)), np.ones(len(suffix))
    for start in range(0, len(suffix), BLOCK):
        _base(contexts, suffixes, suffix, tested, start, min(start + BLOCK, len(suffix)), q, known)
        let_go(suffixes)
    return Compared(contexts, tested, q, known, _ln_bayes_factors(contexts, q, known, tested, np.inf))


def fit_concentration(ln_bf_at: Callable[[float], NDArray[np.float64]]) -> tuple[float, float]:
    """Return the a and π of the largest marginal likelihood, from ln BF of all tested contexts at any a.

    The order of the contexts does not matter, to the last bit: their sums are taken by ascending value.
    """
    best = -math.inf, 0.0, 0.0

    def evidence(x: float) -> float:
        """Return the marginal likelihood at ln a = `x`, π at its best; of all, the best is kept."""
        nonlocal best
        prior, value = _prior(np.sort(ln_bf_at(math.exp(x))))
        if value > best[0]:
            best = value, x, prior
        return value

    low, high = math.log(LEAST_CONCENTRATION), math.log(MOST_CONCENTRATION)
    left, right = high - _GOLDEN_RATIO * (high - low), low + _GOLDEN_RATIO * (high - low)
    at_left, at_right = evidence(left), evidence(right)
    for _ in range(_EVALUATIONS - 2):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN_RATIO * (high - low)
            at_left = evidence(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN_RATIO * (high - low)
            at_right = evidence(right)
    _, x, prior = best
    return math.exp(x), prior


def posterior(ln_bf: NDArray[np.float64], prior: float, tested: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return σ(ln BF + logit π), the probability that a context is real; 0 for what is not tested.

    >>> posterior(np.array([0.0, math.log(3.0), 9.0]), 0.5, np.array([True, True, False])).round(3).tolist()
    [0.5, 0.75, 0.0]
    """
    odds = ln_bf + math.log(prior / (1.0 - prior))
    small = np.exp(-np.abs(odds))
    probability = np.where(odds >= 0, 1.0, small) / (1.0 + small)
    return np.where(tested, probability, 0.0)


def _prior(ln_bf: NDArray[np.float64]) -> tuple[float, float]:
    """Return the share π of real contexts that is most likely, and ln of its likelihood."""
    ratio = np.exp(np.minimum(ln_bf, 600.0))
    # Never quite 0 or 1: one context more could be of either kind.
    low, high = 1.0 / (len(ratio) + 2), 1.0 - 1.0 / (len(ratio) + 2)
    for _ in range(30):
        middle = 0.5 * (low + high)
        if _slope(ratio, middle) > 0.0:
            low = middle
        else:
            high = middle
    share = 0.5 * (low + high)
    return share, _likelihood(ln_bf, share)


@njit
def _slope(ratio: NDArray[np.float64], share: float) -> float:
    total = 0.0
    for x in ratio:
        total += (x - 1.0) / (1.0 - share + share * x)
    return total


@njit
def _likelihood(ln_bf: NDArray[np.float64], share: float) -> float:
    total = 0.0
    for x in ln_bf:
        if x > 0.0:
            total += x + math.log(share + (1.0 - share) * math.exp(-x))
        else:
            total += math.log(1.0 - share + share * math.exp(x))
    return total


@njit
def _base(
    contexts: Rows,
    suffixes: Rows,
    suffix: NDArray[np.int64],
    tested: NDArray[np.bool_],
    start: int,
    stop: int,
    q: NDArray[np.float64],
    known: NDArray[np.float64],
) -> None:
    """Write q of each next step of each tested context, and from how many steps it is known, N − c + b."""
    for g in range(start, stop):
        if not tested[g]:
            continue
        s = suffix[g]
        at, high = suffixes.first[s], suffixes.first[s + 1]
        weight = 0.5 * (high - at)
        total = float(suffixes.total[s])
        rest = total - contexts.total[g] + weight
        for i in range(contexts.first[g], contexts.first[g + 1]):
            at = seek(suffixes.entity, at, high, contexts.entity[i])
            both = suffixes.seen[at]
            q[i] = (both - contexts.seen[i] + weight * both / total) / rest
        known[g] = rest


@njit
def _ln_bayes_factors(
    contexts: Rows,
    q: NDArray[np.float64],
    known: NDArray[np.float64],
    tested: NDArray[np.bool_],
    concentration: float,
) -> NDArray[np.float64]:
    out = np.zeros(len(tested))
    for g in range(len(tested)):
        if not tested[g]:
            continue
        a = 1.0 / (1.0 / concentration + 1.0 / known[g])
        total, product = math.lgamma(a) - math.lgamma(a + contexts.total[g]), 1.0
        for i in range(contexts.first[g], contexts.first[g + 1]):
            f, share = contexts.seen[i], q[i]
            if f > _FEW:
                total += math.lgamma(a * share + f) - math.lgamma(a * share) - f * math.log(share)
                continue
            for j in range(f):
                product *= a + j / share
                # A factor lies between 1 / 5 and 1e40, so one more fits a float64.
                if not 1e-150 < product < 1e150:
                    total += math.log(product)
                    product = 1.0
        out[g] = total + math.log(product)
    return out
