"""Conclusions in words, computed from paired tests: what is better, what is worse, and what ties.

In: the results of a data set and task. Out: sentences. A difference that the corrected resampled t-test does
not separate from 0 at the 5 % level is called a tie, whoever it favours.
"""

from __future__ import annotations

from collections.abc import Sequence

from honlearn.experiments.comparison import COLUMN, INPUT
from honlearn.experiments.measure import SCORE, Measured
from honlearn.experiments.published import REPETITIONS, find, model_label
from honlearn.experiments.run_folders import ResultRow, Results
from honlearn.experiments.significance import LEVEL, Paired, gap, paired
from honlearn.experiments.tables import p_text, signed
from honlearn.results.metrics import LEAST_PAIRS

# The best-known table of each task in which a published value is looked up, the fuller one first.
PUBLISHED = {"nodes": ("table-6", "table-2"), "links": ("table-7", "table-3")}


def name_of(row: ResultRow) -> str:
    """Return a row in words: the model as the paper writes it, and its input."""
    return f"{model_label(row.model)} on {INPUT[row.input]}"


def reference_of(results: Results) -> ResultRow | None:
    """Return what others are tested against: DGE-bag on G2, else on G1, else the first row."""
    for name in ("gk", "g1"):
        row = results.find("dge-bag", name)
        if row is not None:
            return row
    return next(iter(results.rows), None)


def sentences(results: Results) -> list[str]:
    """Return what can be said of a data set and task."""
    reference, score = reference_of(results), SCORE[results.task]
    if reference is None:
        return []
    said = [_memory(results, score), _against_others(results, reference, score), _gain(results, reference)]
    said.append(_against_published(results, reference, score))
    return [sentence for sentence in said if sentence]


def _memory(results: Results, score: str) -> str:
    """Say whether the higher-order network helps DGE-bag, all else equal."""
    with_memory, without = results.find("dge-bag", "gk"), results.find("dge-bag", "g1")
    if with_memory is None or without is None:
        return ""
    test = paired(with_memory.records, without.records, score)
    if test is None or test.p_value is None:
        return ""
    words = {
        "better": "helps: DGE-bag is better on G2 than on G1",
        "worse": "harms: DGE-bag is worse on G2 than on G1",
        "tie": "makes no difference that can be told: DGE-bag ties on G2 and G1",
    }
    return f"Memory {words[test.verdict(score)]} ({_figures(test, results.task)})."


def _figures(test: Paired, task: str) -> str:
    p = p_text(test.p_value)
    shown = f"p {p}" if p.startswith("<") else f"p = {p}"
    return f"{signed(test.difference)} {COLUMN[task]}, {shown}, {test.pairs} pairs"


def _against_others(results: Results, reference: ResultRow, score: str) -> str:
    """Say which rows the reference beats, ties with, and loses to."""
    groups: dict[str, list[str]] = {"better": [], "tie": [], "worse": []}
    for row in results.rows:
        if row is reference or row.model == reference.model:
            continue
        test = paired(reference.records, row.records, score)
        if test is not None and test.p_value is not None:
            groups[test.verdict(score)].append(f"{name_of(row)} ({signed(test.difference)})")
    parts = []
    for verdict, words in (("better", "is better than"), ("tie", "ties with"), ("worse", "is worse than")):
        if groups[verdict]:
            parts.append(f"{words} {_joined(groups[verdict])}")
    return f"{name_of(reference)} {'; '.join(parts)}." if parts else ""


def _gain(results: Results, reference: ResultRow) -> str:
    """Say what the ensemble adds to its mean learner."""
    gains = [record["scores"].get("gain") for record in reference.records]
    known = [gain for gain in gains if gain is not None]
    if not known:
        return ""
    mean, column = sum(known) / len(known), COLUMN[results.task]
    if reference.records[0]["configuration"]["parameters"].get("kernel_share"):
        return f"With the kernel's share the ensemble adds {signed(mean)} {column} to its mean learner alone."
    return f"The ensemble adds {signed(mean)} {column} to its mean learner."


def _against_published(results: Results, reference: ResultRow, score: str) -> str:
    """Say how ours stand to the published values, row by row in three groups."""
    groups: dict[str, list[str]] = {"above": [], "within": [], "below": []}
    for row in results.rows:
        cell = printed(results, row)
        if cell is None:
            continue
        mean, deviation = Measured(row.records).spread(score)
        between = gap(mean, deviation, len(row.records), cell[0], cell[1], REPETITIONS)
        if between.words:
            groups[between.words].append(f"{name_of(row)} ({signed(between.difference)})")
    words = {"above": "above it", "within": "within two standard errors of it", "below": "below it"}
    parts = [f"{words[key]}: {_joined(names)}" for key, names in groups.items() if names]
    return f"Against the published value, {'; '.join(parts)}." if parts else ""


def printed(results: Results, row: ResultRow) -> tuple[float, float | None] | None:
    """Return the published mean and deviation of a row, or None where the paper has none."""
    for table in PUBLISHED[results.task]:
        cell = find(table, results.data, COLUMN[results.task], row.model, row.input)
        if cell is not None:
            return cell.value, cell.deviation
    return None


def overall(everything: Sequence[Results]) -> list[str]:
    """Return what holds across data sets: where memory helps, ties or harms."""
    said = []
    for task, words in (("nodes", "Node classification"), ("links", "Link prediction")):
        groups: dict[str, list[str]] = {"better": [], "tie": [], "worse": []}
        for results in everything:
            first, second = results.find("dge-bag", "gk"), results.find("dge-bag", "g1")
            if results.task != task or first is None or second is None:
                continue
            test = paired(first.records, second.records, SCORE[task])
            if test is not None and test.p_value is not None:
                entry = f"{results.data} ({signed(test.difference)})"
                groups[test.verdict(SCORE[task])].append(entry)
        names = {"better": "better with memory on", "tie": "a tie on", "worse": "worse with memory on"}
        parts = [f"{names[key]} {_joined(found)}" for key, found in groups.items() if found]
        if parts:
            said.append(f"{words}, DGE-bag on G2 against the same on G1: {'; '.join(parts)}.")
    if said:
        said.append(
            f"Better and worse mean p < {LEVEL:g} by the corrected resampled t-test over at least "
            f"{LEAST_PAIRS} folds and seeds; everything else is a tie."
        )
    return said


def _joined(names: Sequence[str]) -> str:
    """Return names as a list in words.

    >>> _joined(["a", "b", "c"])
    'a, b and c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
