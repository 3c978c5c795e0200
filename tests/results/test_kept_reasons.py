"""Reasons that a run keeps: what they must be, and that a fit's reasons are that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from honlearn.errors import FormatError
from honlearn.results.artefacts import Answers, read_answers, write_answers

REASON = {"kind": "memory", "name": "A|B", "value": 0.1, "without": 0.5, "support": "B → A once"}


def answers(**changed: Any) -> Answers:
    one = {"node": "A", "label": "x", "probability": 0.6, "references": {"without": 0.5}, "reasons": [REASON]}
    about = {"nodes": ["A"], "truth": ["x"], "classes": ["x", "y"], "reasons": [one | changed]}
    return Answers(about, {"proba": np.array([[0.6, 0.4]], np.float32)})


def test_reasons_are_read_back(tmp_path: Path) -> None:
    write_answers(tmp_path, "a" * 16, answers())
    found = read_answers(tmp_path, "a" * 16)
    assert found is not None
    assert found.about["reasons"] == answers().about["reasons"]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"node": "B"}, "'node' must be one of A. Got 'B'"),
        ({"label": "z"}, "'label' must be one of x, y"),
        ({"probability": 7}, "'probability' must be a number"),
        ({"references": [1]}, "'references' must be a JSON object"),
        ({"references": {"without": "x"}}, "'without' must be a number"),
        (
            {"reasons": [{**REASON, "kind": "rumour"}]},
            "'kind' must be one of memory, neighbor, path, example",
        ),
        ({"reasons": [{**REASON, "without": None}]}, "'without' must be a number"),
        ({"reasons": [{**REASON, "value": "x"}]}, "'value' must be a number"),
        ({"reasons": [{**REASON, "name": ["x"]}]}, "'name' must be text"),
        ({"reasons": [{**REASON, "more": 1}]}, "'more' is not known"),
        ({"more": 1}, "'more' is not known"),
    ],
)
def test_reasons_of_other_types_are_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    write_answers(tmp_path, "a" * 16, answers(**changed))
    with pytest.raises(FormatError, match=message):
        read_answers(tmp_path, "a" * 16)
