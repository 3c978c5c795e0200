"""``hl.report``: a page of a run, of a model folder, of a fitted estimator, and of results in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import honlearn as hl
from honlearn.errors import InputError, MissingFileError
from honlearn.experiments.registry import find_model

SMALL = {"learner": "sage", "n_learners": 2, "widths": (4, 4), "max_epochs": 3, "n_threads": 1}


@pytest.fixture(scope="module")
def model() -> Any:
    data = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    classifier = find_model("dge-bag", "nodes").make(hl.grow(data.paths), random_state=0, **SMALL)
    nodes = list(data.labels)[:-4]
    return classifier.fit(nodes, [data.labels[node] for node in nodes])


def study_of(page: Path) -> Any:
    text = page.read_text("utf-8")
    start = text.index('id="data">') + len('id="data">')
    return json.loads(text[start : text.index("</script>", start)])["study"]


def test_a_model_shows_every_entity_with_its_network(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    known = {min(model.network_.vocabulary.names): str(model.classes_[0])}
    page = hl.report(tmp_path / "model", tmp_path / "model.html", labels=known, title="Mine")
    study = study_of(page)
    assert "<title>Mine" in page.read_text("utf-8")
    assert sorted(study["entities"]["nodes"]) == sorted(model.network_.vocabulary.names)
    assert study["headline"].startswith(f"DGEClassifier predicts one of {len(model.classes_)} classes for ")
    assert [study["entities"]["nodes"][-1]] == list(known)  # those without a label come first
    assert study["models"] == []
    assert "no test on unseen data" in study["summary"]
    # A fitted estimator has the same predictions.
    again = study_of(hl.report(model, tmp_path / "again.html", labels=known))
    assert again["entities"]["proba"] == study["entities"]["proba"]


def test_a_link_predictor_shows_links_to_expect(tmp_path: Path) -> None:
    paths = [[a, "hub", b] for a in "abcd" for b in "efgh"] * 3 + [["a", "e"], ["b", "f"]]
    predictor = find_model("dge-bag", "links").make(hl.grow(paths), random_state=0, **SMALL).fit()
    study = study_of(hl.report(predictor, tmp_path / "links.html"))
    (links,) = study["links"].values()
    linked = {("a", "e"), ("b", "f")}
    assert links["new"]
    assert not {(source, target) for source, target, *_ in links["new"]} & linked
    chances = [row[2] for row in links["new"]]
    assert chances == sorted(chances, reverse=True)


def test_what_has_no_page_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="labels are for the page of a model; a run has those"):
        hl.report(tmp_path, tmp_path / "page.html", labels={"a": "x"})
    with pytest.raises(InputError, match="report takes the folder of a run or of a model"):
        hl.report([1, 2], tmp_path / "page.html")
    with pytest.raises(MissingFileError, match="no such folder"):
        hl.report(tmp_path / "none", tmp_path / "page.html")
    with pytest.raises(InputError, match="make it first"):
        hl.report(tmp_path, tmp_path / "none" / "page.html")
