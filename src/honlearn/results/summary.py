"""Summary of a run: mean and deviation over folds and seeds for each (model, input).

In: records. Out: plain values, each model compared with the first by the corrected resampled t-test, and the
files ``summary.csv`` and ``summary.json``.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from honlearn.results.calibration import ANSWERED, SET_SCORES, coverage_interval
from honlearn.results.metrics import corrected_t_test, mean_and_deviation
from honlearn.results.record import Record
from honlearn.writing.atomic import atomic_text

SCORES = (
    *("micro_f1", "macro_f1", "log_loss", "accuracy", "single_micro_f1", "gain", "disagreement"),
    *("ece", "ece_of_noise", "brier", *(f"accuracy_of_{share}" for share in ANSWERED)),
    *SET_SCORES,
)


def summarise(records: Iterable[Record], scores: Sequence[str] = SCORES) -> list[dict[str, Any]]:
    """Return one summary for each (model, input) in the order in which they come.

    A model whose learner is not the usual one is called after both, ``"dge-bag (gat)"``.
    It has ``<score>_mean`` and ``<score>_std`` (over folds and seeds, n − 1; None for a single record),
    for coverages also ``_low`` and ``_high``, their binomial interval (95 %) over all test nodes (each once,
    however many seeds tested it), the number of records, and ``p_value``: of the first of `scores` (micro F1
    for nodes) against the first model, paired by seed and fold; None for the first model and where fewer
    than two pairs are there.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.configuration.name, record.configuration.input), []).append(record)
    summaries: list[dict[str, Any]] = []
    for (model, name), group in groups.items():
        summary: dict[str, Any] = {"model": model, "input": name, "records": len(group)}
        values = {key: [record.scores.get(key) for record in group] for key in scores}
        values["fit_seconds"] = [record.times.fit_seconds for record in group]
        values["fit_cpu_seconds"] = [record.times.fit_cpu_seconds for record in group]
        for key, known in values.items():
            there = [value for value in known if value is not None]
            mean, deviation = mean_and_deviation(there) if there else (None, None)
            summary |= {f"{key}_mean": mean, f"{key}_std": deviation}
        for key in (key for key in scores if key.startswith("coverage_")):
            low, high = _pooled_interval(group, key)
            summary |= {f"{key}_low": low, f"{key}_high": high}
        summary["p_value"] = compare(group, next(iter(groups.values())), scores[0]) if summaries else None
        summaries.append(summary)
    return summaries


def _pooled_interval(group: Sequence[Record], score: str) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a coverage over the test nodes of all records that have it.

    Another seed tests the same nodes again, which are no new observations: hits and nodes are means over
    seeds.
    """
    known = [
        (share, record.sizes.test, record.configuration.seed)
        for record in group
        if (share := record.scores.get(score)) is not None and record.sizes.test
    ]
    if not known:
        return None, None
    seeds = len({seed for *_, seed in known})
    hits = sum(share * size for share, size, _ in known) / seeds
    return coverage_interval(hits, sum(size for _, size, _ in known) / seeds)


def compare(ours: Sequence[Record], theirs: Sequence[Record], score: str = "micro_f1") -> float | None:
    """Return the p-value of the difference in a score over the (seed, fold) that both have."""
    return paired_p_value(pairs(ours, theirs), score)


def paired_p_value(both: Sequence[tuple[Record, Record]], score: str) -> float | None:
    """Return the p-value of the corrected resampled t-test over paired records.

    None where there are fewer than two, and where all of them test the same examples, so that their spread
    says nothing of others.
    """
    if not all(one.configuration.is_resampled for one, _ in both) or not both:
        return None
    differences = [one.score(score) - other.score(score) for one, other in both]
    return corrected_t_test(differences, statistics.fmean(one.test_share for one, _ in both))


def pairs(ours: Sequence[Record], theirs: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Return the records of two models on the same test parts: of one seed, one fold, and the same tested."""
    other = {record.test_part: record for record in theirs}
    return [(record, other[part]) for part, record in {r.test_part: r for r in ours}.items() if part in other]


def write_summary(
    folder: str | Path, summaries: Sequence[Mapping[str, Any]], about: Mapping[str, Any]
) -> None:
    """Write ``summary.csv`` and ``summary.json`` (what was asked, and the summaries) to a run folder."""
    with atomic_text(Path(folder) / "summary.csv") as file:
        writer = csv.DictWriter(file, list(summaries[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(summaries)
    with atomic_text(Path(folder) / "summary.json") as file:
        json.dump({**about, "rows": summaries}, file, indent=2, ensure_ascii=False, allow_nan=False)
        file.write("\n")
