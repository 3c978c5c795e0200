"""How the terms of a path kernel are saved with a model, and made again.

In: :class:`~honlearn.path_kernel.terms.KernelTerms` with their shares, or config and tensors from a model
folder, all of it checked. Out: the other. Kernels on several networks were fitted on the same entities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from honlearn.errors import FormatError
from honlearn.hon.profiles import N_STATISTICS
from honlearn.path_kernel.terms import PARTS, Blocks, KernelTerms, LabelledEntities
from honlearn.stored import Fields, Spec, check_arrays
from honlearn.tasks.storage import ADVICE

PREFIX = "terms."
Weighted = tuple[float, KernelTerms]
_CONFIG = "kernel_terms"
# Far above any weight or slope of a fit; what is larger could overflow.
_LARGEST = 1e9


def terms_config(terms: Sequence[Weighted]) -> dict[str, Any]:
    """Return what of the terms is no tensor, for a model's config."""
    rows = [
        {"share": float(share), "penalty": float(one.penalty), "profiles": one.blocks.profiles}
        for share, one in terms
    ]
    return {_CONFIG: rows} if rows else {}


def terms_tensors(terms: Sequence[Weighted]) -> dict[str, torch.Tensor]:
    """Return the tensors of the terms, none where there are no terms."""
    if not terms:
        return {}
    labelled = terms[0][1].labelled
    arrays: dict[str, Any] = {
        "nodes": labelled.nodes.astype(np.int32),
        "labels": labelled.labels.astype(np.int64),
        "weights": labelled.weights,
    }
    for number, (_, one) in enumerate(terms):
        arrays |= {f"{number}.vectors": one.vectors, f"{number}.calibration": one.calibration}
    return {PREFIX + name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def restored_terms(
    config: Fields, tensors: Mapping[str, torch.Tensor], entities: int, classes: int
) -> tuple[Weighted, ...]:
    """Return the terms of a model that is loaded; none where it was saved without."""
    known = {n.removeprefix(PREFIX): t.numpy() for n, t in tensors.items() if n.startswith(PREFIX)}
    rows = config.mappings(_CONFIG) if config.has(_CONFIG) else []
    if not rows and not known:
        return ()
    specs: dict[str, Spec] = {
        "nodes": ("i4", ("labelled",)),
        "labels": ("i8", ("labelled",)),
        "weights": ("f8", ("labelled",)),
    }
    for number in range(len(rows)):
        specs[f"{number}.vectors"] = ("f4", (entities, None))
        specs[f"{number}.calibration"] = ("f8", (PARTS + 1, classes + 1, classes))
    if set(known) != set(specs):
        raise FormatError(f"{config.where}: not what the terms of a path kernel are; {ADVICE}")
    check_arrays(known, specs, config.where, advice=ADVICE)
    nodes, labels, weights = (known[name] for name in ("nodes", "labels", "weights"))
    good = len(nodes) and nodes.min() >= 0 and nodes.max() < entities
    good = good and labels.min() >= 0 and labels.max() < classes
    if not good or weights.min() < 0 or weights.max() > _LARGEST:
        raise FormatError(f"{config.where}: the labelled entities of the path kernel are damaged; {ADVICE}")
    labelled, found = LabelledEntities(nodes, labels, weights), []
    for number, row in enumerate(rows):
        row.only("share", "penalty", "profiles")
        vectors, numbers = known[f"{number}.vectors"], known[f"{number}.calibration"]
        if not vectors.shape[1] or np.abs(numbers).max() > _LARGEST:
            raise FormatError(
                f"{config.where}: vectors or calibration of the path kernel are damaged; {ADVICE}"
            )
        blocks = restored_blocks(row, vectors.shape[1])
        made = KernelTerms(vectors, blocks, labelled, row.number("penalty", 1e-12, 1e12), numbers)
        found.append((row.number("share", 0, 1), made))
    return tuple(found)


def restored_blocks(row: Fields, width: int) -> Blocks:
    """Return what the columns of a kernel's rows are; a model of before there were profiles has none."""
    profiles = row.integer("profiles", 0, width) if row.has("profiles") else 0
    if not profiles:
        return Blocks(width)
    vectors = width - profiles - N_STATISTICS
    if vectors < 1:
        raise FormatError(f"{row.where}: a kernel without path vectors; {ADVICE}")
    return Blocks(vectors, profiles, N_STATISTICS)
