"""The file with the keywords of every model."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from honlearn.experiments import keywords
from honlearn.experiments.registry import Entry, find_model


def test_the_file_has_what_the_estimators_have() -> None:
    stored = json.loads((files("honlearn.experiments") / keywords.FILE).read_text("utf-8"))
    assert stored == keywords.make(), "run: python scripts/make_keywords.py"


def test_a_model_that_the_file_lacks_is_read_from_its_estimator() -> None:
    known = find_model("gcn")
    other = Entry("my-gcn", known.tasks, "mine", known.home)
    assert keywords.keywords_of(other) == keywords.keywords_of(known)


@pytest.mark.parametrize("task", ["nodes", "links"])
def test_ensembles_have_groups(task: str) -> None:
    assert list(keywords.keywords_of(find_model("dge-bag", task)).groups)[:2] == ["learner", "training"]
