"""A data set: observed paths with the labels of some entities, what is known of the nodes, and its origin.

In: what a reader or a generator has made. Out: one immutable value, which every function of
:mod:`honlearn.datasets` returns. The paths go to :func:`honlearn.grow`, the labels to a classifier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from honlearn.paths.paths import Paths

if TYPE_CHECKING:
    import pandas as pd

    from honlearn.datasets.planted import Truth


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Paths, labels and provenance under one name.

    Parameters
    ----------
    name : str
        What the data set is called.
    paths : Paths
        The observed paths.
    labels : mapping of str to str
        The class of each labelled node.
    nodes : pandas.DataFrame, optional
        A table with a column ``node`` and what else is known of nodes, such as coordinates.
    description, licence, source : str
        What the data are, under which terms they may be used, and where they are from.
    tally : mapping of str to int
        What the reader met on the way and how often, such as paths that were discarded.
    truth : Truth, optional
        What was planted, for data made by :func:`honlearn.datasets.synthetic`.

    Examples
    --------
    >>> from honlearn.paths import Paths
    >>> paths = Paths.from_lists([["A", "C", "D"], ["B", "C", "E"]])
    >>> data = Dataset("toy", paths, {"A": "left", "B": "right"})
    >>> data
    Dataset('toy': 2 paths, 5 entities, 2 labelled in 2 classes)
    >>> data.labelled()
    (['A', 'B'], ['left', 'right'])
    """

    name: str
    paths: Paths
    labels: Mapping[str, str] = field(default_factory=dict)
    nodes: pd.DataFrame | None = None
    description: str = ""
    licence: str = ""
    source: str = ""
    tally: Mapping[str, int] = field(default_factory=dict)
    truth: Truth | None = None

    def __post_init__(self) -> None:
        for name in ("labels", "tally"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def classes(self) -> dict[str, int]:
        """Labelled nodes in each class, by class name."""
        return dict(sorted(Counter(self.labels.values()).items()))

    def labelled(self) -> tuple[list[str], list[str]]:
        """Return the labelled nodes that occur in the paths, in order of their names, and their labels."""
        nodes = sorted(node for node in self.labels if node in self.paths.vocabulary)
        return nodes, [self.labels[node] for node in nodes]

    def __repr__(self) -> str:
        labelled = f"{len(self.labels):,} labelled in {len(self.classes):,} classes"
        sizes = f"{self.paths.total:,} paths, {len(self.paths.vocabulary):,} entities"
        return f"Dataset({self.name!r}: {sizes}, {labelled if self.labels else 'no labels'})"

    def _repr_html_(self) -> str:
        lengths = self.paths.lengths
        facts = {
            "paths": f"{self.paths.total:,} ({len(self.paths):,} rows)",
            "entities": f"{len(self.paths.vocabulary):,}",
            "path length": f"{lengths.min()} to {lengths.max()}" if len(lengths) else "",
            "labels": ", ".join(f"{name} ({size:,})" for name, size in self.classes.items()),
            **{name: f"{count:,}" for name, count in self.tally.items()},
            "licence": self.licence,
            "source": self.source,
        }
        rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items() if v)
        return f"<p><b>{escape(self.name)}</b> {escape(self.description)}</p><table>{rows}</table>"
