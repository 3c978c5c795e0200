"""Folds: which labelled nodes are tested together.

In: labelled nodes, their classes and a seed, or a file of folds. Out: the positions of the test nodes of
each fold; everything else that has a label is trained on.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, InputError, MissingFileError, check_choice, check_integer, listed
from honlearn.stored import read_json

Positions = NDArray[np.int64]
KINDS = ("stratified", "published", "file")
PUBLISHED_FOLDS, PUBLISHED_SEED = 5, 7
MOST_SEED = 2**32 - 1  # what scikit-learn's generators take


@dataclass(frozen=True)
class Folds:
    """How to split: `kind` is ``"stratified"``, ``"published"`` or ``"file"`` (with the `given` names)."""

    kind: str = "stratified"
    count: int = 5
    given: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        check_choice("Folds", "kind", self.kind, KINDS)
        check_integer("Folds", "count", self.count, 1 if self.kind == "file" else 2)

    def tests(self, nodes: Sequence[str], labels: Sequence[str], seed: int) -> list[Positions]:
        """Return the positions in `nodes` of the test nodes of each fold, ascending.

        `nodes` are in the order of the label file, which only the published folds depend on. The seed
        decides stratified folds only.
        """
        if self.kind == "published":
            return published_folds(nodes, labels)
        if self.kind == "file":
            return _named_folds(self.given, nodes)
        return stratified_folds(nodes, labels, self.count, seed)


def stratified_folds(
    nodes: Sequence[str], labels: Sequence[str], count: int, seed: int, what: str = "nodes"
) -> list[Positions]:
    """Return shuffled folds with the same share of each class, by scikit-learn's ``StratifiedKFold``.

    Nodes are taken in the order of their names, so the rows of a label file may be shuffled. A class with
    fewer members than folds is in some test parts only, and one with a single member is never trained on
    when it is tested; :func:`rare_classes` names them.
    """
    order = np.array(sorted(range(len(nodes)), key=lambda i: nodes[i]), np.int64)
    classes = np.asarray(labels, dtype=object)[order].astype(str)
    return [np.sort(order[test]) for test in _stratified(classes, count, seed, what)]


def published_folds(nodes: Sequence[str], labels: Sequence[str]) -> list[Positions]:
    """Return the folds that the published program makes: the paper's, for the paper's label files.

    It shuffles nodes sorted as text but stratifies by the labels in file order, so where the two orders
    differ (Wiki) its folds are not stratified. `nodes` must be those of the network, in file order.
    """
    order = np.array(sorted(range(len(nodes)), key=lambda i: nodes[i]), np.int64)
    classes = np.asarray(labels, dtype=object).astype(str)
    return [np.sort(order[test]) for test in _stratified(classes, PUBLISHED_FOLDS, PUBLISHED_SEED)]


def _stratified(classes: NDArray[np.str_], count: int, seed: int, what: str = "nodes") -> list[Positions]:
    from sklearn.model_selection import StratifiedKFold

    check_integer("folds", "seed", seed, 0, MOST_SEED)
    largest = max(Counter(classes.tolist()).values(), default=0)
    if largest == 1:
        raise InputError(
            f"all {len(classes):,} labelled {what} have a class of their own, and none is left to learn it "
            "from; is this the column of classes? Numbers on a scale are to be put into groups first"
        )
    if largest < count:
        raise InputError(
            f"{count} folds, but the largest class has {largest} labelled {what}; ask for fewer folds "
            f"or label more {what}"
        )
    splitter = StratifiedKFold(count, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Said in our own words, with the names of the classes, where the folds are asked for.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return [test for _, test in splitter.split(np.zeros(len(classes)), classes)]


def rare_classes(labels: Sequence[str], count: int) -> dict[str, int]:
    """Return the classes with fewer members than there are folds, rarest first, each with its members.

    >>> rare_classes(["a", "a", "a", "b"], 3)
    {'b': 1}
    """
    counts = Counter(labels)
    return dict(sorted(((c, n) for c, n in counts.items() if n < count), key=lambda item: (item[1], item[0])))


def read_folds(path: str | PathLike[str]) -> Folds:
    """Return the folds of a JSON file: a list with one list of test nodes for each fold."""
    source = Path(path)
    if not source.exists():
        raise MissingFileError(f"{source}: no such file; name a JSON list of lists of node names")
    value = read_json(source, advice="name a JSON list of lists of node names")
    lists = isinstance(value, list) and value and all(isinstance(fold, list) and fold for fold in value)
    if not lists or not all(isinstance(name, (str, int)) for fold in value for name in fold):
        raise FormatError(
            f"{source}: not folds; expected a JSON list with a list of node names for each fold"
        )
    given = tuple(tuple(str(name) for name in fold) for fold in value)
    twice = [name for name, times in Counter(name for fold in given for name in fold).items() if times > 1]
    if twice:
        raise FormatError(f"{source}: {listed(map(repr, twice), 5)} tested more than once; list a node once")
    return Folds("file", len(given), given)


def _named_folds(given: Sequence[Sequence[str]], nodes: Sequence[str]) -> list[Positions]:
    """Return the positions of the named test nodes; a node in no fold is always trained on."""
    place = {name: i for i, name in enumerate(nodes)}
    missing = [name for fold in given for name in fold if name not in place]
    if missing:
        raise InputError(
            f"the folds name {len(missing):,} nodes that are not labelled nodes of the network: "
            f"{listed(map(repr, missing), 5)}"
        )
    if len(given) == 1 and len(given[0]) == len(nodes):
        raise InputError("the only fold tests every labelled node, so none is left to train on")
    return [np.sort(np.array([place[name] for name in fold], np.int64)) for fold in given]
