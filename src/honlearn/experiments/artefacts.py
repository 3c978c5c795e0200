"""What an evaluation keeps for the report: between a fitted estimator and the files of a run.

In: data and jobs of an evaluation, fitted estimators and their predictions. Out: files in ``RUN/artefacts``
(see :mod:`honlearn.results.artefacts`). Nothing here is timed, changes a prediction, or is part of a
configuration.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.experiments.expected_links import expected_links
from honlearn.hon.network import HigherOrderNetwork
from honlearn.results import artefacts

if TYPE_CHECKING:
    from honlearn.experiments.predictions import Predictions
    from honlearn.tasks.explain.value import Explanation

# Links that are not there yet: candidates scored, and those kept.
CANDIDATES, KEPT = 2000, 100
# Nodes of a fit whose predictions are explained, and reasons of each kind.
EXPLAINED, REASONS = 100, 3
# Columns of a table of nodes that hold none: those without a name, and the class.
_NO_FACT = ("", "label")
_CURVES = ("phase", "stage", "epoch", "loss", "validation_loss", "validation_score", "groups")


def keep_inputs(run: str | Path, inputs: Iterable[Any], nodes: Sequence[str], labels: Sequence[str]) -> None:
    """Keep the networks among the inputs, and the classes; those that fits have chosen are not kept."""
    for network in inputs:
        if isinstance(network, HigherOrderNetwork):
            artefacts.write_network(run, network)
    artefacts.write_labels(run, list(nodes), list(labels))


def keep_facts(run: str | Path, labels: str | Path | None, node_column: str | None = None) -> None:
    """Keep the facts of a table of nodes: the columns of LABELS, and those of ``nodes.csv`` beside it.

    A data set's folder has such a table; columns named latitude and longitude put the network on a map. The
    nodes are in the first column, of LABELS in `node_column` where it is named.
    """
    if labels is None:
        return
    source = Path(labels)
    beside = source.parent / "nodes.csv"
    known: dict[str, dict[str, Any]] = {}
    for path in (source, beside) if beside.is_file() and beside != source else (source,):
        for node, facts in _table(path, node_column if path == source else None):
            known.setdefault(node, {}).update(facts)
    known = {node: facts for node, facts in known.items() if facts}
    if known:
        artefacts.write_facts(run, known)


def _table(path: Path, node_column: str | None) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield the node and the other columns that have a name of each row; the class is left out."""
    from honlearn.labels import csv_rows

    rows = csv_rows(path)
    _, header = next(rows, (0, []))
    node = header.index(node_column) if node_column in header else 0
    named = {
        i: name for i, name in enumerate(header) if i != node and name.strip().casefold() not in _NO_FACT
    }
    for _, row in rows:
        yield row[node], {name: row[i] for i, name in named.items() if i < len(row) and row[i].strip()}


def keep_node_answers(
    run: str | Path, digest: str, estimator: Any, predictions: Predictions, truth: Iterable[object]
) -> None:
    """Keep the predictions of a fit for its test nodes, those of each learner, and from which relative."""
    about: dict[str, Any] = {
        "nodes": list(predictions.nodes),
        "truth": [str(label) for label in truth],
        "classes": [str(name) for name in predictions.classes.tolist()],
        "history": _history(estimator),
    }
    arrays: dict[str, NDArray[Any]] = {"proba": predictions.proba.astype(np.float32)}
    if predictions.members is not None:
        arrays["members"] = predictions.members.astype(np.float16)
    if predictions.p_values is not None:
        arrays["p_values"] = predictions.p_values
    if hasattr(estimator, "votes"):
        votes, relatives = estimator.votes(predictions.nodes)
        own = np.searchsorted(predictions.classes, np.asarray(estimator.classes_))
        drawn = np.zeros((*votes.shape[:2], len(predictions.classes)), np.float16)
        drawn[..., own] = votes
        arrays["drawn"] = drawn
        # A relative is named by its place in a network that the page knows, not in one that a fit has chosen.
        if relatives is not None and isinstance(estimator.network, HigherOrderNetwork):
            arrays["relatives"] = artefacts.place_in_family(_network(estimator))[relatives].astype(np.int32)
    if hasattr(estimator, "explanations"):
        about["reasons"] = _reasons(estimator, predictions, about["truth"])
    artefacts.write_answers(run, digest, artefacts.Answers(about, arrays))


def _reasons(estimator: Any, predictions: Predictions, truth: Sequence[str]) -> list[dict[str, Any]]:
    """Return why nodes have their predictions: those that are wrong first, then the least sure."""
    sure, best = predictions.proba.max(1), predictions.proba.argmax(1)
    right = predictions.classes.astype(str)[best] == np.asarray(truth)
    chosen = np.lexsort((sure, right))[:EXPLAINED]
    found = estimator.explanations([predictions.nodes[i] for i in chosen], top=REASONS)
    return [plain_explanation(one) for one in found]


def plain_explanation(one: Explanation) -> dict[str, Any]:
    """Return an explanation as a run keeps it."""
    return {
        "node": one.subject,
        "label": one.label,
        "probability": round(one.probability, 5),
        "references": {other.name: round(other.probability, 5) for other in one.references},
        "reasons": [
            {
                "kind": reason.kind,
                "name": reason.name,
                "value": None if reason.value is None else round(reason.value, 5),
                "without": round(reason.without, 5),
                "support": reason.support,
            }
            for reason in one.reasons
        ],
    }


class PairAnswers(NamedTuple):
    """Test pairs with what a fit predicts: names, truth and kind of each, probability, and of each member."""

    pairs: Sequence[tuple[str, str]]
    truth: NDArray[np.int64]
    kinds: NDArray[np.int8]
    linked: NDArray[Any]
    members: NDArray[Any] | None


def keep_link_answers(
    run: str | Path,
    digest: str,
    estimator: Any,
    tested: PairAnswers,
    whole: HigherOrderNetwork | None = None,
) -> None:
    """Keep the predictions of a fit for its test pairs.

    With the `whole` network also its most likely links that are not there yet.
    """
    pairs, truth, kinds, linked, members = tested
    about: dict[str, Any] = {"pairs": [list(pair) for pair in pairs], "history": _history(estimator)}
    arrays: dict[str, NDArray[Any]] = {
        "truth": np.asarray(truth, np.int8),
        "kinds": np.asarray(kinds, np.int8),
        "linked": np.asarray(linked, np.float32),
    }
    if members is not None:
        arrays["members"] = members.astype(np.float16)
    new = None if whole is None else expected_links(estimator, whole, CANDIDATES, KEPT)
    if new is not None and new.pairs:
        about["new_pairs"] = [list(pair) for pair in new.pairs]
        arrays["new_linked"] = new.probability.astype(np.float32)
        apart = new.disagreement(estimator)
        if apart is not None:
            arrays["new_disagreement"] = apart.astype(np.float32)
    artefacts.write_answers(run, digest, artefacts.Answers(about, arrays))


def _history(estimator: object) -> list[dict[str, Any]]:
    """Return the learning curves of a fit: one dictionary per epoch, what is not a number left out."""
    table = getattr(estimator, "history_", None)
    if table is None or not hasattr(table, "to_dict"):
        return []
    rows = []
    for row in table.to_dict("records"):
        known = {name: row[name] for name in _CURVES if row.get(name) is not None}
        rows.append(
            {
                name: value if isinstance(value, str) else float(value)
                for name, value in known.items()
                if isinstance(value, str) or math.isfinite(float(value))
            }
        )
    return rows


def _network(estimator: Any) -> HigherOrderNetwork:
    """Return the network that an estimator was fitted on: the one it was given, or has chosen."""
    network: HigherOrderNetwork = getattr(estimator, "network_", estimator.network)
    return network
