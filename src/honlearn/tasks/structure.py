"""Structure chosen for the task: which order, tau and min_support make the network that predicts best.

In: counts of grams and the parameters that are open. Out: the networks to choose among, and a race between
them. Networks for many values come from one count (pruning is a comparison). All are judged by a few
learners, the better part by more of them (successive halving), on the same validation parts, so that losses
are compared node by node. The first-order network races to the end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from honlearn.errors import ParameterError, check_integer, check_real
from honlearn.hon.build import DEFAULT_MAX_ORDER, GramCounts, count_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.tasks.choice import Candidate, Choice
from honlearn.tasks.settings import Structure

AUTO = "auto"
PARAMETERS = ("order", "tau", "min_support")
TAUS = (1.0, 3.0, 10.0)
SUPPORTS = (1, 10)
# Numbers of learners after which the worse candidates leave; not more than half of a bag judge a network.
_ROUNDS = (2, 4, 8)


class Grown(NamedTuple):
    """A network that can be grown from the counts, and the parameters that it has."""

    order: int
    tau: float | None
    min_support: int
    network: HigherOrderNetwork

    @property
    def key(self) -> str:
        """What it is called in a ledger."""
        return f"order {self.order}, tau {self.tau}, min_support {self.min_support}"


def race(choice: Choice, running: Sequence[Candidate], n_learners: int) -> list[Candidate]:
    """Let networks race; return those that ran to the end, best first."""
    rounds = [count for count in _ROUNDS if count <= max(n_learners // 2, _ROUNDS[0])]
    for learners in rounds:
        choice.train(running, learners, "choosing the structure")
        running = _better(running, learners)
    for one in choice.candidates:
        if one not in running:
            one.searched.clear()
    return list(running)


def _better(running: Sequence[Candidate], learners: int) -> list[Candidate]:
    """Return the third with the least losses by so many learners, and the first-order network in any case."""
    ordered = sorted(running, key=lambda one: one.loss(learners))
    kept = ordered[: max(3, math.ceil(len(ordered) / 3))]
    return kept + [one for one in ordered if one.is_first_order and one not in kept]


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
    """Return the networks to choose among: first order, and every other one that the parameters allow.

    A number fixes a parameter; ``"auto"`` and None leave it open. Different values that keep the same
    contexts are one candidate.
    """
    made: dict[tuple[int, int, bytes], Grown] = {}
    for order, tau, support in _grid(owner, counts, wanted):
        network = counts.grow(order, tau, support)
        key = (network.n_nodes, network.n_edges, network.grams.tobytes())
        if key not in made:
            made[key] = Grown(order, None if order == 1 else tau, support, network)
    return list(made.values())


def _grid(owner: str, counts: GramCounts, wanted: Structure) -> Iterator[tuple[int, float, int]]:
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
    supports: tuple[int, ...] = SUPPORTS
    if "min_support" not in open_to:
        supports = (check_integer(owner, "min_support", wanted.min_support, 1),)
    if open_to:
        yield 1, taus[0], 1
    yield from ((order, tau, support) for order, tau, support in itertools.product(orders, taus, supports))


def _is_open(owner: str, name: str, value: object) -> bool:
    if value is None or (isinstance(value, str) and value == AUTO):
        return True
    if isinstance(value, str):
        raise ParameterError(
            f"The {name!r} parameter of {owner} must be a number or 'auto'. Got {value!r} instead."
        )
    return False
