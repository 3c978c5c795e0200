"""Structure chosen for the task: which order, tau and min_support make the network that answers best.

In: counts of grams and a way to train a few learners on a network with a validation part each. Out: the
network chosen, and a table of all that were tried. Networks for many values come from one count (pruning is a
comparison). Candidates race: all are validated by a few learners, the better part by more of them
(successive halving), on the same validation parts, so that losses are compared node by node. The first-order
network races to the end, and another wins only if it is better by more than the standard error.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from honlearn.ensemble.fitting import Held
from honlearn.errors import ParameterError, check_integer, check_real
from honlearn.hon.build import DEFAULT_MAX_ORDER, GramCounts, count_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.progress import progress
from honlearn.stored import Fields
from honlearn.tasks.held import HeldOutScore, Ledger
from honlearn.tasks.settings import Structure

if TYPE_CHECKING:
    import pandas

AUTO = "auto"
PARAMETERS = ("order", "tau", "min_support")
TAUS = (1.0, 3.0, 10.0)
SUPPORTS = (1, 10)
_PARTS = (3 / 16, 6 / 16, 9 / 16)

# Trains learners [a, b) on a network.
Validate = Callable[[HigherOrderNetwork, Sequence[int]], Held]


@dataclass(eq=False, kw_only=True)
class Candidate(HeldOutScore):
    """A network that takes part; it is compared with first order, by as many learners of either."""

    order: int
    tau: float | None
    min_support: int
    network: HigherOrderNetwork

    @property
    def is_first_order(self) -> bool:
        """Whether no node remembers."""
        return self.network.n_conditional == 0


@dataclass(eq=False)
class Race:
    """The candidates, the ledger that remembers them, and who of them was kept after each part."""

    candidates: list[Candidate]
    ledger: Ledger = field(default_factory=Ledger)
    kept: list[list[int]] = field(default_factory=list)

    @property
    def first(self) -> Candidate | None:
        """The first-order network, where it takes part."""
        return next((one for one in self.candidates if one.is_first_order), None)

    def run(
        self,
        validate: Validate,
        n_learners: int,
        show: bool | None,
        forget: Callable[[HigherOrderNetwork], Any] = lambda network: None,
    ) -> Candidate:
        """Let the candidates race and return the winner; `forget` is told of each network that has left."""
        record = Fields(self.ledger.resume(self.candidates), "the checkpoint of a choice")
        rounds = record.items("kept") if record.has("kept") else []
        most = len(self.candidates) - 1
        self.kept = [Fields({"kept": row}, record.where).integers("kept", 0, most) for row in rounds]
        parts = sorted({max(2, math.ceil(n_learners * part)) for part in _PARTS})
        running = self.candidates
        with (
            self.ledger.saved_on_interrupt(self.candidates, kept=self.kept),
            progress("choosing the structure", total=self._work(parts), show=show) as advance,
        ):
            for place, learners in enumerate(parts):
                for candidate in running:
                    if candidate.learners < learners:
                        candidate.update(learners, partial(validate, candidate.network))
                        self.ledger.maybe_save(self.candidates, kept=self.kept)
                    advance(1, f"best loss {min(one.loss for one in running if one.learners):.3f}")
                # After a kill some have gone further than this part; who was kept is known, not asked again.
                if place == len(self.kept):
                    self.kept.append([self.candidates.index(one) for one in self._better(running)])
                for index in {self.candidates.index(one) for one in running} - {*self.kept[place]}:
                    forget(self.candidates[index].network)
                running = [self.candidates[i] for i in self.kept[place]]
        self.ledger.save(self.candidates, kept=self.kept)
        return self._winner(running)

    def _work(self, parts: Sequence[int]) -> int:
        sizes = [len(self.candidates)]
        for _ in parts[1:]:
            sizes.append(min(sizes[-1], max(3, math.ceil(sizes[-1] / 3)) + 1))
        return sum(sizes)

    def _better(self, running: Sequence[Candidate]) -> list[Candidate]:
        """Return the third with the least losses, and the first-order network in any case."""
        first = self.first
        for one in running:
            if first is not None:
                one.compare(first)
        ordered = sorted(running, key=lambda candidate: candidate.loss)
        kept = ordered[: max(3, math.ceil(len(ordered) / 3))]
        return kept + [one for one in ordered if one.is_first_order and one not in kept]

    def _winner(self, running: Sequence[Candidate]) -> Candidate:
        """Return the best of those that ran to the end, or first order where the gain is within noise."""
        best, first = min(running, key=lambda candidate: candidate.loss), self.first
        return best if first is None or best.gain > best.error else first

    def results(self, winner: Candidate) -> pandas.DataFrame:
        """Return a row for each candidate, those that ran longest first, then by their loss.

        A gain is that over first order when a candidate left, by as many learners of either. A loss is NaN
        where there were too few examples to hold any back.
        """
        import pandas as pd

        rows = []
        for one in sorted(self.candidates, key=lambda one: (-one.learners, one.loss)):
            rows.append(
                {
                    "order": one.order,
                    "tau": math.nan if one.tau is None else one.tau,
                    "min_support": one.min_support,
                    "nodes": one.network.n_nodes,
                    "edges": one.network.n_edges,
                    "learners": one.learners,
                    "loss": one.loss if one.n_votes.any() else math.nan,
                    "gain": one.gain,
                    "standard_error": one.error,
                    "cpu_seconds": round(one.seconds, 3),
                    "chosen": one is winner,
                }
            )
        return pd.DataFrame(rows)


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


def candidates(owner: str, counts: GramCounts, wanted: Structure, n_examples: int) -> list[Candidate]:
    """Return the networks to choose among: first order, and every other one that the parameters allow.

    A number fixes a parameter; ``"auto"`` and None leave it open. Different values that keep the same
    contexts are one candidate.
    """
    made: dict[tuple[int, int, bytes], Candidate] = {}
    for order, tau, support in _grid(owner, counts, wanted):
        network = counts.grow(order, tau, support)
        key = (network.n_nodes, network.n_edges, network.grams.tobytes())
        if key not in made:
            made[key] = Candidate(
                order=order,
                tau=None if order == 1 else tau,
                min_support=support,
                network=network,
                probability=np.zeros(n_examples),
                n_votes=np.zeros(n_examples, np.int64),
            )
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
