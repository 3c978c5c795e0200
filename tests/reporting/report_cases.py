"""Runs for the tests of the report: made by hand, so that a fit, torch or time is not needed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import honlearn as hl
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.vocabulary import Vocabulary
from honlearn.results import artefacts
from honlearn.results.learned import Entity, LearnedFacts, write_learned
from honlearn.results.metrics import scores
from honlearn.results.record import Configuration, DataDigests, Record, Sizes, Times
from honlearn.results.records import Records, digest_of, network_digest

EVIL = "<script>alert(1)</script>"


def small_paths() -> list[list[str]]:
    """Round trips through two hubs: who came from A goes back to A. One node has an evil name."""
    homes = ["A", "B", "C", "D", "E", "F", EVIL, "G&<b>x</b>"]
    return [[home, hub, home] for home in homes for hub in ("hub one", "hub two")] * 8


def small_network() -> HigherOrderNetwork:
    return hl.grow(small_paths(), order=2, tau=1.0, min_support=1)


def large_network(nodes: int, contexts: int) -> HigherOrderNetwork:
    """Return a network of entities with 40 links each, and of contexts with 8 of their entity's."""
    draw = np.random.default_rng(1)
    names = sorted(f"entity number {i:05d}" for i in range(nodes))
    base = np.sort(draw.integers(0, nodes, 3 * contexts))
    pairs = np.unique(np.stack([base, draw.integers(0, nodes, 3 * contexts)], 1), axis=0)
    pairs = pairs[np.sort(draw.permutation(len(pairs))[:contexts])]
    grams = np.concatenate([np.arange(nodes), pairs.ravel()])
    offsets = np.concatenate([np.arange(nodes + 1), nodes + 2 * np.arange(1, contexts + 1)])
    degree = np.repeat([40, 8], [nodes, contexts])
    # One link to each of forty parts of the entities; where a context goes on to, its base node leads to.
    width = nodes // 40
    links = np.arange(40) * width + draw.integers(0, width, (nodes, 40))
    some = np.sort(draw.random((contexts, 40)).argsort(1)[:, :8], 1)
    own = np.take_along_axis(links[pairs[:, 0]], some, 1)
    targets = np.concatenate([links.ravel(), own.ravel()])
    weights = draw.integers(1, 1000, len(targets))
    indptr = np.concatenate([[0], np.cumsum(degree)])
    return HigherOrderNetwork(Vocabulary.from_names(names), offsets, grams, indptr, targets, weights)


def reasons_for(node: str, label: str) -> dict[str, Any]:
    """Return reasons as a run keeps them, with a name that would like to be code."""
    given = (("memory", f"{node}|{EVIL}", 0.25), ("neighbor", "hub one", -0.125), ("path", "A → B", None))
    rows = [
        {"kind": kind, "name": name, "value": value, "without": 0.5, "support": f"{EVIL} 3 times"}
        for kind, name, value in given
    ]
    references = {"without memory (base node alone)": 0.4, "without neighbours": 0.3}
    return {
        "node": node,
        "label": label,
        "probability": 0.75,
        "references": references,
        "reasons": rows,
    }


def write_run(
    folder: Path,
    network: HigherOrderNetwork,
    labels: dict[str, str],
    *,
    models: Sequence[tuple[str, str]] = (("dge-bag", "gk"), ("dge-bag", "g1")),
    learners: int = 4,
    folds: int = 3,
    sharpness: float = 2.0,
    facts: dict[str, dict[str, Any]] | None = None,
    keep: bool = True,
) -> Path:
    """Write a run folder with records and artefacts of votes drawn around the truth."""
    draw = np.random.default_rng(0)
    nodes, truth = list(labels), list(labels.values())
    classes = sorted(set(truth))
    first = network.first_order()
    if keep:
        for net in (network, first):
            artefacts.write_network(folder, net)
        artefacts.write_labels(folder, nodes, truth)
        artefacts.write_facts(folder, facts or {})
    known = digest_of(sorted(zip(nodes, truth, strict=True)))
    records = Records(folder)
    size = np.diff(network.family_indptr)
    for model, name in models:
        for fold in range(folds):
            test = np.arange(fold, len(nodes), folds)
            codes = np.array([classes.index(truth[i]) for i in test])
            raw = draw.normal(size=(learners, len(test), len(classes)))
            raw += sharpness * (np.arange(len(classes)) == codes[:, None])
            members = np.exp(raw) / np.exp(raw).sum(2, keepdims=True)
            net = network if name == "gk" else first
            configuration = Configuration(
                model=model,
                input=name,
                seed=0,
                folds=f"stratified {folds}",
                fold=fold,
                parameters={"n_learners": learners, "max_epochs": 100},
                data=DataDigests(network_digest(net), known, digest_of(test.tolist())),
            )
            digest = digest_of(configuration.to_json())
            if keep:
                own = [network.vocabulary.index(nodes[i]) for i in test]
                relatives = (draw.random((learners, len(test))) * size[own]).astype(np.int32)
                epochs = range(1, 8)
                history = [
                    {"phase": "search", "epoch": e, "loss": 2 / e, "validation_loss": 1 + 1 / e}
                    for e in epochs
                ]
                about = {
                    "nodes": [nodes[i] for i in test],
                    "truth": [truth[i] for i in test],
                    "classes": classes,
                    "history": history,
                    "reasons": [reasons_for(nodes[i], classes[0]) for i in test[:2]],
                }
                arrays: dict[str, Any] = {
                    "proba": members.mean(0).astype(np.float32),
                    "members": members.astype(np.float16),
                    "drawn": members[::-1].astype(np.float16),
                    "relatives": relatives if name == "gk" else np.zeros_like(relatives),
                    "p_values": np.sqrt(members.mean(0)),
                }
                artefacts.write_answers(folder, digest, artefacts.Answers(about, arrays))
            records.append(
                Record(
                    digest,
                    configuration,
                    scores(codes, members.mean(0), members),
                    Sizes(len(nodes) - len(test), len(test), {"classes": len(classes)}),
                    Times(1.0, 0.8, finished="2026-01-01T00:00:00+00:00"),
                    {"honlearn": "0.1.0"},
                )
            )
    return folder


def learned_run(folder: Path) -> Path:
    """Write a run as ``learn`` leaves it: coordinates, names of classes, and an entity without a label."""
    paths = [*small_paths(), ["A", "nobody knows"], ["A", "nobody knows"]]
    network = hl.grow(paths, order=2, tau=1.0, min_support=1)
    names = sorted(network.vocabulary.names)
    labels = {name: ("2", "10")[i % 2] for i, name in enumerate(names) if name != "nobody knows"}
    facts = {
        name: {"latitude": 30 + i, "longitude": -110 + 3 * i, "class_name": {"2": "two", "10": "ten"}[label]}
        for i, (name, label) in enumerate(labels.items())
    }
    write_run(folder, network, labels, facts=facts | {"nobody knows": {"latitude": 35, "longitude": -85}})
    order = ["nobody knows", *labels]
    reasons = reasons_for("nobody knows", "10")
    reasons["references"] = {"on the first-order network": 0.2}
    entities = [
        Entity(name, labels.get(name), [0.75, 0.25], ["10"], reasons if name == order[0] else None)
        for name in order
    ]
    digest = network_digest(network)
    facts_of_run = LearnedFacts("Memory matters.", "All is well.", digest, ["10", "2"], 0.1, entities, "p1")
    write_learned(folder, facts_of_run)
    spread = {"bits_pm": 0.1, "top1": 0.2, "top1_pm": 0.01}
    rows = [
        {"order": 1, "bits": 3.0, **spread},
        {"order": 2, "bits": 2.5, "saved": 0.5, "saved_pm": 0.1, **spread},
        {"order": 3, "bits": 2.4, "saved": 0.1, "saved_pm": 0.2, **spread},
    ]
    artefacts.write_memory(folder, "p1", artefacts.Memory("5 by path", 0, "Memory saves bits.", rows))
    return folder


def link_run(folder: Path) -> Path:
    """Write a run on links: one model, one repetition, six pairs and a link that is not there."""
    network = small_network()
    artefacts.write_network(folder, network)
    data = DataDigests(network_digest(network), test="t")
    asked = Configuration("dge-bag", "gk", 0, 0, "links", "0.1 directed exclude", data=data)
    digest = digest_of(asked.to_json())
    pairs = [["A", "hub one"], ["B", "hub two"], ["C", "hub one"], ["A", "B"], ["C", EVIL], ["E", "F"]]
    truth = np.array([1, 1, 1, 0, 0, 0])
    arrays = {
        "truth": truth.astype(np.int8),
        "linked": np.array([0.9, 0.8, 0.4, 0.6, 0.2, 0.1], np.float32),
        "members": np.tile([0.9, 0.8, 0.4, 0.6, 0.2, 0.1], (3, 1)).astype(np.float16),
        "new_linked": np.array([0.7], np.float32),
        "new_disagreement": np.array([0.5], np.float32),
    }
    about = {"pairs": pairs, "new_pairs": [["A", EVIL]], "history": []}
    artefacts.write_answers(folder, digest, artefacts.Answers(about, arrays))
    scores = {"auprc": 0.9, "auroc": 0.9, "mrr": 0.5, "hits_at_100": 1.0, "log_loss": 0.4}
    Records(folder).append(Record(digest, asked, scores, Sizes(test=6)))
    return folder


def next_run(folder: Path, *, keep: bool = True) -> Path:
    """Evaluate three models of the next step on round trips of four or five entities, in three folds."""
    from honlearn.experiments.next_steps import NextData, evaluate_next, keep_memory, plan_next
    from honlearn.paths.paths import Paths

    trips = [path + ["home"] * (i % 2) + ["bed"] for i, path in enumerate(small_paths())]
    data = NextData.by_path(Paths.from_lists(trips), 3, seed=1)
    folder.mkdir(parents=True)
    list(evaluate_next(data, plan_next(data, ["back-off", "network", "popular"], 3), folder))
    if keep:
        keep_memory(data, 3, folder)
    return folder


def small_labels(network: HigherOrderNetwork) -> dict[str, str]:
    """Two classes by turns; the name of one would like to be a tag."""
    names = sorted(network.vocabulary.names)
    return {name: ("left", "<i>right</i>")[i % 2] for i, name in enumerate(names)}


def content_of(html: str) -> dict[str, Any]:
    """Return the data inside a page."""
    start = html.index('id="data">') + len('id="data">')
    return dict(json.loads(html[start : html.index("</script>", start)]))
