"""The page of a result: what ``learn`` found goes to its run folder, and from there to HTML.

In: a result and its run folder. Out: the result with its page, which can be drawn again from the folder.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from honlearn.experiments.artefacts import plain_explanation
from honlearn.pipeline.entities import EntityPredictions
from honlearn.pipeline.outcome import Learned
from honlearn.report.build import build_report
from honlearn.results.artefacts import write_network
from honlearn.results.learned import Entity, LearnedFacts, write_learned
from honlearn.results.runs import read_run


def learned_page(learned: Learned, run: Path, title: str) -> Learned:
    """Return the result with its page."""
    digest = write_network(run, learned.network)
    facts = LearnedFacts(learned.headline, learned.summary, digest)
    if learned.entities is not None:
        classes = [str(name) for name in learned.entities.predictions.classes.tolist()]
        facts = replace(
            facts, classes=classes, alpha=learned.entities.alpha, entities=_rows(learned.entities)
        )
    write_learned(run, facts)
    return replace(learned, html=build_report(read_run(run), title=title))


def _rows(given: EntityPredictions) -> list[Entity]:
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
