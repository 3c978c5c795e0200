"""Structure chosen for the task: which order, tau and min_support make the network that predicts best.

In: counts of grams and the parameters that are open. Out: the networks to choose among, and a race between
them. Networks for many values come from one count (pruning is a comparison); those that keep nearly the same
contexts are one candidate. A coarse grid is judged first, by a few learners and order by order, then the
network beside the best one, then the best two and first order by more learners. All have the same validation
parts, so that losses are compared node by node. The race ends early where nothing is left to gain
(:mod:`honlearn.tasks.remaining`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import ParameterError, check_integer, check_real
from honlearn.hon.build import DEFAULT_MAX_ORDER, GramCounts, count_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.tasks.choice import Candidate, Choice
from honlearn.tasks.remaining import is_solved, is_worse, may_gain
from honlearn.tasks.settings import Structure

AUTO = "auto"
PARAMETERS = ("order", "tau", "min_support")
TAUS: tuple[float, ...] = (1.0, 3.0, 10.0)
SUPPORTS: tuple[int, ...] = (1, 10)
# What is judged first: rare contexts have few examples to learn from.
_COARSE_SUPPORTS: tuple[int, ...] = SUPPORTS[1:]
# Networks that share so many of their contexts are one candidate.
_SAME = 0.9
# Numbers of learners that judge networks, one round after the other; the first holds back every example once.
_ROUNDS = (4, 8)
# Networks with memory that are judged to the end: which of the best two is better is hardly known.
_KEPT = 2
_LABEL = "choosing the structure"


class Grown(NamedTuple):
    """A network that can be grown from the counts, and the parameters that it has.

    One that is not `is_coarse` is judged only if a network beside it is the best of those that are.
    """

    order: int
    tau: float | None
    min_support: int
    network: HigherOrderNetwork
    is_coarse: bool

    @property
    def key(self) -> str:
        """What it is called in a ledger."""
        return f"order {self.order}, tau {self.tau}, min_support {self.min_support}"


def race(
    choice: Choice, fields: Sequence[Grown], running: Sequence[Candidate], n_learners: int
) -> list[Candidate]:
    """Judge networks by up to `n_learners` each, at least 2; return those that stayed, best first.

    `running` are the candidates of `fields`, the first of them the first-order network, which always stays.
    """
    usual, few = running[0], min(_ROUNDS[0], max(n_learners, 2))
    choice.train([usual], few, _LABEL)
    left = [usual]
    if not is_solved(usual.losses()):
        left += _judged(choice, fields, running, few)
        for learners in _ROUNDS[1:]:
            if learners <= n_learners:
                choice.train(left, learners, _LABEL)
    for one in running:
        if one not in left:
            one.searched.clear()
    return sorted(left, key=lambda one: one.loss())


def _judged(
    choice: Choice, fields: Sequence[Grown], running: Sequence[Candidate], learners: int
) -> list[Candidate]:
    """Return the best networks with memory by so many learners: of the coarse grid and beside its best."""
    pairs = list(zip(fields, running, strict=True))[1:]
    coarse = [pair for pair in pairs if pair[0].is_coarse] or pairs
    tried: list[Candidate] = []
    hopeless: set[tuple[int, float | None]] = set()
    for order in sorted({grown.order for grown, _ in coarse}):
        # A tau that is worse than others at an order beyond doubt is not tried at the next one.
        some = [pair for pair in coarse if pair[0].order == order and (order, pair[0].tau) not in hopeless]
        choice.train([one for _, one in some], learners, _LABEL)
        tried += [one for _, one in some]
        least = min((one for _, one in some), key=lambda one: one.loss(learners), default=None)
        for grown, one in some:
            if least is not None and is_worse(one.gain_over(least, learners)):
                hopeless.add((order + 1, grown.tau))
    best = min(tried, key=lambda one: one.loss(learners))
    if may_gain(best.gain_over(running[0], learners)):
        found = fields[running.index(best)]
        beside = [one for grown, one in pairs if one not in tried and _is_beside(grown, found)]
        choice.train(beside, learners, _LABEL)
        tried += beside
    best, *others = sorted(tried, key=lambda one: one.loss(learners))[:_KEPT]
    return [best, *(one for one in others if not is_worse(one.gain_over(best, learners)))]


def _is_beside(one: Grown, other: Grown) -> bool:
    """Return whether networks differ in nothing but the support of their contexts."""
    return (one.order, one.tau) == (other.order, other.tau)


def counts_of(owner: str, source: GramCounts | Paths, order: int | str | None) -> GramCounts:
    """Return the counts that networks are grown from: of paths, or those that were given."""
    if isinstance(source, GramCounts):
        return source
    longest = (
        DEFAULT_MAX_ORDER if _is_open(owner, "order", order) else check_integer(owner, "order", order, 1)
    )
    return count_grams(source, longest)


def is_source(value: object) -> bool:
    """Return whether networks can be grown from this."""
    return isinstance(value, (GramCounts, Paths))


def candidates(owner: str, counts: GramCounts, wanted: Structure) -> list[Grown]:
    """Return the networks to choose among: first order, the coarse grid, then the others that are open.

    A number fixes a parameter; ``"auto"`` and None leave it open. Different values that keep nine tenths of
    the same contexts are one candidate, that of the coarse grid if there is one.
    """
    made: list[tuple[Grown, Contexts]] = []
    for order, tau, support, is_coarse in _grid(owner, counts, wanted):
        network = counts.grow(order, tau, support)
        contexts = _contexts(network, counts.order)
        if not any(_shared(contexts, known) >= _SAME for _, known in made):
            one = Grown(order, None if order == 1 else tau, support, network, is_coarse)
            made.append((one, contexts))
    # An order of which the coarse grid has no network of its own takes part with those that it has.
    coarse = {one.order for one, _ in made if one.is_coarse}
    return [one._replace(is_coarse=one.is_coarse or one.order not in coarse) for one, _ in made]


# The nodes with memory as rows of bytes, [n_conditional].
Contexts = NDArray[np.void]


def _contexts(network: HigherOrderNetwork, longest: int) -> Contexts:
    """Return the nodes of a network that have memory, padded to one length."""
    length = np.diff(network.gram_offsets)
    rows = np.full((len(length), longest), -1, np.int32)
    rows[np.arange(longest) < length[:, None]] = network.grams
    rows = np.ascontiguousarray(rows[length > 1])
    return rows.view(np.dtype((np.void, rows.itemsize * longest))).ravel()


def _shared(some: Contexts, others: Contexts) -> float:
    """Return the number of contexts in both over that in either; two networks without any are the same."""
    if min(len(some), len(others)) < _SAME * max(len(some), len(others)):
        return 0.0
    both = len(np.intersect1d(some, others, assume_unique=True))
    either = len(some) + len(others) - both
    return both / either if either else 1.0


def _grid(owner: str, counts: GramCounts, wanted: Structure) -> Iterator[tuple[int, float, int, bool]]:
    """Yield order, tau, min_support, and whether they are of the coarse grid, which comes first."""
    open_to = {name for name in PARAMETERS if _is_open(owner, name, getattr(wanted, name))}
    orders = range(2, counts.order + 1)
    if "order" not in open_to:
        given = check_integer(owner, "order", wanted.order, 1)
        if given > counts.order:
            raise ParameterError(
                f"The 'order' parameter of {owner} is {given}, but grams were counted for orders up to "
                f"{counts.order}; count them with count_grams(paths, order={given})"
            )
        orders = range(given, given + 1)
    taus = TAUS if "tau" in open_to else (check_real(owner, "tau", wanted.tau, 0),)
    supports, coarse_supports = SUPPORTS, _COARSE_SUPPORTS
    if "min_support" not in open_to:
        supports = coarse_supports = (check_integer(owner, "min_support", wanted.min_support, 1),)
    if open_to:
        yield 1, taus[0], 1, True
    every = list(itertools.product(orders, taus, supports))
    coarse = [one for one in every if one[2] in coarse_supports]
    yield from ((*one, True) for one in coarse)
    yield from ((*one, False) for one in every if one not in coarse)


def _is_open(owner: str, name: str, value: object) -> bool:
    if value is None or (isinstance(value, str) and value == AUTO):
        return True
    if isinstance(value, str):
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be a number or 'auto'. Got {value!r} instead."
        )
    return False
