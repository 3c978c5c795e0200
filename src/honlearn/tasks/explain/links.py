"""Why a link is expected or not: what its probability would be without each memory and neighbour of its ends.

In: a fitted :class:`~honlearn.tasks.links.DGELinkPredictor` and two names. Out: an explanation by deletion.
Each reason is taken out of a copy of the network, which the same learners then read, so that this holds for
every kind of learner and of pair model. Deletions are one at a time: values over coalitions would take a
network for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.tasks.explain.classifier import check_paths
from honlearn.tasks.explain.naming import Naming
from honlearn.tasks.explain.players import candidates, family
from honlearn.tasks.explain.value import Explanation, Reason, Reference
from honlearn.tasks.link_split import hide_pairs, with_edges

if TYPE_CHECKING:
    from honlearn.tasks.links import DGELinkPredictor

Score = Callable[[HigherOrderNetwork], float]

# For each reason that is shown, so many are tried at either end, the heaviest.
_TRIED = 2


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
    reasons = [
        *_strongest(probability, _memories(network, ends, top, naming, score), top),
        *_strongest(probability, _neighbors(network, ends, top, naming, score), top),
    ]
    references = list(_references(network, ends, score))
    return Explanation(" → ".join(names), "linked", probability, tuple(references), tuple(reasons))


def _strongest(probability: float, reasons: Iterator[Reason], top: int) -> list[Reason]:
    return sorted(reasons, key=lambda one: -abs(probability - one.without))[:top]


def _memories(
    network: HigherOrderNetwork, ends: tuple[int, ...], top: int, naming: Naming, score: Score
) -> Iterator[Reason]:
    """Yield the contexts of either end with the probability without each: nothing leads out of it."""
    probabilities = network.relative_probabilities()
    for entity in ends:
        relatives = family(network, probabilities, entity)
        for place in np.argsort(-relatives.weights, kind="stable")[: _TRIED * top + 1].tolist():
            if len(relatives.grams[place]) > 1:
                edited = _without_rows(network, relatives.nodes[[place]])
                yield naming.memory(relatives.grams[place], score(edited))


def _neighbors(
    network: HigherOrderNetwork, ends: tuple[int, ...], top: int, naming: Naming, score: Score
) -> Iterator[Reason]:
    """Yield the neighbours of either end with the probability without the edges between the two."""
    probabilities = network.relative_probabilities()
    for entity, other in (ends, ends[::-1]):
        groups = candidates(entity, [network], [family(network, probabilities, entity)])
        heaviest = [int(member[0]) for member in groups.members if len(member) == 1]
        for near in [one for one in heaviest if one != other][: _TRIED * top]:
            edited = hide_pairs(network, np.array([[entity, near]], np.int32))
            yield naming.edge(entity, near, score(edited))


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
