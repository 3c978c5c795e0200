"""How often do prediction sets of nodes hold the true class, and how large are they?

    python benchmarks/bench_node_sets.py NET LABELS [--splits 20] [--learner sage] [--learners 8] …
    python benchmarks/bench_node_sets.py --generated [--splits 6] …

In each split 70 % of the labelled nodes, drawn at random, are trained on and the others tested, by
``predict_set`` with each score. ``--generated`` makes a new network for each split: rail grids with labels in
twelve zones, 8 % of them wrong, and planted networks with noise; a choice among scores that is made on these
has seen no node of the data that figures are given for. Means and standard errors over splits, for 80, 90 and
95 %; splits of one data set overlap, so their standard errors are too small. *below* counts the splits in
which what is asked lies above the binomial interval (95 %) of the test nodes; 2.5 % of the splits would, were
coverage exact and nothing but the test nodes random. ``--mapie`` adds sets of MAPIE on our probabilities.

The last row has the calibration error of the test nodes of all splits together, and beside it the error that
probabilities which are right would have on as many nodes: it is never below 0, so noise makes it positive.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import honlearn as hl
from honlearn.labels import read_labels
from honlearn.results.calibration import BINS, LEVELS, coverage_interval, expected_error, set_scores
from honlearn.tasks import calibrated
from honlearn.tasks.crossed import count_fits
from honlearn.tasks.temperature import tempered

sys.path.insert(0, str(Path(__file__).parent))
from generated_cases import Case

TRAINED = 0.7
SCORES: dict[str, dict[str, Any]] = {
    "jackknife": {"score": "jackknife"},
    "lac": {"score": "lac"},
    "aps": {"score": "aps"},
    "raps": {"score": "raps"},
    "aps, smoothed": {"score": "aps", "smoothing": "auto"},
}


def from_files(network: str, labels: str) -> Case:
    """Return a network and the labels of its entities."""
    hon, known = hl.load_network(network), dict(zip(*read_labels(labels), strict=True))
    names = sorted(name for name in known if name in hon.vocabulary)
    return Case(hon, np.array(names), np.array([known[name] for name in names]))


def generated(split: int) -> Case:
    """Return a network that no other split has: a rail grid or a planted one, by turns."""
    random = np.random.default_rng(split)
    if split % 2:
        made = hl.datasets.synthetic(6, order=2, n_nodes=360, n_hubs=6, noise=0.88, seed=1000 + split)
        names = sorted(made.labels)
        labels = [made.labels[name] for name in names]
        return Case(hl.grow(made.paths, order=2, tau=1, min_support=1), np.array(names), np.array(labels))
    made = hl.datasets.rail_grid(16, 24, missing=0.15, seed=1000 + split)
    names = sorted(made.labels)
    zones = np.array([f"{int(name[1:3]) * 3 // 16}{int(name[4:6]) * 4 // 24}" for name in names])
    wrong = random.random(len(zones)) < 0.08
    zones[wrong] = random.permutation(zones)[wrong]
    return Case(hl.grow(made.paths, order=2, tau=3, min_support=5), np.array(names), zones)


class Tested(NamedTuple):
    """Scores of the sets by their name, true classes [B] and probabilities [B, C] of the test nodes."""

    sets: dict[str, dict[str, float]]
    truth: np.ndarray
    proba: np.ndarray


class Fitted(NamedTuple):
    """A classifier, the nodes that it was not trained on [B], their classes, and what its fit compared."""

    model: hl.DGEClassifier
    test: np.ndarray
    truth: np.ndarray
    compared: tuple[Any, ...]


def fitted(case: Case, split: int, learner: str, n_learners: int) -> Fitted:
    """Fit on a random part of the nodes; those of classes that it lacks are not tested."""
    order = np.random.default_rng(split).permutation(len(case.nodes))
    cut = round(TRAINED * len(order))
    train, test = np.sort(order[:cut]), np.sort(order[cut:])
    test = test[np.isin(case.labels[test], case.labels[train])]
    model = hl.DGEClassifier(case.network, learner, n_learners, n_threads=1, random_state=split)
    with patch.object(calibrated, "count_fits", wraps=count_fits) as compared:
        model.fit(case.nodes[train], case.labels[train])
    return Fitted(model, test, np.searchsorted(model.classes_, case.labels[test]), compared.call_args.args)


def tested(case: Case, split: int, learner: str, n_learners: int, with_mapie: bool) -> Tested:
    """Fit on a part of the nodes and return what sets of the others are worth."""
    model, test, truth, compared = fitted(case, split, learner, n_learners)
    found = {}
    for name, given in SCORES.items():
        values = model.predict_set(case.nodes[test], **given).p_values
        found[name] = set_scores(truth, values)
    proba = model.predict_proba(case.nodes[test])
    if with_mapie:
        codes = case.network.vocabulary.codes(case.nodes[test].tolist())
        as_held = tempered(proba, model.held_temperature_ / model.temperature_)
        found |= of_mapie(compared, codes, truth, as_held)
    return Tested(found, truth, proba)


def of_mapie(
    compared: tuple[Any, ...], codes: np.ndarray, truth: np.ndarray, proba: np.ndarray
) -> dict[str, dict[str, float]]:
    """Return coverage and size of MAPIE's sets, from what a fit compared and the final probabilities."""
    from mapie_sets import cross_sets, split_sets

    parts, kernel, known, temperature = compared
    levels, held = [level / 100 for level in LEVELS], tempered(known[1], temperature)
    masks = {}
    for score in ("lac", "aps"):
        masks[f"mapie split {score}"] = split_sets(held, known[2], proba, score, levels)
    for way in ("crossval", "mean"):
        masks[f"mapie cross {way}"] = cross_sets(parts, kernel, known, temperature, codes, way, levels)
    found: dict[str, dict[str, float]] = {name: {} for name in masks}
    for name, mask in masks.items():
        for place, level in enumerate(LEVELS):
            found[name][f"coverage_{level}"] = float(mask[np.arange(len(truth)), truth, place].mean())
            found[name][f"set_size_{level}"] = float(mask[:, :, place].sum(1).mean())
    return found


def summary(results: list[Tested]) -> Iterator[dict[str, Any]]:
    """Yield a row for each score and level, then one of the calibration error."""
    for name in results[0].sets:
        for level in LEVELS:
            hits = np.array([one.sets[name][f"coverage_{level}"] for one in results])
            sizes = [one.sets[name][f"set_size_{level}"] for one in results]
            error = hits.std(ddof=1) / np.sqrt(len(hits)) if len(hits) > 1 else 0.0
            yield {
                "score": name,
                "asked": level / 100,
                "coverage": round(float(hits.mean()), 4),
                "standard_error": round(float(error), 4),
                "mean_size": round(float(np.mean(sizes)), 3),
                "below": sum(_is_below(one.sets[name], len(one.truth), level) for one in results),
            }
    error, of_noise = calibration_error(results)
    alone = [calibration_error([one]) for one in results]
    yield {
        "calibration_error": round(error, 4),
        "of_noise": round(of_noise, 4),
        "mean_of_splits": round(float(np.mean([one[0] for one in alone])), 4),
        "of_noise_in_splits": round(float(np.mean([one[1] for one in alone])), 4),
        "splits": len(results),
    }


def _is_below(found: dict[str, float], n: int, level: int) -> bool:
    return coverage_interval(round(found[f"coverage_{level}"] * n), n)[1] < level / 100


def calibration_error(results: list[Tested]) -> tuple[float, float]:
    """Return the calibration error of the test nodes of all splits, which may differ in their classes.

    Then the mean error of predictions that are right as often as they are sure. Splits of one data set share
    nodes, so that this is less than what noise makes of them.
    """
    sure = np.concatenate([one.proba.max(1) for one in results]).astype(np.float64)
    right = np.concatenate([one.proba.argmax(1) == one.truth for one in results])
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    error = np.abs(np.bincount(place, right - sure)).sum() / len(sure)
    return float(error), expected_error(sure[:, None])


def main(words: list[str] | None = None) -> list[dict[str, Any]]:
    """Print the table and return its rows."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", help="a network and a table of labels")
    parser.add_argument("--generated", action="store_true")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--learner", default="sage")
    parser.add_argument("--learners", type=int, default=8)
    parser.add_argument("--mapie", action="store_true", help="sets of MAPIE, too, which has to be installed")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(words)
    if given.generated == bool(given.files):
        parser.error("give a network and a table of labels, or --generated")
    case = None if given.generated else from_files(*given.files)
    results = [
        tested(case or generated(split), split, given.learner, given.learners, given.mapie)
        for split in range(given.splits)
    ]
    rows = list(summary(results))
    for row in rows:
        print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    return rows


if __name__ == "__main__":
    main()
