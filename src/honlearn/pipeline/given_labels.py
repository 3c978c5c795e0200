"""Labels in any form: a CSV file, a dictionary, a table of pandas or Polars, a series, pairs, two sequences.

In: what the user has. Out: names of nodes and their classes, as two lists of texts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from honlearn.errors import InputError
from honlearn.labels import labelled_texts, read_labels, table_pairs


def as_labels(
    labels: Any, label_column: str | None = None, node_column: str | None = None
) -> tuple[list[str], list[str]]:
    """Return nodes and classes; what has no class (empty, None, NaN) is left out.

    >>> as_labels({"ATL": "south", "JFK": None})
    (['ATL'], ['south'])
    """
    if isinstance(labels, (str, os.PathLike)):
        return read_labels(labels, label_column, node_column)
    if isinstance(labels, Mapping) or (type(labels).__name__ == "Series" and hasattr(labels, "items")):
        pairs = list(labels.items())
    elif hasattr(labels, "columns") and hasattr(labels, "to_dict"):
        pairs = table_pairs(labels, label_column, node_column)
    elif _are_pairs(labels):
        pairs = [(node, label) for node, label in labels]
    elif isinstance(labels, (tuple, list)) and len(labels) == 2 and len(labels[0]) == len(labels[1]):
        pairs = list(zip(*labels, strict=True))
    else:
        raise InputError(
            "labels must be a CSV file, a dictionary, a table or series of pandas, a table of Polars, a list "
            f"of pairs, or (nodes, classes). Got {type(labels).__name__} instead"
        )
    kept = list(labelled_texts(pairs))
    if not kept:
        raise InputError("labels: no node has a class; give at least two classes")
    known: dict[str, str] = {}
    # A node that is there twice could be trained on and tested at once.
    for node, label in kept:
        if known.setdefault(node, label) != label:
            raise InputError(f"labels: node {node!r} is {known[node]!r} and {label!r}; give it one class")
    return list(known), list(known.values())


def _are_pairs(labels: Any) -> bool:
    """Return whether labels are a list of (node, class); two pairs might be (nodes, classes) as well."""
    found = isinstance(labels, list) and all(isinstance(one, tuple) and len(one) == 2 for one in labels)
    if found and len(labels) == 2:
        raise InputError(
            f"labels: {labels!r} may be two pairs or (nodes, classes); pass a dictionary: "
            f"{{node: class}}, such as {dict(labels)!r}"
        )
    return found and len(labels) > 0
