"""A prediction for every entity, with its set, its reasons and what memory changed.

In: a fitted node classifier, the labels it was given, paths. Out: :class:`EntityPredictions`, whose table is
``predictions.csv``. Entities without a label come first, since their predictions are what is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.experiments.predictions import PROBABILITY, Predictions
from honlearn.paths.paths import Paths
from honlearn.results.learned import FIRST_ORDER

if TYPE_CHECKING:
    import pandas

    from honlearn.tasks.explain.value import Explanation

# Entities whose predictions are explained, and reasons of each kind.
EXPLAINED, REASONS = 400, 3
# Reasons of all kinds that stand in one line.
_IN_WORDS = 3
# Characters of a reason's name and of what supports it, in a cell of a table.
_NAME, _SUPPORT = 80, 200
BETWEEN = "|"


@dataclass(frozen=True)
class EntityPredictions:
    """Predictions for all entities of a network, those without a label first.

    Parameters
    ----------
    nodes : names of the entities [N].
    known : the label that each was given, None where there was none [N].
    predictions : classes, probabilities and p-values, in the order of `nodes`.
    alpha : how often a set may lack the true class.
    explanations : of some entities, by name.
    """

    nodes: tuple[str, ...]
    known: tuple[str | None, ...]
    predictions: Predictions
    alpha: float
    explanations: Mapping[str, Explanation]

    @property
    def sets(self) -> list[list[str]] | None:
        """The classes of each set, the most probable first; None where the model has no sets."""
        if self.predictions.p_values is None:
            return None
        return [[str(name) for name in one] for one in self.predictions.table(self.alpha)["set"]]

    @property
    def n_unlabelled(self) -> int:
        """How many entities had no label."""
        return sum(label is None for label in self.known)

    def table(self) -> pandas.DataFrame:
        """Return a row for each entity.

        Columns: node, known_label, label (the prediction), confidence, set, set_size, abstain, in_training,
        without_memory (the probability of the predicted class on the first-order network), reasons, and one
        ``p_<class>`` per class.
        """
        found = self.predictions.table(None if self.predictions.p_values is None else self.alpha)
        probabilities = [name for name in found.columns if name.startswith(PROBABILITY)]
        found.insert(1, "known_label", list(self.known))
        if "set" in found:
            found["set"] = [BETWEEN.join(map(str, one)) for one in found["set"]]
        explained = [self.explanations.get(node) for node in self.nodes]
        found["without_memory"] = [None if one is None else _without_memory(one) for one in explained]
        found["reasons"] = ["" if one is None else reasons_in_words(one) for one in explained]
        head = ["node", "known_label", "label", "confidence"]
        head += [name for name in ("set", "set_size", "abstain", "in_training") if name in found]
        head += ["without_memory", "reasons"]
        rest = [name for name in found.columns if name not in (*head, *probabilities)]
        return found[[*head, *rest, *probabilities]]


def predict_entities(
    model: Any, nodes: list[str], labels: list[str], alpha: float, paths: Paths | None
) -> EntityPredictions:
    """Return the predictions for every entity of the model's network."""
    known = dict(zip(nodes, labels, strict=True))
    every = sorted(model.network_.vocabulary.names, key=lambda name: (name in known, name))
    predictions = Predictions.of(model, every)
    explained = {}
    if hasattr(model, "explanations"):
        asked = _to_explain(every, known, predictions.proba.max(1))
        explained = {one.subject: one for one in model.explanations(asked, paths=paths, top=REASONS)}
    given = tuple(known.get(name) for name in every)
    return EntityPredictions(tuple(every), given, predictions, alpha, explained)


def _to_explain(names: list[str], known: Mapping[str, str], sure: NDArray[np.float32]) -> list[str]:
    """Return the entities to explain: without a label first, then the least sure."""
    labelled = np.array([name in known for name in names])
    return [names[i] for i in np.lexsort((sure, labelled))[:EXPLAINED]]


def _without_memory(one: Explanation) -> float | None:
    return next((other.probability for other in one.references if other.name == FIRST_ORDER), None)


def cut_short(text: str, most: int) -> str:
    """Return a text of at most about `most` characters, which ends where one of its parts does if it can.

    >>> cut_short("A → B 7 times; in 6 paths: A → B → C once", 30)
    'A → B 7 times; …'
    """
    if len(text) <= most:
        return text
    whole = text[: most - 3].rpartition("; ")[0]
    return f"{whole}; …" if 3 * len(whole) > most else f"{text[: most - 1]}…"


def reasons_in_words(one: Explanation) -> str:
    """Return the strongest reasons in one line: what, by how much, and the paths behind it, not too long."""
    ranked = sorted(one.reasons, key=lambda reason: -abs(one.moved(reason)))[:_IN_WORDS]
    parts = (
        f"{cut_short(reason.name, _NAME)} {one.moved(reason):+.2f}"
        + (f" ({cut_short(reason.support, _SUPPORT)})" if reason.support else "")
        for reason in ranked
    )
    return "; ".join(parts)
