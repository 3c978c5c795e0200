"""What a model should not be trusted with, in sentences for its card.

In: the task, the number of entities, and the facts of the fit. Out: sentences; each follows from the data or
from how the model works.
"""

from __future__ import annotations

from honlearn.errors import listed
from honlearn.tasks.fit_facts import FitFacts

# Fewer examples than these are too few to hold some back and learn from the rest.
FEW = 10

_OPTIMISTIC = (
    "Scores here are of examples that were held back while training and that also decided when to stop and "
    "what to choose, so they are somewhat optimistic, and intervals (pm: 95 %) do not count that; "
    "'honlearn evaluate' measures on test folds."
)
_BY_TASK = {
    "nodes": "Predictions are for the entities of its network; where these have few paths, little is known.",
    "links": "Probabilities are against as many unlinked pairs as linked ones: they rank pairs, and are not "
    "the share of all pairs that are linked.",
    "paths": "Entities and grams that the training paths did not have are left out of a prediction.",
}


def limits(task: str, n_entities: int, facts: FitFacts | None, *, scored: bool) -> list[str]:
    """Return the sentences, the ones about the data first; `scored` is whether the card has scores."""
    found = [] if facts is None else _of_data(task, n_entities, facts)
    if facts is None:
        found.append("What the model was trained on was not recorded; train it again to have it here.")
    return [*found, _BY_TASK[task], *([_OPTIMISTIC] if scored else [])]


def _of_data(task: str, n_entities: int, facts: FitFacts) -> list[str]:
    found = []
    if task == "nodes" and facts.examples < n_entities:
        found.append(f"{facts.examples:,} of {n_entities:,} entities had a label; the others are inferred.")
    few = {name: count for name, count in facts.classes.items() if count < FEW}
    if few and task != "links":
        named = listed((f"{name!r} ({count})" for name, count in few.items()), 5)
        some = "A class has" if len(few) == 1 else f"{len(few)} classes have"
        found.append(f"{some} fewer than {FEW} examples and will be predicted poorly: {named}.")
    if facts.classes and facts.examples and task != "links":
        name, most = max(facts.classes.items(), key=lambda item: item[1])
        found.append(
            f"Always predicting the most frequent class, {name!r}, would be right for "
            f"{most / facts.examples:.0%} of the examples."
        )
    return found
