"""Synthetic paths with planted memory: labels that only the higher-order structure separates.

In: sizes, an order and a seed. Out: a :class:`Dataset` with the truth. It generalises the paper's Figure 1
(A, C, D and B, C, E): every path starts at a source, crosses ``order - 1`` stages of shared hubs, and ends in
a destination that depends on its start, while every hub sends the same numbers to all destinations. The
first-order network, and every network of an order below the planted one, then looks the same from every
labelled node, to any depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from honlearn.datasets.dataset import Dataset
from honlearn.errors import ParameterError, check_choice, check_integer, check_real
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary
from honlearn.seeds import generator, root_seed

Codes = NDArray[np.int64]
LABELLED = ("sources", "hubs")
_PATHS_A_CONTEXT = 10


@dataclass(frozen=True)
class Truth:
    """What was planted.

    Parameters
    ----------
    order : int
        Entities that decide the next step.
    labelled : {"sources", "hubs"}
        Which nodes have labels.
    contexts : mapping of str to int
        Each planted context, written as in the network (``h0|s3``: now at h0, before at s3), and the group of
        destinations it leads to. The network keeps these, and at order 3 and above also their prefixes
        (``h0|s3`` of ``i1|h0|s3``).
    classes : mapping of str to str
        The class of each labelled node.
    groups : mapping of str to int
        The group of each destination, and of each source where hubs are labelled.
    noise : float
        The share of paths whose end was shuffled.
    """

    order: int
    labelled: str
    contexts: Mapping[str, int]
    classes: Mapping[str, str]
    groups: Mapping[str, int]
    noise: float


@dataclass(frozen=True)
class _Design:
    """Checked sizes of one synthetic data set."""

    classes: int
    order: int
    labelled: str
    nodes: int
    hubs: int
    sources: int
    destinations: int
    repeats: int
    noise: float
    seed: int


def synthetic(
    n_classes: int = 4,
    *,
    order: int = 2,
    labelled: str = "sources",
    n_nodes: int = 200,
    n_hubs: int = 4,
    n_destinations: int = 5,
    n_paths: int | None = None,
    noise: float = 0.0,
    seed: int = 0,
) -> Dataset:
    """Return paths in which only contexts of `order` entities tell the classes apart.

    `labelled` says which nodes have the `n_nodes` labels:

    - ``"sources"``: all sources go to all hubs equally often; a walker who came from a source of class c goes
      on to one of the `n_destinations` destinations of group c. Where a source's paths end, `order` steps on,
      tells its class.
    - ``"hubs"``: the labelled nodes are the first stage in the middle, and sources come in groups; from a
      labelled node of class c a walker of group g goes on to group g + c (modulo `n_classes`). Each labelled
      node receives from all sources and sends to all destinations equally, so only its relatives, taken
      one by one, tell its class. Further stages and the sources of each group number `n_hubs` nodes.

    `n_paths` is rounded up until every context is seen equally often; None means ten paths per context.
    `noise` is the share of paths whose destination is shuffled among paths through the same hubs, which
    leaves every lower-order count as it was.

    Parameters
    ----------
    n_classes
        Number of classes.
    order
        Entities that decide the next step.
    labelled
        ``"sources"`` or ``"hubs"``.
    n_nodes
        Number of labelled entities.
    n_hubs
        Entities of each stage in the middle.
    n_destinations
        Destinations of each group.
    n_paths
        Fewest paths; None is ten for each context.
    noise
        Share of paths whose destination is shuffled.
    seed
        Decides everything random.

    Examples
    --------
    >>> data = synthetic(2, n_nodes=4, n_hubs=1, n_destinations=1, n_paths=8)
    >>> sorted(zip(data.paths, data.paths.counts.tolist()))[:2]
    [(('s0', 'h0', 'd0.0'), 2), (('s1', 'h0', 'd1.0'), 2)]
    >>> dict(data.labels)
    {'s0': 'c0', 's1': 'c1', 's2': 'c1', 's3': 'c0'}
    >>> data.truth.contexts["h0|s1"]
    1
    """
    design = _checked(n_classes, order, labelled, n_nodes, n_hubs, n_destinations, n_paths, noise, seed)
    classes = generator(design.seed, "synthetic", "classes").permutation(
        np.arange(design.nodes) % design.classes
    )
    names, stages = _names(design)
    walks, groups = _walks(design, classes)
    ends = _destinations(design, walks, groups)
    rows, counts = np.unique(
        np.column_stack((walks + stages[:-1], ends + stages[-1])), axis=0, return_counts=True
    )
    offsets = np.arange(len(rows) + 1, dtype=np.int64) * (order + 1)
    paths = Paths(rows.ravel().astype(np.int32), offsets, Vocabulary.from_names(names), counts)
    truth = _truth(design, names, stages, walks, groups, classes)
    planted = (
        f"{design.classes} classes, memory of order {order}, {labelled} labelled, noise {design.noise:g}"
    )
    return Dataset(
        "synthetic",
        paths,
        truth.classes,
        None,
        f"Planted dependencies: {planted}, seed {design.seed}",
        "made by honlearn, no rights claimed",
        "honlearn.datasets.synthetic",
        truth=truth,
    )


def _checked(
    n_classes: int,
    order: int,
    labelled: str,
    n_nodes: int,
    n_hubs: int,
    n_destinations: int,
    n_paths: int | None,
    noise: float,
    seed: int,
) -> _Design:
    owner = "synthetic"
    check_choice(owner, "labelled", labelled, LABELLED)
    classes = check_integer(owner, "n_classes", n_classes, 2)
    order = check_integer(owner, "order", order, 2)
    nodes = check_integer(owner, "n_nodes", n_nodes, classes)
    hubs = check_integer(owner, "n_hubs", n_hubs, 1)
    destinations = check_integer(owner, "n_destinations", n_destinations, 1)
    wanted = None if n_paths is None else check_integer(owner, "n_paths", n_paths, 1)
    share = check_real(owner, "noise", noise, 0.0, 1.0)
    # Labelled sources × hubs of each stage, or grouped sources × labelled hubs × hubs of further stages.
    sources = nodes if labelled == "sources" else classes * hubs
    contexts = nodes * hubs ** (order - 1) * (1 if labelled == "sources" else classes)
    if contexts > 10_000_000:
        raise ParameterError(
            f"synthetic would plant {contexts:,} contexts, more than 10,000,000; "
            "lower 'n_hubs', 'n_nodes' or 'order'"
        )
    repeats = _PATHS_A_CONTEXT if wanted is None else -(-wanted // contexts)
    return _Design(
        classes, order, labelled, nodes, hubs, sources, destinations, repeats, share, root_seed(seed)
    )


def _names(design: _Design) -> tuple[list[str], Codes]:
    """Return all names and the code at which each stage starts: sources, order - 1 stages of hubs, ends."""
    letters = "hijklmnopq"
    blocks = [[f"s{i}" for i in range(design.sources)]]
    for stage in range(design.order - 1):
        size = design.nodes if design.labelled == "hubs" and stage == 0 else design.hubs
        letter = letters[stage] if stage < len(letters) else f"h{stage}."
        blocks.append([f"{letter}{i}" for i in range(size)])
    blocks.append([f"d{g}.{i}" for g in range(design.classes) for i in range(design.destinations)])
    starts = np.cumsum([0] + [len(block) for block in blocks[:-1]])
    return [name for block in blocks for name in block], starts


def _walks(design: _Design, classes: Codes) -> tuple[Codes, Codes]:
    """Return every context once for each repeat, [paths, order], and the group it leads to, [paths]."""
    sizes = [design.sources] + [design.hubs] * (design.order - 1)
    if design.labelled == "hubs":
        sizes[1] = design.nodes
    # How many rows a place of each stage stands for; an array of one axis per stage has too many axes.
    rows = np.cumprod([1, *sizes[:0:-1]])[::-1]
    grid = np.arange(rows[0] * sizes[0])[:, None] // rows % sizes
    walks = np.repeat(grid, design.repeats, axis=0)
    if design.labelled == "sources":
        return walks, classes[walks[:, 0]]
    return walks, (walks[:, 0] + classes[walks[:, 1]]) % design.classes


def _destinations(design: _Design, walks: Codes, groups: Codes) -> Codes:
    """Return the destination of each path: all of a group's destinations equally often from the same hubs.

    Paths through the same hubs are dealt the group's destinations in turn; the order in which they are
    dealt is random, so no source has destinations of its own.
    """
    rng = generator(design.seed, "synthetic", "destinations")
    hubs = np.unique(walks[:, 1:], axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((rng.random(len(walks)), groups, hubs))
    key = hubs[order] * design.classes + groups[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1])))
    sizes = np.diff(np.append(starts, len(key)))
    turn = np.arange(len(key)) - np.repeat(starts, sizes)
    # Where the numbers do not divide, who gets one more is drawn afresh for every hub and group.
    turn += np.repeat(rng.integers(design.destinations, size=len(starts)), sizes)
    ends = np.empty(len(walks), np.int64)
    ends[order] = groups[order] * design.destinations + turn % design.destinations

    noisy = np.flatnonzero(generator(design.seed, "synthetic", "noise").random(len(walks)) < design.noise)
    shuffle = generator(design.seed, "synthetic", "shuffle").random(len(noisy))
    ends[noisy[np.lexsort((noisy, hubs[noisy]))]] = ends[noisy[np.lexsort((shuffle, hubs[noisy]))]]
    return ends


def _truth(
    design: _Design, names: list[str], stages: Codes, walks: Codes, groups: Codes, classes: Codes
) -> Truth:
    every = slice(None, None, design.repeats)
    contexts = {
        "|".join(names[code] for code in reversed(context)): group
        for context, group in zip((walks[every] + stages[:-1]).tolist(), groups[every].tolist(), strict=True)
    }
    first = 0 if design.labelled == "sources" else int(stages[1])
    labels = {names[first + i]: f"c{c}" for i, c in enumerate(classes.tolist())}
    belongs = {
        names[int(stages[-1]) + i]: i // design.destinations
        for i in range(design.classes * design.destinations)
    }
    if design.labelled == "hubs":
        belongs |= {names[i]: i % design.classes for i in range(design.sources)}
    return Truth(design.order, design.labelled, contexts, labels, belongs, design.noise)
