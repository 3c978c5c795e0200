"""The choices inside a fit: candidates, learners trained for each, and one table of all of them.

In: candidates (learners of one kind on one network) and a way to train some learners of one. Out: the
candidates with what their learners held back, compared example by example. The structure of the network
(:mod:`honlearn.tasks.structure`), edge powers and the pool of learners (:mod:`honlearn.tasks.pool`) are uses
of this: all share one ledger of held-back predictions, one checkpoint and one table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from honlearn.ensemble.learner_training import Searched, joined_held
from honlearn.ensemble.training import Held
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.progress import progress
from honlearn.tasks.held import HeldOutScore, Ledger

if TYPE_CHECKING:
    import pandas

# Weights of a candidate's learners that are kept until it is decided about, in numbers; of larger ones the
# search is done again.
_MOST_NUMBERS = 1 << 26


@dataclass(eq=False, kw_only=True)
class Candidate(HeldOutScore):
    """Learners on a network: `kinds` are the learners of a mixed bag, of most candidates one."""

    network: HigherOrderNetwork
    kinds: tuple[Learner, ...]
    searched: list[Searched] = field(default_factory=list)

    @property
    def is_first_order(self) -> bool:
        """Whether no node has a memory."""
        return self.network.n_conditional == 0

    @property
    def name(self) -> str:
        """The words of its learners."""
        return ",".join(kind.kind for kind in self.kinds)


# Trains learners of a candidate, one search for each kind.
Search = Callable[[Candidate, Sequence[int]], list[Searched]]


@dataclass(eq=False)
class Choice:
    """All candidates of a fit and the ledger that keeps what is known of them."""

    search: Search
    n_examples: int
    ledger: Ledger = field(default_factory=Ledger)
    show: bool | None = None
    candidates: list[Candidate] = field(default_factory=list)

    def add(self, key: str, network: HigherOrderNetwork, kinds: Sequence[Learner]) -> Candidate:
        """Return the candidate of this key, with what is known of it; a new one where there is none."""
        for one in self.candidates:
            if one.key == key:
                return one
        made = Candidate(key=key, n_examples=self.n_examples, network=network, kinds=tuple(kinds))
        self.ledger.restore(made)
        self.candidates.append(made)
        return made

    def train(self, some: Sequence[Candidate], upto: int, label: str) -> None:
        """Train learners of these candidates until each has so many."""
        with (
            self.ledger.saved_on_interrupt(self.candidates),
            progress(label, total=len(some), show=self.show) as advance,
        ):
            for one in some:
                if one.learners < upto:
                    one.update(upto, lambda learners, one=one: self._trained(one, learners))  # type: ignore[misc]
                    self.ledger.maybe_save(self.candidates)
                advance(1, f"best loss {min(each.loss() for each in self.candidates if each.learners):.3f}")
        self.ledger.save(self.candidates)

    def _trained(self, candidate: Candidate, learners: Sequence[int]) -> Held:
        parts = self.search(candidate, learners)
        known = sum(one.held.positions.shape[0] for one in candidate.searched)
        size = sum(tensor.numel() for one in parts for tensor in one.state.values())
        # Only an unbroken series of searches from the first learner on is of use to a later refit.
        if len(parts) == 1 and known == learners[0] and size <= _MOST_NUMBERS:
            candidate.searched += parts
        return joined_held([one.held for one in parts])

    def best(self, some: Sequence[Candidate], usual: Candidate, first: int | None = None) -> Candidate:
        """Return the candidate that loses least, or `usual` where its gain is not more than its error."""
        found = min(some, key=lambda one: one.loss(first))
        return found if found is usual or found.gain_over(usual, first).is_clear else usual

    def results(self, shares: Mapping[str, float], members: Mapping[str, int]) -> pandas.DataFrame:
        """Return a row for each candidate that was tried: chosen ones first by their share, then by loss.

        A gain is that over the first candidate, by as many learners of either. A loss is NaN where there were
        too few examples to hold any back.
        """
        import pandas as pd

        def row(one: Candidate) -> dict[str, Any]:
            usual = self.candidates[0]
            gain = one.gain_over(usual, min(one.learners, usual.learners))
            grown, loss, power = one.network.parameters, one.loss(), one.kinds[0].edge_power
            order = one.network.max_order if grown is None else grown.order
            return {
                "learner": one.name,
                "edge_power": math.nan if isinstance(power, str) else float(power),
                "order": order,
                "tau": math.nan if grown is None or order == 1 or grown.tau is None else float(grown.tau),
                "min_support": 1 if grown is None else grown.min_support,
                "nodes": one.network.n_nodes,
                "edges": one.network.n_edges,
                "learners": one.learners,
                "loss": loss if math.isfinite(loss) else math.nan,
                "gain": math.nan if one is usual else gain.mean,
                "standard_error": math.nan if one is usual else gain.error,
                "cpu_seconds": round(one.seconds, 3),
                "members": members.get(one.key, 0),
                "share": shares.get(one.key, 0.0),
                "chosen": members.get(one.key, 0) > 0,
            }

        tried = [one for one in self.candidates if one.learners]
        ordered = sorted(tried, key=lambda one: (-shares.get(one.key, 0.0), one.loss()))
        return pd.DataFrame([row(one) for one in ordered])
