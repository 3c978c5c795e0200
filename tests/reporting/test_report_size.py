"""A run at the size that the page is made for: 5,000 nodes and 16 learners, in seconds and below 15 MB."""

from __future__ import annotations

import time
from pathlib import Path

from report_cases import content_of, large_network, write_run

from honlearn.reporting.build import write_report

NODES, LEARNERS, CONTEXTS = 5_000, 16, 25_000


def test_five_thousand_nodes_and_sixteen_learners(tmp_path: Path) -> None:
    network = large_network(NODES, CONTEXTS)
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
