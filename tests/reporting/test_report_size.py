"""A run at the size that the page is made for: 5,000 nodes and 16 learners, in seconds and below 15 MB."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from report_cases import content_of, write_run

from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.vocabulary import Vocabulary
from honlearn.reporting.build import write_report

NODES, LEARNERS, CONTEXTS = 5_000, 16, 25_000


def large_network() -> HigherOrderNetwork:
    """5,000 entities with 40 links each, and 25,000 contexts with 8 each."""
    draw = np.random.default_rng(1)
    names = sorted(f"entity number {i:05d}" for i in range(NODES))
    base = np.sort(draw.integers(0, NODES, 3 * CONTEXTS))
    pairs = np.unique(np.stack([base, draw.integers(0, NODES, 3 * CONTEXTS)], 1), axis=0)
    pairs = pairs[np.sort(draw.permutation(len(pairs))[:CONTEXTS])]
    grams = np.concatenate([np.arange(NODES), pairs.ravel()])
    offsets = np.concatenate([np.arange(NODES + 1), NODES + 2 * np.arange(1, CONTEXTS + 1)])
    degree = np.repeat([40, 8], [NODES, CONTEXTS])
    targets = np.concatenate([np.sort(draw.choice(NODES, d, replace=False)) for d in degree])
    # Where a context goes on to is somewhere its base node leads to.
    for row in range(CONTEXTS):
        start = 40 * NODES + 8 * row
        own = targets[40 * pairs[row, 0] : 40 * (pairs[row, 0] + 1)]
        targets[start : start + 8] = np.sort(draw.choice(own, 8, replace=False))
    weights = draw.integers(1, 1000, len(targets))
    indptr = np.concatenate([[0], np.cumsum(degree)])
    return HigherOrderNetwork(Vocabulary.from_names(names), offsets, grams, indptr, targets, weights)


def test_five_thousand_nodes_and_sixteen_learners(tmp_path: Path) -> None:
    network = large_network()
    labels = {name: f"class {i % 11}" for i, name in enumerate(network.vocabulary.names)}
    run = write_run(
        tmp_path / "run",
        network,
        labels,
        models=[("dge-bag", "gk"), ("dge-bag", "g1"), ("dge-pool", "gk"), ("dge-pool", "g1")],
        learners=LEARNERS,
        folds=5,
    )
    started = time.process_time()
    page = write_report(run, tmp_path / "report.html")
    seconds = time.process_time() - started
    assert page.stat().st_size < 15_000_000
    assert seconds < 60, "seconds on a quiet machine; the bound leaves room for a busy one"
    study = content_of(page.read_text(encoding="utf-8"))["study"]
    assert study["network"]["sizes"]["shown"] == NODES
    assert study["network"]["contexts"]["all"] == CONTEXTS
    # What there is no room for is said, not dropped in silence.
    assert len(study["network"]["contexts"]["label"]) == 10_000
    kept = [bool(one["learners"]) for one in study["predictions"].values()]
    left_out = [one["learners_left_out"] for one in study["predictions"].values()]
    assert kept[0]
    assert [not one for one in kept] == left_out
    print(f"{seconds:.1f} CPU s, {page.stat().st_size / 1e6:.1f} MB")
