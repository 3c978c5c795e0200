"""Ours beside the published: the cells and notes that Tables 2, 3, 6 and 7 have in common.

In: measured rows for each data set. Out: a :class:`Table` with ours, the published value, their difference
and whether it is within two standard errors, and paired tests against a reference row. A data set that was
not measured has its published column alone.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from honlearn.experiments.measure import SCORE, Measured, TableRow
from honlearn.experiments.published import DATA, REPETITIONS, Cell, find, model_label, published
from honlearn.experiments.significance import Gap, Paired, gap, paired
from honlearn.experiments.sources import Source
from honlearn.experiments.tables import Table, as_printed, p_text, signed, spread
from honlearn.results.networks import NETWORKS
from honlearn.results.record import required

COLUMN = {"nodes": "micro F1", "links": "AUPRC"}
INPUT = {**NETWORKS, "auto": "chosen"}
REFERENCE = ("dge-bag", "gk")


@dataclass(frozen=True)
class Measurements:
    """What was measured on one data set: every row with its records or its reason."""

    source: Source
    rows: Mapping[TableRow, Measured]

    def reference(self) -> TableRow | None:
        """Return the row that others are tested against: DGE-bag on G2, else the first that was measured."""
        known = [row for row, found in self.rows.items() if found.records]
        wanted = [row for row in known if (row.model, row.input) == REFERENCE]
        return next(iter(wanted or known), None)


@dataclass(frozen=True)
class Compared:
    """One row on one data set: ours, the published cell, and the two comparisons."""

    row: TableRow
    data: str
    score: str
    ours: Measured | None
    printed: Cell | None
    test: Paired | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spread(self) -> tuple[float | None, float | None]:
        """Mean and deviation of ours, None where nothing was measured."""
        return self.ours.spread(self.score) if self.ours and self.ours.records else (None, None)

    @property
    def gap(self) -> Gap | None:
        """Ours against the published value, None where either is missing."""
        mean, deviation = self.spread
        if mean is None or self.printed is None or self.ours is None:
            return None
        count = len(self.ours.records)
        return gap(mean, deviation, count, self.printed.value, self.printed.deviation, REPETITIONS)

    def fact(self) -> dict[str, Any]:
        """Return everything that is known of this cell, for the CSV."""
        mean, deviation = self.spread
        ours = self.ours or Measured()
        between, test = self.gap, self.test
        sizes = [record.sizes.parameters for record in ours.records]
        return {
            "data": self.data,
            "model": self.row.model,
            "input": self.row.input,
            "layers": self.row.layers,
            "column": self.row.column,
            "score": self.score,
            "ours": mean,
            "ours_std": deviation,
            "records": len(ours.records),
            "published": self.printed.value if self.printed else None,
            "published_std": self.printed.deviation if self.printed else None,
            "difference": between.difference if between else None,
            "standard_error": between.error if between else None,
            "within_two_errors": between.within if between else None,
            "p_value": test.p_value if test else None,
            "p_wilcoxon": test.p_wilcoxon if test else None,
            "mean_difference_to_reference": test.difference if test else None,
            "log_loss": ours.spread("log_loss")[0] if ours.records else None,
            "parameters": sizes[0] if sizes else None,
            "fit_cpu_seconds": statistics.fmean(
                required(r.times.fit_cpu_seconds, "fit_cpu_seconds") for r in ours.records
            )
            if ours.records
            else None,
            "settings_tried": ours.tried if ours.records else None,
            "optimism": ours.optimism,
            "not_measured": ours.reason,
            **self.extra,
        }


def compare_rows(table: str, measured: Measurements, task: str) -> list[Compared]:
    """Return every row of one data set beside the published table, tested against the reference row."""
    reference, data = measured.reference(), measured.source.published
    found = []
    for row, ours in measured.rows.items():
        printed = find(table, data, row.column or COLUMN[task], row.model, row.input, row.layers)
        test = None
        if reference is not None and row is not reference and ours.records:
            test = paired(ours.records, measured.rows[reference].records, SCORE[task])
        found.append(Compared(row, measured.source.name, SCORE[task], ours, printed, test))
    return found


def comparison_table(
    name: str,
    title: str,
    task: str,
    rows: Sequence[TableRow],
    everything: Sequence[Measurements],
    notes: Sequence[str],
) -> Table:
    """Return the table of a task: measured data sets first, then the published columns of the others."""
    shown = list(everything)
    compared = {m.source.name: {c.row: c for c in compare_rows(name, m, task)} for m in shown}
    columns, cells = ["model", "input"], {row: [model_label(row.model), INPUT[row.input]] for row in rows}
    for m in shown:
        mine, with_published = compared[m.source.name], m.source.published is not None
        reference = m.reference()
        columns += [f"{m.source.title}, ours"]
        columns += [f"{m.source.title}, published", "difference"] if with_published else []
        columns += ["p (t, Wilcoxon)"]
        for row in rows:
            cells[row] += _cells(mine.get(row), with_published, row == reference)
    measured_names = {m.source.published for m in shown}
    others = [key for key in DATA if key not in measured_names and published(name, key)]
    for key in others:
        columns.append(f"{DATA[key]}, published")
        for row in rows:
            printed = find(name, key, COLUMN[task], row.model, row.input)
            cells[row].append(as_printed(printed.value, printed.deviation) if printed else "–")
    facts = [compared[m.source.name][row].fact() for m in shown for row in rows if row in m.rows]
    facts += [printed_fact(cell) for key in others for cell in published(name, key)]
    all_notes = [*notes, *_notes(shown, others)]
    return Table(name, title, columns, [cells[row] for row in rows], all_notes, facts)


def _cells(found: Compared | None, with_published: bool, is_reference: bool) -> list[str]:
    if found is None:
        return ["–"] * (4 if with_published else 2)
    cells = [spread(*found.spread)]
    if with_published:
        printed, between = found.printed, found.gap
        cells.append(as_printed(printed.value, printed.deviation) if printed else "–")
        cells.append(f"{signed(between.difference)} {between.words}".strip() if between else "–")
    test = found.test
    if is_reference:
        return [*cells, "reference"]
    return [*cells, f"{p_text(test.p_value)}, {p_text(test.p_wilcoxon)}" if test else "–"]


def printed_fact(cell: Cell) -> dict[str, Any]:
    """Return a published value of data that were not measured, for the CSV."""
    return {
        "data": cell.data,
        "model": cell.model,
        "input": cell.input,
        "layers": cell.layers,
        "column": cell.column,
        "published": cell.value,
        "published_std": cell.deviation,
        "not_measured": "no data",
    }


def optimism_notes(m: Measurements) -> list[str]:
    """Return what choosing on the test folds adds on a data set, in words; nothing where nobody did."""
    known = [found for found in m.rows.values() if found.optimism is not None]
    if not known:
        return []
    mean = statistics.fmean(found.optimism or 0.0 for found in known)
    most = max(found.tried for found in known)
    return [
        f"{m.source.title}: settings chosen on the test folds as in the paper (up to {most} tried). "
        f"Had each fold's setting been chosen on the other folds, the scores would be {mean:.3f} "
        "lower on average: the optimism of this protocol"
    ]


def _notes(everything: Sequence[Measurements], others: Sequence[str]) -> list[str]:
    notes = [
        "ours: mean ± standard deviation over folds and seeds. difference: ours minus published; within: "
        "within two standard errors, above or below: beyond them. p: against the reference row, by the "
        "corrected resampled t-test and by Wilcoxon's signed ranks"
    ]
    for m in everything:
        notes += optimism_notes(m)
        reasons = {found.reason for found in m.rows.values() if found.reason}
        notes += [f"{m.source.title}: not measured: {reason}" for reason in sorted(reasons)]
    if others:
        names = ", ".join(DATA[key] for key in others)
        notes.append(f"{names}: published values alone; these data were not measured here")
    return notes
