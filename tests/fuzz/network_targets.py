"""Targets: files of networks, and learners on a network that was read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

import honlearn as hl
from fuzz.checks import Broken, expect, use_network, use_probabilities
from fuzz.target import PATHS, Target, small_network
from honlearn.errors import HonlearnError


def _make(*names: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for name in names:
            network = small_network().first_order() if name.startswith("first") else small_network()
            network.save(folder / name)

    return make


def _use(path: Path) -> None:
    use_network(hl.load_network(path))


def _use_written_only(path: Path) -> None:
    try:
        hl.load_network(path)
    except HonlearnError:
        return
    raise Broken(f"not so: {path.suffix} is written only")


def _use_in_training(path: Path) -> None:
    """Train on the network: the compiled loops index by its arrays without looking."""
    from honlearn import DGEClassifier, DGELinkPredictor
    from honlearn.tasks.nested import nested

    network = hl.load_network(path)
    small = {"n_learners": 1, "widths": (4,), "max_epochs": 1, "n_threads": 1, "random_state": 0}
    names = list(network.vocabulary.names)
    y = np.array([i % 2 for i in range(len(names))])
    classifier = DGEClassifier(network, **nested(DGEClassifier, small)).fit(names, y)
    use_probabilities(classifier.predict_proba(names[:3]))
    predictor = DGELinkPredictor(network, **nested(DGELinkPredictor, small)).fit()
    use_probabilities(predictor.predict_proba([(names[0], names[1])]), 2)


def _make_counts(folder: Path) -> None:
    for order in (1, 2, 3):
        hl.count_grams(PATHS, order).save(folder / f"order{order}.counts")


def _use_counts(path: Path) -> None:
    """Grow and update: the compiled loops walk the levels without looking."""
    counts = hl.load_counts(path)
    for rule in ({"tau": 0.5}, {"alpha": 0.5}, {"alpha": 1}):
        network = counts.grow(**rule)  # type: ignore[arg-type]
        expect(network.n_entities <= len(counts.vocabulary), "entities are names of the vocabulary")
    counts.update([["A", "hub", "new"]]).grow(tau=0.5)
    counts.next_steps(list(counts.vocabulary.names)[:2]), counts.score([["A", "hub"]])
    again = path.with_name("again.counts")
    counts.save(again)
    expect(
        hl.load_counts(again).grow(tau=0.5) == counts.grow(tau=0.5), "counts are read as they were written"
    )


TARGETS = [
    Target("counts", _make_counts, _use_counts, cases=100),
    Target("hon", _make("network.hon", "first.hon"), _use, cases=120),
    Target("hon-training", _make("network.hon"), _use_in_training, cases=20),
    Target("edge-list", _make("network.txt", "first.txt"), _use),
    Target("edge-table", _make("network.parquet"), _use),
    Target(
        "written-only", _make("network.net", "network.graphml", "network.gexf"), _use_written_only, cases=30
    ),
]
