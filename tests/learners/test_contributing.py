"""The graph neural network of CONTRIBUTING.md is a learner, as it stands."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import honlearn as hl
from honlearn.hon.edgelist import from_edges

TEXT = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT.read_text("utf-8"), re.DOTALL)
    assert len(block.splitlines()) <= 60
    module = types.ModuleType("contributed")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(block, vars(module))
    return vars(module)


@pytest.mark.parametrize("widths", [(8,), (8, 8)])
def test_the_example_learns(made: dict[str, Any], widths: tuple[int, ...]) -> None:
    near = [(f"{s}{i}", f"{s}{j}") for s in "ab" for i in range(6) for j in range(6) if i != j]
    hon = from_edges(*zip(*near, strict=True))
    names = list(hon.vocabulary)
    model = hl.DGEClassifier(hon, made["Tanh"](widths=widths), n_learners=3, random_state=0, n_threads=1)
    model.fit(names[1:-1], [name[0] for name in names[1:-1]])
    assert model.predict(["a0", "b5"]).tolist() == ["a", "b"]
    again = hl.DGEClassifier(hon, made["Tanh"](widths=widths), n_learners=3, random_state=0, n_threads=1)
    again.fit(names[1:-1], [name[0] for name in names[1:-1]])
    assert np.array_equal(model.predict_proba(names), again.predict_proba(names))
