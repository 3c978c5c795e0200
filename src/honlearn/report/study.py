"""One study for the page: everything that its sections show, gathered from records and artefacts.

In: a study of a run. Out: plain values: overview, checks, explorer, predictions or links. What was not kept
is left out and named in ``missing``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from honlearn.hon.network import HigherOrderNetwork
from honlearn.report.answers import Said, answers_of, confusion, learner_bytes, packed, reliability
from honlearn.report.checks import Evidence, run_checks
from honlearn.report.diversity import curves, likeness
from honlearn.report.explorer import explorer, next_step_changes
from honlearn.report.link_answers import degree_average_precision, link_answers
from honlearn.report.pack import plain
from honlearn.report.scores import SCORES, score_rows, what_was_run
from honlearn.results.runs import Row, Study

# Characters of the page that votes of learners may take, all rows together.
LEARNERS = 3_500_000
# Contexts that the estimate of what memory tells looks at, the heaviest.
_CONTEXTS = 20_000

Step = Callable[[str], None]


def study_page(
    study: Study, about: Mapping[str, Any], facts: Mapping[str, Any], step: Step
) -> dict[str, Any]:
    """Return what the page shows of a study; `step` is told what is being done."""
    step("scores")
    rows = score_rows(study)
    network, labels = study.network(), study.labels() or {}
    said = {row.name: answers_of(study, row) for row in study.rows} if study.task == "nodes" else {}
    if not labels:
        found = (one for one in said.values() if one is not None)
        labels = {node: one.classes[t] for one in found for node, t in zip(one.nodes, one.truth, strict=True)}
    step("network")
    known = {**study.facts(), **facts}
    seen = explorer(network, labels, known) if network is not None else None
    step("predictions")
    place = {name: i for i, name in enumerate(seen["names"])} if seen else {}
    learnt = {row.name: curves(_histories(study, row)) for row in study.rows}
    spread = {name: likeness(one) for name, one in said.items() if one is not None}
    step("checks")
    evidence = _evidence(study, rows, network, labels, about, said, learnt, spread)
    return {
        "task": study.task,
        "about": what_was_run(study, about),
        "notes": [str(note) for note in about.get("notes", [])],
        "scores": {name: {"title": t, "more": m} for name, (t, m) in SCORES[study.task].items()},
        "rows": plain(rows, 6),
        "checks": run_checks(evidence),
        "network": seen,
        "memory": plain(list(evidence.memory), 5) if evidence.memory else None,
        "predictions": _predictions(said, place),
        "diversity": plain({name: one for name, one in spread.items() if one}, 5),
        "curves": plain({name: found for name, found in learnt.items() if found}, 5),
        "links": {row.name: one for row in study.rows if (one := link_answers(study, row))}
        if study.task == "links"
        else {},
        "missing": _missing(study, seen, said),
    }


def _histories(study: Study, row: Row) -> list[list[Mapping[str, Any]]]:
    kept = (study.answers(record) for record in row.records)
    return [list(answers.about.get("history") or []) for answers in kept if answers is not None]


def _predictions(said: Mapping[str, Said | None], place: Mapping[str, int]) -> dict[str, Any]:
    """Return the rows' predictions; votes of learners as long as the page has room for them."""
    left, found = LEARNERS, {}
    for name, one in said.items():
        if one is None:
            continue
        fits = learner_bytes(one) <= left
        left -= learner_bytes(one) if fits else 0
        found[name] = packed(one, place, fits)
        found[name]["learners_left_out"] = bool(one.members is not None and not fits)
    return found


def _evidence(
    study: Study,
    rows: list[dict[str, Any]],
    network: HigherOrderNetwork | None,
    labels: Mapping[str, str],
    about: Mapping[str, Any],
    said: Mapping[str, Said | None],
    learnt: Mapping[str, list[dict[str, Any]]],
    spread: Mapping[str, Any],
) -> Evidence:
    there = {name: one for name, one in said.items() if one is not None}
    calibration = {name: reliability(one) for name, one in there.items()}
    first = study.rows[0].records
    folds = len({record["configuration"]["fold"] for record in first})
    return Evidence(
        task=study.task,
        rows=rows,
        labels=labels if study.task == "nodes" else None,
        folds=folds,
        test_size=min((int(record.get("sizes", {}).get("test", 0)) for record in first), default=0),
        missing=[str(note) for note in about.get("notes", []) if "not in the network" in str(note)],
        entities=0 if network is None else network.n_entities,
        conditional=0 if network is None else network.n_conditional,
        sinks=0 if network is None else int((network.out_weight[: network.n_entities] == 0).sum()),
        memory=None if network is None else told_by_memory(network),
        homophily=_homophily(network, labels) if study.task == "nodes" else None,
        degrees=_degrees(study, network) if study.task == "links" else None,
        kappa={name: one["mean_kappa"] for name, one in spread.items() if one},
        calibration={name: (one["error"], one["bias"]) for name, one in calibration.items()},
        curves=learnt,
        never={name: _never(one) for name, one in there.items()},
        max_epochs={row.name: _max_epochs(row) for row in study.rows},
    )


def _max_epochs(row: Row) -> int:
    value = row.parameters.get("max_epochs")
    return value if isinstance(value, int) else 0


def told_by_memory(network: HigherOrderNetwork) -> tuple[float, float]:
    """Return the bits that contexts of two entities tell about a next step, and those that are open without.

    The first is Σ w(u')·D(u' ‖ base) / Σ w(base), a mean over all steps; steps in no kept context count 0.

    >>> from honlearn.hon.edgelist import from_edges
    >>> source, target = ["A", "B", "C|A", "C|B", "C", "C"], ["C|A", "C|B", "D", "E", "D", "E"]
    >>> told_by_memory(from_edges(source, target, [1] * 6))  # C, half of all steps, forgets one bit
    (0.5, 0.5)
    """
    size = network.n_entities
    first = network.first_order()
    total = first.out_weight.astype(np.float64)
    share = first.weights / np.maximum(total, 1e-300)[first.sources]
    everything = max(float(total.sum()), 1e-300)
    is_open = float(-(first.weights * np.log2(np.maximum(share, 1e-300))).sum()) / everything
    contexts = np.flatnonzero((network.order == 2) & (network.out_weight > 0))
    contexts = contexts[np.argsort(-network.out_weight[contexts].astype(np.float64))][:_CONTEXTS]
    bits = next_step_changes(network, contexts, 1).bits
    weight = network.out_weight[contexts].astype(np.float64)
    known = np.isfinite(bits)
    told = float((bits[known] * weight[known]).sum()) / max(float(network.out_weight[:size].sum()), 1e-300)
    return told, is_open


def _homophily(network: HigherOrderNetwork | None, labels: Mapping[str, str]) -> float | None:
    from honlearn.hon.summary import homophily

    if network is None or not any(name in network.vocabulary for name in labels):
        return None
    value = homophily(network.first_order(), labels)
    return value if value == value else None


def _degrees(study: Study, network: HigherOrderNetwork | None) -> float | None:
    answers = study.answers(study.rows[0].records[0])
    if network is None or answers is None:
        return None
    return degree_average_precision(network, answers.about["pairs"], answers.arrays["truth"])


def _never(said: Said) -> list[str]:
    claimed = confusion(said).sum(0)
    occurs = Counter(said.truth.tolist())
    return [name for i, name in enumerate(said.classes) if claimed[i] == 0 and occurs[i]]


def _missing(study: Study, seen: Any, said: Mapping[str, Said | None]) -> list[str]:
    """Return what the run did not keep, in words."""
    missing = []
    if seen is None:
        missing.append("the network: no explorer, no dependencies")
    unknown = [name for name, one in said.items() if one is None]
    if study.task == "links":
        unknown = [row.name for row in study.rows if study.answers(row.records[0]) is None]
    if unknown:
        missing.append(f"what these rows said of each test {study.task[:-1]}: {', '.join(unknown)}")
    partial = [name for name, one in said.items() if one is not None and one.missing]
    if partial:
        missing.append(f"some folds of: {', '.join(partial)}")
    return [*missing, *study.damaged]
