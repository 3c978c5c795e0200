"""The comparison of temperatures runs, at tiny size, and generated networks are what they are said to be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_rules_are_compared_on_one_fit() -> None:
    import bench_temperature as bench

    rows = {row["rule"]: row for row in bench.main(["--networks", "1", "--learners", "4"])}
    assert list(rows) == ["none", "held", "matched", "geometric mean", "entropy", "drawn"]
    assert rows["matched"]["difference"] == 0.0
    sure = {rule: row["confidence_less_accuracy"] for rule, row in rows.items()}
    # One more temperature for the same predictions: between the two that it is the mean of.
    assert min(sure["held"], sure["matched"]) <= sure["geometric mean"] <= max(sure["held"], sure["matched"])
    assert all(0 < row["log_loss"] < 2 for row in rows.values())
    for name in ("bench_temperature", "bench_node_sets", "generated_cases"):
        sys.modules.pop(name)


def test_kinds_take_turns_and_numbers_give_the_same_network_again() -> None:
    from generated_cases import KINDS, generated_case

    for number, kind in enumerate(KINDS):
        case = generated_case(number)
        assert len(case.nodes) == len(case.labels) >= 100
        assert 2 < len(set(case.labels.tolist())) <= 16
        assert all(name in case.network.vocabulary for name in case.nodes)
        assert case.nodes[0].startswith({"walks": "n", "map": "n", "planted": "s", "rail": "r"}[kind])
    again = generated_case(0)
    assert again.network == generated_case(0).network
    assert (again.labels == generated_case(0).labels).all()
    sys.modules.pop("generated_cases")
