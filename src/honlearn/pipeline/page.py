"""The page of a result: what ``learn`` found goes to its run folder, and from there to HTML.

In: a result and its run folder. Out: the result with its page, which can be drawn again from the folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from honlearn.errors import InputError
from honlearn.experiments.artefacts import plain_explanation
from honlearn.experiments.next_steps import NextData, keep_memory
from honlearn.paths.paths import Paths
from honlearn.pipeline.entities import EntityPredictions
from honlearn.pipeline.outcome import Learned
from honlearn.reporting.build import build_report
from honlearn.results.artefacts import Memory, write_network
from honlearn.results.learned import Entity, LearnedFacts, write_learned
from honlearn.results.records import paths_digest
from honlearn.results.runs import read_run

# Parts of the paths, each held out once.
_PARTS = 5


def learned_page(learned: Learned, run: Path, title: str) -> Learned:
    """Return the result with its page."""
    digest = write_network(run, learned.network)
    facts = LearnedFacts(learned.headline, learned.summary, digest, paths=paths_digest(learned.paths))
    if learned.entities is not None:
        classes = [str(name) for name in learned.entities.predictions.classes.tolist()]
        facts = replace(
            facts, classes=classes, alpha=learned.entities.alpha, entities=entity_rows(learned.entities)
        )
    write_learned(run, facts)
    return replace(learned, html=build_report(read_run(run), title=title))


def held_out_memory(paths: Paths, order: int, run: Path, seed: int) -> Memory | None:
    """Return how much memory helps on held-out paths, and keep it in the run; None for too few paths."""
    try:
        data = NextData.by_path(paths, min(_PARTS, max(paths.total, 2)), seed)
    except InputError:
        return None
    return keep_memory(data, order, run)


def entity_rows(given: EntityPredictions) -> list[Entity]:
    """Return the entities as a run keeps them and a page shows them."""
    sets = given.sets
    found = []
    for i, (node, known) in enumerate(zip(given.nodes, given.known, strict=True)):
        explanation = given.explanations.get(node)
        found.append(
            Entity(
                node,
                known,
                [round(float(p), 5) for p in given.predictions.proba[i]],
                None if sets is None else sets[i],
                None if explanation is None else plain_explanation(explanation),
            )
        )
    return found
