"""The pool of ``learner="auto"``: which learners, on which networks, with which shares.

In: networks with what learners read of their entities, the path kernel's prediction on each, and a choice
(:mod:`honlearn.tasks.choice`). Out: components, each with its number of learners and its share, and the share
of the kernel. The usual learner is trained on every network, other kinds on the first two; what gets no share
leaves; edge powers and the slower kinds are tried only for what stays; the rest of the learners goes to what
stays in the end. Stages end as soon as nothing is left to gain (:mod:`honlearn.tasks.remaining`).

A candidate stays by its share in the stacked prediction (:mod:`honlearn.tasks.shares`), not by its loss
alone: a weaker learner that errs elsewhere helps more than a second good one that errs on the same examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import KINDS, Learner
from honlearn.tasks.choice import Candidate, Choice
from honlearn.tasks.held import log_losses, pooled_votes
from honlearn.tasks.remaining import is_solved
from honlearn.tasks.shares import apportion, stacked_shares, with_less_kernel

USUAL_KIND, OTHER_KINDS = "sage", ("gcn", "gat")
# Networks on which other kinds are tried: first order, and the best one with memory.
_OTHER_PLACES = 2
# Ten times slower than the convolution that it refines, so it is tried only where that one has such a share.
LATER_KIND, REFINED, _REFINED_SHARE = "gcnii", "gcn", 0.2
# Less than this is not worth learners of its own.
_LEAST_SHARE = 0.05


@dataclass(frozen=True, eq=False)
class Place:
    """A network of the pool."""

    key: str
    network: HigherOrderNetwork


@dataclass(frozen=True, eq=False)
class Selected:
    """What a bag is made of: candidates with learners and shares [M], and the share of each kernel."""

    components: list[tuple[Candidate, int, float]]
    kernel_shares: Mapping[str, float]

    @property
    def kernel_share(self) -> float:
        """The share of all kernels."""
        return float(sum(self.kernel_shares.values()))


@dataclass(eq=False)
class Pool:
    """Candidates on some networks, and path kernels: their probabilities of the true class, [n] by name.

    `round_size` learners in a row hold back every example once.
    """

    choice: Choice
    places: Sequence[Place]
    kernels: Mapping[str, NDArray[np.float64]]
    weights: NDArray[np.float64]
    n_learners: int
    round_size: int
    seed: int
    kernel_share: float | None = None
    _staying: list[Candidate] = field(default_factory=list)

    def select(self) -> Selected:
        """Train, compare and drop candidates until the bag is found."""
        usual = self._candidates((USUAL_KIND,), self.places)
        self.choice.train(usual, self.round_size, "choosing learners")
        if self._is_solved(usual):
            self._stage(usual, "choosing learners")
            return self._filled()
        self._stage(usual + self._candidates(OTHER_KINDS, self.places[:_OTHER_PLACES]), "choosing learners")
        if not self._is_solved(self._staying):
            self._choose_powers()
            self._stage(self._refined(), "choosing learners")
        return self._filled()

    # --- stages --------------------------------------------------------------------------------------

    def _stage(self, new: Sequence[Candidate], label: str) -> None:
        """Train a round of new candidates; those that have no share of the prediction leave."""
        self.choice.train(new, self.round_size, label)
        self._staying += [one for one in new if one not in self._staying]
        shares, _ = self._shares(self._staying)
        order = np.argsort(-shares, kind="stable")
        staying = [self._staying[i] for i in order if shares[i] >= _LEAST_SHARE]
        self._staying = staying or [self._staying[order[0]]]
        for one in self.choice.candidates:
            if one not in self._staying:
                one.searched.clear()

    def _candidates(self, kinds: Sequence[str], places: Sequence[Place]) -> list[Candidate]:
        return [self._candidate(KINDS[kind](), place) for kind in kinds for place in places]

    def _candidate(self, learner: Learner, place: Place) -> Candidate:
        power = learner.power
        return self.choice.add(
            f"{learner.kind} {power:g} {place.key}", place.network, (learner.resolved("nodes"),)
        )

    def _choose_powers(self) -> None:
        """Try edge powers for the candidate of each kind with the largest share, then for the others.

        The others are tried with the power that was better there, if any was.
        """
        before, leaders = list(self._staying), dict[str, Candidate]()
        for one in before:
            leaders.setdefault(one.name, one)
        tried = {name: self._powers(one) for name, one in leaders.items()}
        self._stage([one for some in tried.values() for one in some], "choosing edge powers")
        more = []
        for one in before:
            leader = leaders[one.name]
            best = self.choice.best([leader, *tried[one.name]], leader, self.round_size)
            if one is not leader and best is not leader:
                more.append(self._candidate(best.kinds[0], self._place(one)))
        self._stage(more, "choosing edge powers")

    def _powers(self, one: Candidate) -> list[Candidate]:
        """Return a candidate with edge powers of 0 and of twice its own.

        Where all edges have one weight, its power makes no difference.
        """
        (kind,) = one.kinds
        weights = one.network.weights
        if not kind.reads_weights or not len(weights) or not np.ptp(weights) > 0:
            return []
        powers = (0.0, 2 * kind.power)
        return [self._candidate(KINDS[kind.kind](edge_power=power), self._place(one)) for power in powers]

    def _refined(self) -> list[Candidate]:
        """Return deeper convolutions where plain ones matter: on their network, with their best power."""
        shares, _ = self._shares(self._staying)
        plain = [one.kinds[0].kind == REFINED for one in self._staying]
        if shares[plain].sum() < _REFINED_SHARE:
            return []
        # Those that stay are in the order of their shares.
        largest: dict[int, Candidate] = {}
        for one, is_plain in zip(self._staying, plain, strict=True):
            if is_plain:
                largest.setdefault(id(one.network), one)
        return [
            self._candidate(KINDS[LATER_KIND](edge_power=one.kinds[0].power), self._place(one))
            for one in largest.values()
        ]

    def _place(self, candidate: Candidate) -> Place:
        return next(place for place in self.places if place.network is candidate.network)

    def _is_solved(self, some: Sequence[Candidate]) -> bool:
        """Return whether the prediction of these candidates and the kernel leaves nothing to gain."""
        shares, of_kernel = self._shares(some)
        given = [pooled_votes(one.votes()) for one in some]
        given += list(self.kernels.values())
        mixed = np.einsum("m,mn->n", np.concatenate([shares, of_kernel]), np.stack(given))
        return is_solved(log_losses(mixed))

    # --- shares --------------------------------------------------------------------------------------

    def _shares(self, some: Sequence[Candidate]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the shares of these candidates and those of the kernels."""
        votes, kernels = [pooled_votes(one.votes()) for one in some], list(self.kernels.values())
        if self.kernel_share is not None or not kernels:
            fixed = self.kernel_share or 0.0
            among = stacked_shares(kernels, self.weights, self.seed) if kernels else np.zeros(0)
            return (1 - fixed) * stacked_shares(votes, self.weights, self.seed), fixed * among
        shares = stacked_shares(votes + kernels, self.weights, self.seed)
        shares = with_less_kernel(shares, len(some))
        return shares[: len(some)], shares[len(some) :]

    def _filled(self) -> Selected:
        """Give the learners to the candidates that stay, train what is missing, and fix the shares."""
        staying = self._staying
        while True:
            shares, _ = self._shares(staying)
            counts = apportion(np.maximum(shares, 1e-9), self.n_learners)
            if (counts > 0).all():
                break
            staying = [one for one, count in zip(staying, counts, strict=True) if count]
        for one, count in zip(staying, counts.tolist(), strict=True):
            for upto in range(one.learners, count, self.round_size):
                self.choice.train([one], min(upto + self.round_size, count), "training more learners")
        shares, of_kernel = self._shares(staying)
        parts = list(zip(staying, counts.tolist(), shares.tolist(), strict=True))
        return Selected(parts, dict(zip(self.kernels, of_kernel.tolist(), strict=True)))
