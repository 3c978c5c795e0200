"""How much memory a training takes, how much there is, and how many learners may train at a time.

In: a model's shape, its network and its options. Out: an :class:`Estimate` in bytes, before anything is
trained, and the size of the groups that a bag is trained in. The terms are those that grow with the network:
weights, their best copy, Adam's moments and gradients by learner; what a step computes; what is read of the
network. ``benchmarks/bench_large.py`` compares estimates with measured peaks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from honlearn.disk_arrays import room
from honlearn.engine.sampled import ROW_WISE_FROM
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Architecture, count_parameters, empty_ensemble
from honlearn.ensemble.loop import TrainingOptions
from honlearn.errors import InputError
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.learners.sage import fan_outs_of
from honlearn.sizes import parse_size, shown_size

# Bytes by edge of whole neighbourhoods (rows of nodes and of entities, both ways), and of sampling tables.
_EXACT_EDGE, _SAMPLED_EDGE = 80, 48
# Of what is available, the share that a training may take.
_SHARE = 0.9


@dataclass(frozen=True)
class Estimate:
    """Bytes that a training takes: `shared` by all learners, `kept` and `working` by each.

    `kept` is the weights of a learner, which stay until the end; `working` is there while it is trained.
    `on_disk`: in a training in groups, learners that are done wait on disk.
    """

    n_learners: int
    shared: int
    kept: int
    working: int
    on_disk: bool = False

    def total(self, group: int) -> int:
        """Return the bytes of a training in groups of so many learners."""
        held = self.n_learners if group < self.n_learners and not self.on_disk else 0
        return self.shared + held * self.kept + group * (self.kept + self.working)

    def group_size(self, limit: int) -> int:
        """Return how many learners may train at a time within a limit, 0 if not even one."""
        for group in range(self.n_learners, 0, -1):
            if self.total(group) <= limit:
                return group
        return 0


def estimate(
    network: HigherOrderNetwork,
    shape: Architecture,
    features: Features | None,
    n_examples: int,
    options: Sequence[TrainingOptions],
) -> Estimate:
    """Return the estimate for a part of an ensemble; of several kinds, that of the largest."""
    found = [
        _of_kind(network, shape, kind, features, n_examples, given)
        for kind, given in zip(shape.kinds, options, strict=True)
    ]
    most = max(found, key=lambda one: one.total(1))
    return replace(most, on_disk=room() > most.n_learners * most.kept)


def _of_kind(
    network: HigherOrderNetwork,
    shape: Architecture,
    kind: Learner,
    features: Features | None,
    n_examples: int,
    options: TrainingOptions,
) -> Estimate:
    one = Architecture("bag", False, 1, shape.n_classes, shape.n_entities, (kind,))
    numbers = count_parameters(empty_ensemble(one, 0, [0], features))
    width, entities = sum(kind.layer_widths[:1]), shape.n_entities
    fan_outs = fan_outs_of(kind)
    roots = min(options.batch_size, n_examples)
    row_wise = fan_outs is not None and entities >= ROW_WISE_FROM
    n_features = 0 if features is None else features.shape[1]
    if fan_outs is None:
        edges = _EXACT_EDGE * network.n_edges
        # The rows of an inner layer, their gradient before and after the activation.
        activations = 3 * network.n_nodes * max(kind.layer_widths) if len(kind.layer_widths) > 1 else 0
        activations += 8 * roots * max(kind.layer_widths)
        tables = entities
    else:
        edges = _SAMPLED_EDGE * network.n_edges
        entries, read = _in_trees(roots, fan_outs, 2 * network.n_edges / network.n_nodes)
        # Places, weights and masks of the entries, and the rows of the layer above.
        activations = entries * (width // 4 + 16)
        tables = min(entities, read if row_wise else entries)
    if row_wise:
        # Rows of a table, their gradient and a sum; of features, rows for each of three tables.
        activations += tables * (3 * width + 3 * n_features)
    else:
        # Tables of features beside identities are made anew in every step, and have gradients of their own.
        activations += tables * width * (6 if n_features and kind.identity else 0)
        activations += tables * (width + n_features)
    moments, best = 2 * numbers, numbers
    saved = 4 * numbers if options.checkpoint is not None else 0
    # The features themselves are there already.
    shared = edges + 24 * network.n_nodes + 64 * entities
    return Estimate(shape.n_learners, shared, 4 * numbers, 4 * (moments + best + saved + activations))


def _in_trees(roots: int, fan_outs: Sequence[int], degree: float) -> tuple[int, int]:
    """Return how many look-ups the trees under these roots have, and how many nodes these read at most.

    On either side half of the nodes are read, each side from a table of its own. `degree` is in- and
    out-degree together.

    >>> _in_trees(10, (64, 1), 4.0)
    (3850, 105)
    """
    level = total = nodes = read = roots
    for fan_out in fan_outs:
        level *= 2 * fan_out
        nodes = min(level, int(nodes * degree))
        total, read = total + level, read + nodes
    return total, read // 2


def group_size(found: Estimate, memory: object, owner: str, apart: bool, processes: int = 1) -> int | None:
    """Return how many learners train at a time; None for all of them, which is most often so.

    `memory` is the most that may be taken in all; None is what is available. Several `processes` have equal
    parts of it. `apart`: the learners are a bag and may be trained in groups. Raise an error that says what
    helps where memory is too short.
    """
    if memory is None:
        limit, what = int(available_memory() * _SHARE) // processes, "available"
    else:
        allowed = parse_size(owner, "training.memory", memory) // processes
        limit, what = allowed - resident_memory(), "allowed"
    size = found.group_size(limit) if apart else found.n_learners * (found.total(found.n_learners) <= limit)
    if size == 0:
        needed = found.total(found.n_learners)
        alone = f", one at a time {shown_size(found.total(1))}" if apart and found.n_learners > 1 else ""
        raise InputError(
            f"{owner}: {found.n_learners} learners need {shown_size(needed)} of memory{alone}; "
            f"{shown_size(max(limit, 0))} are {what} beside what is loaded. {_advice(found, apart)}"
        )
    return None if size == found.n_learners else size


def _advice(found: Estimate, apart: bool) -> str:
    smaller, disk = "widths or n_learners", ""
    if apart and found.on_disk:
        smaller = "widths"
    elif apart:
        size = shown_size(found.n_learners * found.kept)
        disk = f"let TMPDIR be on a disk with {size} of room, where learners that are done can wait, "
    return (
        f"Sample neighbourhoods (learner=SAGE(fan_outs=(64, 1))), make {smaller} smaller, {disk}"
        "or raise memory."
    )


def resident_memory() -> int:
    """Return the bytes of memory that this process has now, 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def available_memory() -> int:
    """Return the bytes that can be taken without swapping: of the machine, and of the control group."""
    return min([_of_machine(), *_of_control_group(Path("/sys/fs/cgroup"))])


def _of_machine() -> int:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 2**62


def _of_control_group(folder: Path) -> list[int]:
    """Return what a control group (version 2 or 1) leaves, nothing where there is no limit.

    Pages of files that were read count as used, but are given back when they are needed.
    """
    old = [f"memory/memory.{name}" for name in ("limit_in_bytes", "usage_in_bytes", "stat")]
    names = (("memory.max", "memory.current", "memory.stat", "inactive_file"), (*old, "total_inactive_file"))
    out = []
    for limit, used, stat, key in names:
        try:
            most, now = (int((folder / name).read_text()) for name in (limit, used))
            text = (folder / stat).read_text()
        except (OSError, ValueError):
            continue
        cached = re.search(rf"^{key} (\d+)$", text, re.MULTILINE)
        out.append(max(most - now + (int(cached[1]) if cached else 0), 0))
    return out
