"""A network in which only the existence of contexts tells the links: high by the paper's protocol, else not.

Also links that come later in time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest

import honlearn as hl
from honlearn.errors import InputError
from honlearn.experiments.evaluate import ModelSpec
from honlearn.experiments.link_data import LaterLinks, LinkData, LinkProtocol
from honlearn.experiments.links import evaluate_links, optimism, plan_links
from honlearn.experiments.registry import Entry
from honlearn.hon.grown_from import GrownFrom
from honlearn.sampling.pairs import linked_keys


class ContextDetector:
    """Scores a pair by the contexts that hold the step between its ends; takes down what it is shown."""

    shown: ClassVar[list[Any]] = []

    def __init__(self, network: Any, directed: bool = True, paths: Any = None, random_state: int = 0) -> None:
        self.network, self.directed, self.paths = network, directed, paths
        self.random_state = random_state

    def fit(self, X: Any = None, y: Any = None, *, exclude: Any = None) -> ContextDetector:
        ContextDetector.shown.append((self.network, self.paths, exclude))
        self.classes_ = np.array([0, 1])
        self.steps: dict[tuple[str, str], int] = {}
        for label in self.network.nodes[self.network.n_entities :]:
            gram = label.split("|")
            for step in zip(gram[1:], gram[:-1], strict=True):
                self.steps[step] = self.steps.get(step, 0) + 1
        return self

    def predict_proba(self, X: Any) -> Any:
        seen = np.array([self.steps.get(tuple(pair), 0) for pair in X], float)
        linked = seen / (1.0 + seen)
        return np.stack([1.0 - linked, linked], 1)


DETECTOR = ModelSpec(Entry("detector", ("links",), "", f"{__name__}:ContextDetector"))


def planted() -> hl.Paths:
    """Return walks on a random directed graph of even degrees: nothing but contexts can tell a link."""
    random = np.random.default_rng(0)
    size, degree = 40, 6
    targets = (
        np.arange(size)[:, None] + [1 + random.permutation(size - 1)[:degree] for _ in range(size)]
    ) % size
    paths = []
    for _ in range(1500):
        path = [int(random.integers(size))]
        for _ in range(3):
            path.append(int(targets[path[-1], random.integers(degree)]))
        paths.append([f"n{x:02d}" for x in path])
    return hl.Paths.from_lists(paths)


def scores(tmp_path: Any, hides: str, with_paths: bool) -> tuple[dict[str, float], list[Any]]:
    paths = planted()
    hon = hl.grow(paths, order=2, alpha=1)
    source = GrownFrom(paths, hon.parameters) if with_paths else None
    data = LinkData(hon, LinkProtocol(repetitions=2, hides=hides), "gk", source)
    jobs = plan_links(data, [DETECTOR], seed=0)
    records = [record for _, record, _ in evaluate_links(data, jobs, tmp_path, keep_artefacts=False)]
    names = ("degree_auprc", "auprc", "degree_auroc")
    return {name: float(np.mean([one.score(name) for one in records])) for name in names}, records


def test_contexts_tell_links_by_the_papers_protocol_alone(tmp_path) -> None:  # type: ignore[no-untyped-def]
    leaking, before = scores(tmp_path, "paper", False)
    assert min(leaking.values()) > 0.9
    for with_paths in (False, True):
        # No context of a tested pair is left, so that all pairs tie.
        hidden, after = scores(tmp_path, "strict", with_paths)
        assert hidden == {"degree_auprc": 0.5, "auprc": 0.5, "degree_auroc": 0.5}
    (found,) = optimism([*before, *after])
    assert (found.model, found.input, found.score, found.records) == ("detector", "gk", "degree_auprc", 2)
    assert found.difference == pytest.approx(leaking["degree_auprc"] - 0.5)


def test_models_that_read_paths_get_cut_ones(tmp_path) -> None:  # type: ignore[no-untyped-def]
    ContextDetector.shown.clear()
    scores(tmp_path, "strict", True)
    network, paths, exclude = ContextDetector.shown[0]
    hidden = {frozenset(pair) for pair in exclude}
    steps = {frozenset(step) for path in paths for step in pairwise(path)}
    assert not steps & hidden
    assert network.vocabulary == hl.grow(planted(), order=2, alpha=1).vocabulary


def test_links_that_come_later_are_tested_on_the_network_before() -> None:
    early = hl.Paths.from_lists([["a", "b", "c", "d"], ["d", "e", "f", "a"]] * 3)
    late = hl.Paths.from_lists([["a", "b", "x"], ["a", "c"], ["c", "a"], ["f", "b"], ["y", "a"], ["e", "e"]])
    hon = hl.grow(early, order=2, tau=0.1)
    later = LaterLinks.of(hon, late, "2024", directed=True)
    data = LinkData(hon, LinkProtocol(repetitions=1), "gk", GrownFrom(early, hon.parameters), later)
    (job,) = plan_links(data, [DETECTOR], seed=0)
    split = data.split(job.seed)
    assert {pair for pair, label in zip(split.names, split.labels, strict=True) if label} == {
        ("a", "c"), ("c", "a"), ("f", "b"),
    }  # fmt: skip
    assert split.negatives == ("uniform", "degree")
    unlinked = {pair for pair, label in zip(split.names, split.labels, strict=True) if not label}
    assert not unlinked & {("a", "b"), ("b", "c"), ("a", "c"), ("c", "a"), ("f", "b")}
    assert data.visible("gk", job.seed).network is hon
    assert data.visible("gk", job.seed).paths is early
    assert len(data.linked) == len(linked_keys(hon)) + 3
    assert job.configuration.folds.startswith("later than 2024 directed")
    with pytest.raises(InputError, match="no link between known entities first appears after 2024"):
        LaterLinks.of(hon, hl.Paths.from_lists([["a", "b"]]), "2024", directed=True)
