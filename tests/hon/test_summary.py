from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from network_cases import FIGURE, network

from honlearn.errors import InputError, ParameterError
from honlearn.hon.edgelist import from_edges
from honlearn.hon.formats import load_network
from honlearn.hon.summary import homophily, node_homophily

CLASSES = {"A": "x", "C": "x", "D": "x", "E": "y", "elsewhere": "z"}


def test_sizes_without_labels() -> None:
    row = network(FIGURE).summary()
    assert row.to_dict("records") == [{"k": 2, "|V1|": 5, "|E1|": 4, "|Vk|": 7, "|Ek|": 6}]


@pytest.mark.parametrize(
    "labels",
    [
        CLASSES,
        (list(CLASSES), list(CLASSES.values())),
        pd.Series(CLASSES),
        pd.DataFrame({"node": list(CLASSES), "kind": list(CLASSES.values())}),
        {**CLASSES, "B": float("nan")},
        pd.Series({**CLASSES, "B": None}),
        ([*CLASSES, "B"], [*CLASSES.values(), " "]),
    ],
    ids=["dict", "pair", "series", "table", "NaN", "None", "blank"],
)
def test_homophily_counts_edges_between_labelled_ends(labels: Any) -> None:
    # B has no class. G1: A→C, C→D same, C→E not. G2: A→C|A, C→D, C|A→D same; C→E, C|B→E not.
    row = network(FIGURE).summary(labels).iloc[0]
    assert row["classes"] == 2
    assert row["H(G1)"] == pytest.approx(2 / 3)
    assert row["H(Gk)"] == pytest.approx(3 / 5)


def test_homophily_of_nodes() -> None:
    hon = network(FIGURE)
    values = dict(zip(hon.nodes, node_homophily(hon, CLASSES).tolist(), strict=True))
    assert {name: value for name, value in values.items() if not isnan(value)} == {
        "A": 1.0,
        "C": 0.5,
        "C|A": 1.0,
        "C|B": 0.0,
    }
    assert homophily(hon, CLASSES, average="nodes") == pytest.approx(2.5 / 4)
    assert isnan(homophily(hon, {"D": "x"}))
    assert isnan(homophily(hon, {"D": "x"}, average="nodes"))


def test_whole_numbers_that_are_floats_are_names() -> None:
    hon = from_edges(["1", "2"], ["2", "1"])
    assert homophily(hon, pd.Series({1.0: 5.0, 2.0: 5.0})) == 1.0
    assert homophily(hon, {"1": 5.0, 2: "5"}) == 1.0


def test_labels_that_fit_nothing_are_refused() -> None:
    with pytest.raises(InputError, match=r"none of the 1 labelled nodes is in the network: .*'a' is 'A'"):
        network(FIGURE).summary({"a": "x"})
    with pytest.raises(InputError, match="labels must be a mapping"):
        network(FIGURE).summary(["A", "B"])
    with pytest.raises(InputError, match="2 nodes but 1 classes"):
        network(FIGURE).summary((["A", "B"], ["x"]))
    with pytest.raises(ParameterError, match="'average' parameter of homophily"):
        homophily(network(FIGURE), CLASSES, average="weights")


def test_table_1_of_the_paper(shared: Path) -> None:
    """The published H is the fraction of edges between nodes of one class, each edge once."""
    graphs = shared / "data/paper_graphs"
    wiki = load_network(graphs / "wiki2.txt")
    row = wiki.summary(graphs / "wiki_labels.csv").iloc[0]
    assert row.round(3).to_dict() == {
        "k": 2,
        "|V1|": 4179,
        "|E1|": 70662,
        "|Vk|": 5584,
        "|Ek|": 84806,
        "classes": 10,
        "H(G1)": 0.366,
        "H(Gk)": 0.375,
    }
    air = load_network(graphs / "air1.txt").summary(graphs / "air_labels.csv").iloc[0]
    assert (air["classes"], round(air["H(G1)"], 3)) == (10, 0.351)
    # The mean over nodes, which the text of the paper describes, is not what Table 1 holds.
    nodes = [homophily(hon, graphs / "wiki_labels.csv", "nodes") for hon in (wiki.first_order(), wiki)]
    assert [round(value, 3) for value in nodes] == [0.378, 0.393]
