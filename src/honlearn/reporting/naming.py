"""The order and the names of classes on the page.

In: classes as they are in the labels, and what is known of nodes. Out: classes sorted as a reader counts
(``2`` before ``10``), and a name for each where a column of the table of nodes has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any


def natural(text: str) -> tuple[Any, ...]:
    """Return a key by which numbers within texts sort as numbers.

    >>> sorted(["10", "US-terr", "2", "1"], key=natural)
    ['1', '2', '10', 'US-terr']
    """
    parts = re.split(r"(\d{1,18})", text)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts if part)


def class_order(classes: Iterable[str]) -> list[str]:
    """Return the classes in the order of the page, whatever order they come in.

    >>> class_order(["01", "1"]) == class_order(["1", "01"])
    True
    """
    return sorted(classes, key=lambda name: (natural(name), name))


def class_names(labels: Mapping[str, str], facts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return a name for each class; empty where no column of the table of nodes names them.

    A column names the classes if every labelled node has it, each class has one value and each value one
    class, and it is not the class itself.

    >>> labels = {"ABI": "6", "ACT": "6", "ALB": "2"}
    >>> facts = {"ABI": {"region_name": "Dallas"}, "ACT": {"region_name": "Dallas"}}
    >>> class_names(labels, facts | {"ALB": {"region_name": "New York"}})
    {'6': 'Dallas', '2': 'New York'}
    """
    classes = set(labels.values())
    if len(classes) < 2 or len(labels) <= len(classes):
        return {}
    columns = dict.fromkeys(column for node in labels for column in facts.get(node, {}))
    for column in sorted(columns, key=lambda name: "name" not in name.casefold()):
        pairs = {(label, str(facts.get(node, {}).get(column, ""))) for node, label in labels.items()}
        found = dict(pairs)
        told = len(pairs) == len(classes) == len(set(found.values())) and all(found.values())
        if told and any(label != name for label, name in pairs):
            return {label: found[label] for label in dict.fromkeys(labels.values())}
    return {}
