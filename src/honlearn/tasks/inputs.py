"""What users hand to the estimators, by name: nodes, pairs, labels and weights.

The types say what is taken; :mod:`honlearn.tasks.parameters` and :mod:`honlearn.tasks.link_parameters` check
it. Tables and series of pandas and Polars iterate too, so that they need no names of their own here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from numpy.typing import ArrayLike

Names: TypeAlias = Iterable[object]
"""Names of nodes: a list, an array [n] or [n, 1], a column of a table."""

NamePairs: TypeAlias = Iterable[object]
"""Pairs of names: a list of pairs, an array [n, 2], a table of two columns."""

Labels: TypeAlias = Iterable[object]
"""One label an example: a list, an array [n] or [n, 1], a column of a table."""

Weights: TypeAlias = ArrayLike
"""One number an example, at least 0."""
