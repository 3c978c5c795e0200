"""Targets: saved models, and checkpoints from which a fit goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import honlearn as hl
from fuzz.checks import use_probabilities
from fuzz.target import PATHS, Target, labels_of, small_network
from honlearn.tasks.nested import nested

_SMALL: dict[str, Any] = {"max_epochs": 2, "n_threads": 1, "random_state": 0}
_ENSEMBLE: dict[str, Any] = {**_SMALL, "n_learners": 2, "widths": (4, 4)}
# One of each way to keep a state: whole graphs, attention, subgraphs, kernels, vectors, counts.
_NODE_BASELINES = ("gcn", "ho-gnn", "honem", "path-kernel", "majority")
_LINK_BASELINES = ("graphsage", "popularity", "counts", "gae")


def _fit(name: str, task: str, **more: Any) -> Any:
    """Return the fitted model of this name on the small network."""
    from honlearn.experiments.registry import find_model

    network = small_network()
    entry = find_model(name, task)
    wanted = {**_ENSEMBLE, "width": 4, "dimensions": 4, **more}
    if wanted.get("learner") == "auto":
        # Widths are those of a learner that is named.
        del wanted["widths"]
    model = entry.make(network, **{key: value for key, value in wanted.items() if key in entry.keywords()})
    if task == "links":
        return model.fit()
    known = labels_of(network)
    return model.fit(list(known), np.array(list(known.values())))


def _make_models(*models: tuple[str, str]) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        for name, task in models:
            _fit(name, task).save(folder / f"{task}-{name}")

    return make


def _make_bags(folder: Path) -> None:
    """Save bags of one kind of learner, of many with one set of weights, and of several components."""
    _make_models(("dge-bag", "nodes"), ("dge-concat*", "nodes"))(folder)
    selected = _fit("dge-bag", "nodes", learner="auto", n_learners=4, max_epochs=1, kernel_share=0.25)
    assert len(selected.components_) > 1
    selected.save(folder / "nodes-dge-auto")
    # One that keeps the counts of its paths, and an updated one.
    names = labels_of(small_network())
    wanted = nested(
        hl.DGEClassifier, {**_ENSEMBLE, "order": 2, "tau": 0.1, "min_support": 1, "learner": "sage"}
    )
    grown = hl.DGEClassifier(hl.count_grams(PATHS, 2), **wanted).fit(list(names), list(names.values()))
    grown.save(folder / "nodes-dge-grown")
    grown.update([["A", "older", "B"]]).save(folder / "nodes-dge-updated")


def _use_model(path: Path) -> None:
    hl.model_card(path)
    model = hl.load_model(path)
    names = list(model.network.vocabulary.names)[:3]
    asked = [(names[0], names[-1]), (names[-1], names[0])] if path.name.startswith("links") else names
    use_probabilities(model.predict_proba(asked), len(model.classes_))
    model.predict(asked)
    repr(model), model.history_
    if hasattr(model, "member_proba"):
        for one in model.member_proba(asked):
            use_probabilities(one)
    if hasattr(model, "update"):
        wider = model.update([["A", "hub", "new"], ["new", "a", "A"]])
        use_probabilities(wider.predict_proba(["new", *asked]), len(model.classes_))
    if hasattr(model, "explanations"):
        model.explain(names[0], top=2).to_json()


def _make_path_models(folder: Path) -> None:
    labels = ["x" if path[0].isupper() else "y" for path in PATHS]
    for name, more in (("grams", {}), ("bag", {"order": 0, "vectors": 0})):
        wanted: dict[str, Any] = {"vectors": 3, "C": 1.0, "random_state": 0, **more}
        hl.PathClassifier(**wanted).fit(PATHS, labels).save(folder / name)


def _use_path_model(path: Path) -> None:
    hl.model_card(path)
    model = hl.load_model(path)
    use_probabilities(model.predict_proba([["A", "hub", "a"], ["new", "B"]]), len(model.classes_))
    if model.has_sets:
        for apart in (False, True):
            values = model.predict_set([["A", "hub"], ["new"]], 0.1, apart).p_values
            assert values.min() > 0
            assert values.max() <= 1
    model.top_grams(3)
    repr(model), model.search_results_


@contextlib.contextmanager
def _keeping_files() -> Iterator[None]:
    """Let a fit leave its checkpoints, which it removes when it is done."""
    with mock.patch.object(Path, "unlink", return_value=None):
        yield


def _make_checkpoints(folder: Path) -> None:
    for name in ("dge-bag", "gcn", "path2vec"):
        (folder / name).mkdir()
        with _keeping_files():
            _resume(folder / name)


def _resume(folder: Path) -> Any:
    more: dict[str, Any] = {"checkpoint": folder / "fit.ckpt", "checkpoint_seconds": 0.0, "n_epochs": 2}
    if folder.name == "dge-bag":
        more |= {"edge_power": "auto"}
    return _fit(folder.name, "nodes", **more)


def _use_checkpoint(path: Path) -> None:
    model = _resume(path)
    use_probabilities(model.predict_proba(list(model.network.vocabulary.names)[:3]))


TARGETS = [
    Target("node-model", _make_bags, _use_model, cases=40),
    Target("link-model", _make_models(("dge-pool", "links")), _use_model, cases=40),
    Target(
        "baseline-model",
        _make_models(*((n, "nodes") for n in _NODE_BASELINES), *((n, "links") for n in _LINK_BASELINES)),
        _use_model,
        cases=40,
    ),
    Target("path-model", _make_path_models, _use_path_model, cases=40),
    Target("checkpoint", _make_checkpoints, _use_checkpoint, cases=20),
]
