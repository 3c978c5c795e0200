"""Which temperature should the whole model have? Rules compared on generated networks alone.

    python benchmarks/bench_temperature.py [--first 36] [--networks 12] [--learner sage] [--learners 8]

Each network of ``generated_cases.py`` is fitted once on 70 % of its labels; every rule gives the same
predictions another temperature. Mean log loss of the test nodes over networks, its difference to the rule
*matched* with a standard error, the calibration error of the test nodes of all networks together, and mean
confidence less accuracy. Rules: no temperature; that of held-back predictions; the one at which the whole
model is as sure of nodes without labels as the learners that held back (matched), or has their entropy; the
best one for labels that are drawn from those learners; the geometric mean of held and matched, which a fit
takes.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

sys.path.insert(0, str(Path(__file__).parent))
from bench_node_sets import Tested, calibration_error, fitted
from generated_cases import Case, generated_case

from honlearn.tasks.crossed import group_proba, mean_confidence
from honlearn.tasks.temperature import WIDEST, matching_temperature, tempered, whole_temperature


def temperatures(compared: tuple[Any, ...], whole: np.ndarray, codes: np.ndarray) -> dict[str, float]:
    """Return the temperature of each rule, from what a fit compared and the whole model's rows [V, C]."""
    parts, kernel, known, held = compared
    rows, final = [], whole[codes].astype(np.float64)
    for mixed, own in group_proba(parts, kernel, known[0]):
        rows.append(int(own.sum()) * tempered(mixed[codes].astype(np.float64), held))
    drawn = np.sum(rows, 0) / len(known[2])
    of_groups = [one / one.sum(1, keepdims=True) for one in rows]
    sizes = [float(one.sum(1).mean()) for one in rows]
    entropy = float(np.average([_entropy(one) for one in of_groups], weights=sizes))
    matched = matching_temperature(final, mean_confidence(parts, kernel, known[0], codes, held))
    return {
        "none": 1.0,
        "held": held,
        "matched": matched,
        "geometric mean": whole_temperature(held, matched),
        "entropy": _least(lambda t: (_entropy(tempered(final, t)) - entropy) ** 2),
        "drawn": _least(lambda t: -float((drawn * np.log(_positive(tempered(final, t)))).sum())),
    }


def _positive(proba: np.ndarray) -> np.ndarray:
    return np.maximum(proba, 1e-12)


def _entropy(proba: np.ndarray) -> float:
    return float(-(proba * np.log(_positive(proba))).sum(1).mean())


def _least(loss: Any) -> float:
    bound = math.log(WIDEST)
    found = minimize_scalar(lambda log: loss(math.exp(log)), bounds=(-bound, bound), method="bounded")
    return math.exp(found.x)


def tested(case: Case, number: int, learner: str, n_learners: int) -> dict[str, Tested]:
    """Fit on a part of the nodes and return the predictions for the others at each rule's temperature."""
    model, test, truth, compared = fitted(case, number, learner, n_learners)
    names = list(case.network.vocabulary.names)
    model.temperature_ = 1.0
    whole = model.predict_proba(names)
    codes = np.setdiff1d(np.arange(len(names), dtype=np.int32), model.held_back_.nodes)
    rows = whole[case.network.vocabulary.codes(case.nodes[test].tolist())]
    found = temperatures(compared, whole, codes)
    return {rule: Tested({}, truth, tempered(rows, value)) for rule, value in found.items()}


def main(words: list[str] | None = None) -> list[dict[str, Any]]:
    """Print the table and return its rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=36)
    parser.add_argument("--networks", type=int, default=12)
    parser.add_argument("--learner", default="sage")
    parser.add_argument("--learners", type=int, default=8)
    given = parser.parse_args(words)
    results = [
        tested(generated_case(number), number, given.learner, given.learners)
        for number in range(given.first, given.first + given.networks)
    ]
    rows, base = [], np.array([_log_loss(one["matched"]) for one in results])
    for rule in results[0]:
        every = [one[rule] for one in results]
        losses = np.array([_log_loss(one) for one in every])
        apart = losses - base
        error, of_noise = calibration_error(every)
        sure = np.concatenate([one.proba.max(1) for one in every])
        right = np.concatenate([one.proba.argmax(1) == one.truth for one in every])
        row = {
            "rule": rule,
            "log_loss": round(float(losses.mean()), 4),
            "difference": round(float(apart.mean()), 4),
            "standard_error": round(float(apart.std() / math.sqrt(max(len(apart) - 1, 1))), 4),
            "calibration_error": round(error, 4),
            "of_noise": round(of_noise, 4),
            "confidence_less_accuracy": round(float(sure.mean() - right.mean()), 4),
        }
        rows.append(row)
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return rows


def _log_loss(one: Tested) -> float:
    return float(-np.log(_positive(one.proba[np.arange(len(one.truth)), one.truth])).mean())


if __name__ == "__main__":
    main()
