"""Conclusions from paired tests: which models are better, which are worse, and which tie.

In: the results of a data set and task. Out: plain values, which ``templates/conclusions.md.j2`` puts into
words. A difference that the corrected resampled t-test does not separate from 0 at the 5 % level is a tie,
whichever model it favours.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from honlearn.experiments.comparison import COLUMN, INPUT
from honlearn.experiments.measure import SCORE, Measured
from honlearn.experiments.published import REPETITIONS, find, model_label
from honlearn.experiments.significance import Paired, gap, paired
from honlearn.pages.run_folders import ModelResults, Results

# The best-known table of each task in which a published value is looked up, the fuller one first.
DEGREE_COLUMN = "AUPRC, degree-corrected"
PUBLISHED = {"nodes": ("table-6", "table-2"), "links": ("table-7", "table-3")}


@dataclass(frozen=True)
class Difference:
    """A model or a data set by its name, and a difference of scores."""

    name: str
    value: float


@dataclass(frozen=True)
class Conclusions:
    """What the tests of one data set and task give.

    `memory` is the test of DGE-bag on the higher-order against the first-order network. `others` are the
    differences of the reference to other models, by verdict; `published` those of every model to its
    published value, by ``"above"``, ``"within"`` and ``"below"``. `gain` is what the ensemble adds to its
    mean learner, with the share of a kernel where `has_kernel`.
    """

    score: str
    column: str
    reference: str
    memory: Paired | None
    others: Mapping[str, Sequence[Difference]]
    gain: float | None
    has_kernel: bool
    published: Mapping[str, Sequence[Difference]]


def name_of(model: ModelResults) -> str:
    """Return a model as the paper writes it, and its input."""
    return f"{model_label(model.model)} on {INPUT[model.input]}"


def reference_of(results: Results) -> ModelResults | None:
    """Return what others are tested against: DGE-bag on G2, else on G1, else the first model."""
    for name in ("gk", "g1"):
        model = results.find("dge-bag", name)
        if model is not None:
            return model
    return next(iter(results.models), None)


def column_of(results: Results) -> str:
    """Return what the main score of a data set and task is called."""
    return DEGREE_COLUMN if results.score == "degree_auprc" else COLUMN[results.task]


def conclude(results: Results) -> Conclusions | None:
    """Return the conclusions of a data set and task; None where nothing was measured."""
    reference = reference_of(results)
    if reference is None:
        return None
    gains = [record.scores.get("gain") for record in reference.records]
    known = [gain for gain in gains if gain is not None]
    return Conclusions(
        score=results.score,
        column=column_of(results),
        reference=name_of(reference),
        memory=_memory(results),
        others=_against_others(results, reference),
        gain=statistics.fmean(known) if known else None,
        has_kernel=bool(reference.records[0].configuration.parameters.get("kernel_share")),
        published=_against_published(results),
    )


def _memory(results: Results) -> Paired | None:
    """Test whether the higher-order network helps DGE-bag, all else equal; None where that is unknown."""
    with_memory, without = results.find("dge-bag", "gk"), results.find("dge-bag", "g1")
    if with_memory is None or without is None:
        return None
    test = paired(with_memory.records, without.records, results.score)
    return None if test is None or test.p_value is None else test


def _against_others(results: Results, reference: ModelResults) -> dict[str, list[Difference]]:
    """Return the models that the reference is better than, ties with and is worse than."""
    groups: dict[str, list[Difference]] = {"better": [], "tie": [], "worse": []}
    score = results.score
    for model in results.models:
        if model is reference or model.model == reference.model:
            continue
        test = paired(reference.records, model.records, score)
        if test is not None and test.p_value is not None:
            groups[test.verdict(score)].append(Difference(name_of(model), test.difference))
    return groups


def _against_published(results: Results) -> dict[str, list[Difference]]:
    """Return the models above, within two standard errors of, and below their published values."""
    groups: dict[str, list[Difference]] = {"above": [], "within": [], "below": []}
    for model in results.models:
        cell = printed(results, model)
        if cell is None or not model.has(SCORE[results.task]):
            continue
        mean, deviation = Measured(model.records).spread(SCORE[results.task])
        between = gap(mean, deviation, len(model.records), cell[0], cell[1], REPETITIONS)
        if between.words:
            groups[between.words].append(Difference(name_of(model), between.difference))
    return groups


def printed(results: Results, model: ModelResults) -> tuple[float, float | None] | None:
    """Return the published mean and deviation of a model, or None where the paper has none."""
    for table in PUBLISHED[results.task]:
        cell = find(table, results.data, COLUMN[results.task], model.model, model.input)
        if cell is not None:
            return cell.value, cell.deviation
    return None


def across(everything: Sequence[Results]) -> dict[str, dict[str, list[Difference]]]:
    """Return for each task the data sets on which memory helps, ties or harms; only tasks that have any."""
    found: dict[str, dict[str, list[Difference]]] = {}
    for task in ("nodes", "links"):
        groups: dict[str, list[Difference]] = {"better": [], "tie": [], "worse": []}
        for results in everything:
            test = _memory(results) if results.task == task else None
            if test is not None:
                groups[test.verdict(SCORE[task])].append(Difference(results.data, test.difference))
        if any(groups.values()):
            found[task] = groups
    return found
