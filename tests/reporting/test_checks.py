"""Every check fires on what it is about, stays quiet without it, and has a code of its own."""

from __future__ import annotations

import re
from typing import Any

import pytest

from honlearn.reporting.checks import SEVERITIES, Evidence, run_checks

FIRST = "dge-bag · first-order"


def model(name: str = "dge-bag · higher-order", records: int = 5, **scores: float) -> dict[str, Any]:
    model, _, given = name.partition(" · ")
    found = {key: {"mean": value, "std": 0.01, "values": []} for key, value in scores.items()}
    given = {"first-order": "g1"}.get(given, "gk")
    return {"name": name, "model": model, "input": given, "records": records, "scores": found}


def curve(kind: str, mean: list[float]) -> dict[str, Any]:
    return {"phase": "search", "curve": kind, "epoch": list(range(1, len(mean) + 1)), "mean": mean}


def codes(**evidence: Any) -> list[str]:
    given = {"task": "nodes", "models": [model(micro_f1=0.9)], **evidence}
    return [found["code"] for found in run_checks(Evidence(**given))["raised"]]


LABELS = {f"n{i}": "abc"[i % 3] for i in range(30)}
CASES = {
    "H001": ({"labels": {**LABELS, "x": "rare"}, "folds": 5}, {"labels": LABELS, "folds": 5}),
    "H002": (
        {"curves": {"r": [curve("loss", [2.0, 0.3]), curve("validation_loss", [2.0, 1.2])]}},
        {"curves": {"r": [curve("loss", [2.0, 1.0]), curve("validation_loss", [2.0, 1.2])]}},
    ),
    "H003": ({"kappa": {"r": 0.95}}, {"kappa": {"r": 0.6}}),
    "H004": (
        {"entities": 9, "conditional": 4, "memory": (0.01, 3.0)},
        {"entities": 9, "conditional": 4, "memory": (0.5, 3.0)},
    ),
    "H005": (
        {
            "models": [
                model(micro_f1=0.9) | {"against_g1": 0.4, "first_order": FIRST},
                model(FIRST, micro_f1=0.89),
            ]
        },
        {
            "models": [
                model(micro_f1=0.9) | {"against_g1": 0.01, "first_order": FIRST},
                model(FIRST, micro_f1=0.5),
            ]
        },
    ),
    "H006": ({"test_size": 20}, {"test_size": 200}),
    "H007": ({"labels": {str(i): "a" if i else "b" for i in range(9)}}, {"labels": LABELS}),
    "H008": ({"labels": LABELS, "models": [model(micro_f1=0.3)]}, {"labels": LABELS}),
    "H009": ({"calibration": {"r": (0.2, 0.2)}}, {"calibration": {"r": (0.05, 0.0)}}),
    "H010": ({"models": [model(records=1, micro_f1=0.9)]}, {}),
    "H011": ({"missing": ["3 labelled nodes are not in the network"]}, {}),
    "H012": ({"models": [model(micro_f1=0.9, gain=-0.02)]}, {"models": [model(micro_f1=0.9, gain=0.02)]}),
    "H013": ({"never": {"r": ["a"]}}, {"never": {"r": []}}),
    "H014": (
        {"curves": {"r": [curve("validation_loss", [3.0, 2.0])]}, "max_epochs": {"r": 2}},
        {"curves": {"r": [curve("validation_loss", [3.0, 2.0])]}, "max_epochs": {"r": 9}},
    ),
    "H015": ({"entities": 9, "conditional": 1, "sinks": 5}, {"entities": 9, "conditional": 1, "sinks": 1}),
    "H016": (
        {"models": [model(), model("gcn", records=3)]},
        {"models": [model(), model("gcn")]},
    ),
    "H017": (
        {"task": "links", "models": [model(auprc=0.9)], "degrees": 0.89},
        {"task": "links", "models": [model(auprc=0.95)], "degrees": 0.89},
    ),
    "H018": ({"labels": LABELS, "homophily": 0.3}, {"labels": LABELS, "homophily": 0.8}),
}


@pytest.mark.parametrize("code", CASES)
def test_it_fires_on_what_it_is_about_alone(code: str) -> None:
    bad, good = CASES[code]
    assert code in codes(**bad)
    assert code not in codes(**good)


def test_a_model_that_is_never_right_is_no_better_than_the_largest_class() -> None:
    assert "H008" in codes(labels=LABELS, models=[model(micro_f1=0.0)])
    assert "H008" not in codes(labels=LABELS, models=[model(log_loss=0.5)])
    assert "H008" not in codes(labels=LABELS, models=[model("majority · higher-order", micro_f1=0.3)])
    without = model(FIRST, micro_f1=0.3)
    assert "H008" in codes(labels=LABELS, models=[model(micro_f1=0.3) | {"first_order": FIRST}, without])
    assert "H008" not in codes(labels=LABELS, models=[model(micro_f1=0.9) | {"first_order": FIRST}, without])


def test_a_network_without_contexts_is_of_first_order() -> None:
    assert "H004" in codes(entities=5)


def test_nothing_known_nothing_raised_and_the_gravest_first() -> None:
    assert codes() == []
    found = run_checks(Evidence("nodes", [model(micro_f1=0.2)], LABELS, test_size=9, kappa={"r": 1.0}))
    severity = [SEVERITIES.index(check["severity"]) for check in found["raised"]]
    assert severity == sorted(severity)
    assert {check["severity"] for check in found["raised"]} == set(SEVERITIES)
    assert found["ran"] == len(CASES)
    for check in found["raised"]:
        assert re.fullmatch(r"H\d{3}", check["code"])
        assert check["seen"].endswith(".")
        assert check["advice"].endswith(".")


def test_what_is_labelled_is_called_what_it_is() -> None:
    labels = {str(i): "a" if i < 9 else "b" for i in range(10)}
    for task, unit in (("nodes", "nodes"), ("paths", "paths")):
        found = run_checks(Evidence(task, [], labels))
        seen = next(one["seen"] for one in found["raised"] if one["code"] == "H007")
        assert seen.startswith(f"a has 9 of 10 labelled {unit}; always")
