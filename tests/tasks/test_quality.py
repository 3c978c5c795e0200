"""What the ensembles are for: labels that only memory separates, and the paper's Wiki network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import honlearn as hl
from honlearn import DGEClassifier, Training
from honlearn.datasets.planted import synthetic
from honlearn.learners import SAGE

HALVES, QUARTERS = (StratifiedKFold(n, shuffle=True, random_state=7) for n in (2, 4))


@pytest.mark.parametrize("variant", ["bag", "pool"])
def test_memory_separates_what_first_order_cannot(variant: str) -> None:
    data = synthetic(4, n_nodes=120, seed=1)
    nodes, labels = np.array(list(data.labels)), np.array(list(data.labels.values()))
    scores = []
    for order in (1, 2):
        hon = hl.grow(data.paths, order=order, tau=1.0, min_support=1)
        learner = SAGE(widths=(32, 32))
        model = DGEClassifier(hon, learner, 4, variant, random_state=0, n_threads=1)
        scores.append(float((cross_val_predict(model, nodes, labels, cv=HALVES) == labels).mean()))
    # Four classes: 0.25 is expected by chance, and 120 guesses have a standard deviation of 0.04.
    assert scores[0] < 0.4
    assert scores[1] >= 0.9


def test_wiki_in_seconds(shared: Path) -> None:
    folder = shared / "data" / "paper_graphs"
    hon = hl.load_network(folder / "wiki2.txt")
    table = pd.read_csv(folder / "wiki_labels.csv").astype(str)
    labels = dict(zip(table.iloc[:, 0], table["Label"], strict=True))
    nodes = np.array(list(hon.vocabulary))
    y = np.array([labels[node] for node in nodes])
    train, test = next(QUARTERS.split(nodes, y))
    model = DGEClassifier(hon, "sage", 4, training=Training(refit=0), random_state=0, n_threads=1)
    model.fit(nodes[train], y[train])
    assert model.score(nodes[test], y[test]) > 0.65
    uncertain = model.entropy(nodes[test]) > 1
    right = model.predict(nodes[test]) == y[test]
    assert right[~uncertain].mean() > right[uncertain].mean() + 0.2
