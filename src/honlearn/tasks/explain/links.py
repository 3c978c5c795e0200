"""Why a link is expected or not: what its probability would be without each memory and neighbour of its ends.

In: a fitted :class:`~honlearn.tasks.links.DGELinkPredictor` and two names. Out: an explanation by deletion.
Each reason is taken out of a copy of the network, which the same learners then read, so that this holds for
every kind of learner and of pair model. The strongest reasons of a kind, and all others that were tried as
one, are the players of a game, whose Shapley values are exact; every coalition takes a network, so players
are few. The count model is linear, so that each count has its exact part of that model's logit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from honlearn.ensemble.count_model import CountModel
from honlearn.errors import InputError, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.sampling.pair_counts import PairCounts
from honlearn.tasks.explain.classifier import check_paths
from honlearn.tasks.explain.naming import Naming
from honlearn.tasks.explain.players import candidates, family
from honlearn.tasks.explain.shapley import Coalitions, Values, shapley_values
from honlearn.tasks.explain.value import Explanation, Reason, Reference
from honlearn.tasks.link_split import hide_pairs, with_edges

if TYPE_CHECKING:
    from honlearn.tasks.links import DGELinkPredictor

Score = Callable[[HigherOrderNetwork], float]
# What the probability is without some nodes [k] or pairs [k, 2].
Without = Callable[[NDArray[np.int32]], float]

# For each reason that is shown, so many are tried at either end, the heaviest.
_TRIED = 2
# Reasons of a kind that are players of their own.
PLAYERS = 3


class Tried(NamedTuple):
    """What is taken out, nodes [1] or pairs [1, 2], and a way to name it as a reason."""

    what: NDArray[np.int32]
    reason: Callable[[float, float | None], Reason]


def explain_link(
    model: DGELinkPredictor, source: object, target: object, paths: Paths | None, top: int
) -> Explanation:
    """Return why the probability of a link from `source` to `target` is what it is."""
    owner = "DGELinkPredictor.explain"
    top = check_integer(owner, "top", top, 1)
    check_paths(owner, paths)
    network = model.network_
    ends = tuple(int(code) for code in network.vocabulary.codes([str(source), str(target)]))
    if ends[0] == ends[1]:
        raise InputError(f"{owner} takes two entities. Got {source!r} twice")
    names = tuple(network.vocabulary[code] for code in ends)

    def score(edited: HigherOrderNetwork) -> float:
        return float(model._on_network(edited).predict_proba([names])[0, 1])

    probability = float(model.predict_proba([names])[0, 1])
    naming = Naming(network, paths, model.classes_)
    memories, near = list(_memories(network, ends, top, naming)), list(_neighbors(network, ends, top, naming))
    reasons = [
        *_strongest(probability, memories, lambda nodes: score(_without_rows(network, nodes)), top),
        *_strongest(probability, near, lambda pairs: score(hide_pairs(network, pairs)), top),
    ]
    references = list(_references(network, ends, score))
    if model.count_model_ is not None:
        of_counts = _PairOfCounts.of(model, model.count_model_, names, probability)
        references += of_counts.references()
        reasons += of_counts.reasons(top)
    return Explanation(" → ".join(names), "linked", probability, tuple(references), tuple(reasons))


def _strongest(probability: float, tried: list[Tried], without: Without, top: int) -> list[Reason]:
    """Return the `top` reasons that move the probability most, the first ones with their Shapley values."""
    found = [(one, without(one.what)) for one in tried]
    found.sort(key=lambda pair: -abs(probability - pair[1]))
    values = _shapley(probability, [one.what for one, _ in found], [left for _, left in found], without)
    named = [one.reason(left, value) for (one, left), value in zip(found, values, strict=True)]
    return named[:top]


def _shapley(
    probability: float, what: list[NDArray[np.int32]], alone: list[float], without: Without
) -> list[float | None]:
    """Return the Shapley values of the strongest reasons, None for the others, which are one player."""
    head = [[one] for one in what[:PLAYERS]]
    rest = what[PLAYERS:]
    players = [*head, rest] if rest else head
    everyone = (1 << len(players)) - 1
    known = {everyone: probability}
    known |= {everyone ^ (1 << i): left for i, left in enumerate(alone[:PLAYERS])}

    def value(coalitions: Coalitions) -> Values:
        out = []
        for coalition in coalitions.tolist():
            if coalition not in known:
                gone = [one for i, player in enumerate(players) if not coalition >> i & 1 for one in player]
                known[coalition] = without(np.concatenate(gone))
            out.append(known[coalition])
        return np.array(out)

    values = shapley_values(len(players), value)[: len(head)].tolist()
    return [*values, *[None] * len(rest)]


def _memories(
    network: HigherOrderNetwork, ends: tuple[int, ...], top: int, naming: Naming
) -> Iterator[Tried]:
    """Yield the contexts of either end: without one, nothing leads out of it."""
    probabilities = network.relative_probabilities()
    for entity in ends:
        relatives = family(network, probabilities, entity)
        for place in np.argsort(-relatives.weights, kind="stable")[: _TRIED * top + 1].tolist():
            if len(relatives.grams[place]) > 1:
                node = np.asarray(relatives.nodes[[place]], np.int32)
                yield Tried(node, partial(naming.memory, relatives.grams[place]))


def _neighbors(
    network: HigherOrderNetwork, ends: tuple[int, ...], top: int, naming: Naming
) -> Iterator[Tried]:
    """Yield the neighbours of either end: without one, the edges between the two are gone."""
    probabilities = network.relative_probabilities()
    for entity, other in (ends, ends[::-1]):
        groups = candidates(entity, [network], [family(network, probabilities, entity)])
        heaviest = [int(member[0]) for member in groups.members if len(member) == 1]
        for near in [one for one in heaviest if one != other][: _TRIED * top]:
            yield Tried(np.array([[entity, near]], np.int32), partial(naming.edge, entity, near))


class _PairOfCounts(NamedTuple):
    """What the count model makes of one pair: its share, its logit, and the part of each count in it, [C]."""

    share: float
    learned: float
    logit: float
    parts: NDArray[np.float64]

    @classmethod
    def of(
        cls, model: DGELinkPredictor, counts: CountModel, names: tuple[str, ...], probability: float
    ) -> _PairOfCounts:
        """Ask a fitted model; `probability` is its prediction for the pair."""
        pairs, inference = model._inference([names], "explain")
        assert inference.view is not None
        features, _ = inference.view.extras(pairs, inference.scaling)
        assert features is not None
        parts = counts.coefficients * features[0, : len(counts.coefficients)]
        logit = float(counts.logits(features)[0])
        left = 1.0 - counts.share
        learned = (probability - counts.share * float(special.expit(logit))) / left if left else 0.0
        # The difference of two that are rounded may be just outside.
        return cls(counts.share, min(max(learned, 0.0), 1.0), logit, parts)

    def references(self) -> list[Reference]:
        """Return what the count model and the learners predict by themselves."""
        found = [Reference(f"by counts alone (share {self.share:.2f})", float(special.expit(self.logit)))]
        return found if self.share == 1 else [*found, Reference("by the learners alone", self.learned)]

    def reasons(self, top: int) -> list[Reason]:
        """Return the counts with the largest parts; without one, it is the mean of the training pairs."""
        out = []
        for place in np.argsort(-np.abs(self.parts), kind="stable")[:top].tolist():
            part = float(self.parts[place])
            mixed = (1 - self.share) * self.learned + self.share * float(special.expit(self.logit - part))
            name = PairCounts.names[place].replace("_", " ")
            out.append(Reason("count", name, None, mixed, logit=part))
        return out


def _references(network: HigherOrderNetwork, ends: tuple[int, ...], score: Score) -> Iterator[Reference]:
    if not network.n_conditional:
        return
    contexts = np.flatnonzero((network.order > 1) & np.isin(network.base, ends))
    if len(contexts):
        yield Reference("without memory (base nodes alone)", score(_without_rows(network, contexts)))
    first = network.first_order()
    if first.n_entities == network.n_entities:
        yield Reference("on the first-order network", score(first))


def _without_rows(network: HigherOrderNetwork, nodes: NDArray[np.integer]) -> HigherOrderNetwork:
    """Return the network without the edges that lead out of these nodes: by Eq. 3 they are never drawn."""
    return with_edges(network, ~np.isin(network.sources, nodes))
