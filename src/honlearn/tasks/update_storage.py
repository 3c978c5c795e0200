"""What a saved classifier keeps for updates: the spaces of its path vectors, its kernels, who was in the fit.

In: a fitted classifier, or config and tensors from a model folder. Out: the other, everything checked.
Tensors are named ``update.…``; those of a component's space are among the component's own.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from honlearn.errors import FormatError
from honlearn.hon.formats.native import read_rule
from honlearn.hon.path_space import PathSpace
from honlearn.hon.profiles import ProfileSpace
from honlearn.path_kernel.kernel_input import KernelSpace
from honlearn.path_kernel.ridge import KernelModel
from honlearn.stored import Fields, Spec, check_arrays
from honlearn.tasks.kernel_part import KernelPart
from honlearn.tasks.kernel_storage import restored_blocks
from honlearn.tasks.storage import ADVICE, COUNTS, SavedCounts

if TYPE_CHECKING:
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.tasks.nodes import DGEClassifier

UPDATE = "update."
SPACE = ("reach", "smoothing")
SPACE_TENSORS = ("space.shares", "space.loadings")
_IN_FIT, _PARTS = UPDATE + "in_fit", "kernel_parts"
_PROFILES = "profiles.loadings"
_ROLES = ("network", "first order", "other", "rule")
# Beyond all numbers that a fit makes.
_MOST = 1e12


def space_config(space: PathSpace) -> dict[str, Any]:
    """Return what of a space is no tensor."""
    return {"reach": int(space.reach), "smoothing": float(space.smoothing)}


def space_tensors(space: PathSpace, prefix: str) -> dict[str, torch.Tensor]:
    """Return the tensors of a space, by names that begin with `prefix`."""
    # Copies: components on one network have one space, and a file cannot hold shared memory.
    arrays = (space.shares, space.loadings)
    return {prefix + n: torch.from_numpy(np.array(a)) for n, a in zip(SPACE_TENSORS, arrays, strict=True)}


def restored_space(
    row: Fields, tensors: dict[str, torch.Tensor], entities: int, width: int | None
) -> PathSpace | None:
    """Return the space among these tensors; None in a model of before there were updates."""
    if not any(name in tensors for name in SPACE_TENSORS):
        return None
    known = {name: tensors[name].numpy() for name in SPACE_TENSORS if name in tensors}
    if len(known) < len(SPACE_TENSORS):
        raise FormatError(f"{row.where}: half of a space of path vectors; {ADVICE}")
    specs: dict[str, Spec] = {
        "space.shares": ("f4", (2, entities)),
        "space.loadings": ("f4", (2, entities, width)),
    }
    check_arrays(known, specs, row.where, advice=ADVICE)
    shares, loadings = (known[name] for name in SPACE_TENSORS)
    if shares.min(initial=0) < 0 or shares.max(initial=0) > 1 or np.abs(loadings).max(initial=0) > _MOST:
        raise FormatError(f"{row.where}: not a space of path vectors; {ADVICE}")
    return PathSpace(row.integer("reach", 1, 2), row.number("smoothing", 0, 1), shares, loadings)


def update_config(model: DGEClassifier, other: HigherOrderNetwork | None) -> dict[str, Any]:
    """Return what a classifier keeps for updates and is no tensor; `other` is its second network."""
    return {_PARTS: [_part_config(model, part, other) for part in model.kernel_parts_]}


def _part_config(model: DGEClassifier, part: KernelPart, other: HigherOrderNetwork | None) -> dict[str, Any]:
    if part.network is model.network_:
        role = "network"
    elif part.network is not None and not part.network.n_conditional:
        role = "first order"
    else:
        role = "other" if part.network is not None and part.network is other else "rule"
    rule = None if part.rule is None else asdict(part.rule)
    profiles = part.space.profiles
    more = {} if profiles is None else {"profiles": profiles.width, "profiles_reach": profiles.reach}
    return {"network": role, "rule": rule, "share": part.share, **space_config(part.space.vectors), **more}


def update_tensors(model: DGEClassifier) -> dict[str, torch.Tensor]:
    """Return the tensors that a classifier keeps for updates."""
    tensors = {_IN_FIT: torch.from_numpy(np.array(model.in_fit_))}
    for number, part in enumerate(model.kernel_parts_):
        prefix = f"{UPDATE}kernel{number}."
        tensors |= space_tensors(part.space.vectors, prefix)
        if part.space.profiles is not None:
            tensors[prefix + _PROFILES] = torch.from_numpy(np.array(part.space.profiles.loadings))
        tensors |= {prefix + n: torch.from_numpy(np.array(a)) for n, a in part.kernel._asdict().items()}
    return tensors


def restore_update(
    model: DGEClassifier,
    config: Fields,
    tensors: dict[str, torch.Tensor],
    other: HigherOrderNetwork | None,
    folder: str,
) -> None:
    """Set what a classifier that is loaded keeps for updates, all of it checked."""
    files, entities = config.mapping("files"), model.network_.n_entities
    model.counts_ = SavedCounts(Path(folder) / COUNTS, files.text(COUNTS)) if files.has(COUNTS) else None
    model.in_fit_ = np.ones(entities, bool)
    own = {name.removeprefix(UPDATE): t for name, t in tensors.items() if name.startswith(UPDATE)}
    if _IN_FIT in tensors:
        known = {_IN_FIT: own.pop("in_fit").numpy()}
        check_arrays(known, {_IN_FIT: ("b1", (entities,))}, config.where, advice=ADVICE)
        model.in_fit_ = known[_IN_FIT]
    model.kernel_parts_ = []
    for number, row in enumerate(config.mappings(_PARTS) if config.has(_PARTS) else []):
        prefix = f"kernel{number}."
        mine = {n.removeprefix(prefix): own.pop(n) for n in list(own) if n.startswith(prefix)}
        model.kernel_parts_.append(_restored_part(model, row, mine, other))
    if own:
        raise FormatError(f"{config.where}: {sorted(own)[0]!r} is not what an update needs; {ADVICE}")


def _restored_part(
    model: DGEClassifier, row: Fields, tensors: dict[str, torch.Tensor], other: HigherOrderNetwork | None
) -> KernelPart:
    row.only("network", "rule", "share", *SPACE, "profiles", "profiles_reach")
    entities, classes = model.network_.n_entities, len(model.classes_)
    specs: dict[str, Spec] = {
        "center": ("f4", ("width",)),
        "scale": ("f4", ("width",)),
        "landmarks": ("f4", ("marks", "width")),
        "coefficients": ("f4", ("marks", classes)),
        "matrix": ("f4", (classes, classes)),
        "bias": ("f4", (classes,)),
    }
    has_profiles = row.has("profiles")
    if set(tensors) != {*specs, *SPACE_TENSORS, *([_PROFILES] if has_profiles else [])}:
        raise FormatError(f"{row.where}: not what a kernel holds; {ADVICE}")
    arrays = {name: tensors[name].numpy() for name in specs}
    check_arrays(arrays, specs, row.where, advice=ADVICE)
    if any(np.abs(array).max(initial=0) > _MOST for array in arrays.values()):
        raise FormatError(f"{row.where}: a kernel with numbers of more than {_MOST:g}; {ADVICE}")
    if arrays["scale"].min(initial=1) < 1e-9:
        raise FormatError(f"{row.where}: 'scale' must be above 0; {ADVICE}")
    blocks = restored_blocks(row, len(arrays["center"]))
    vectors = restored_space(row, tensors, entities, blocks.vectors)
    assert vectors is not None  # its tensors are there
    space = KernelSpace(vectors, _restored_profiles(row, tensors, entities) if has_profiles else None)
    rule = read_rule(row.mapping("rule")) if row.has("rule") else None
    role = row.text("network", _ROLES)
    fitting = {
        "network": model.network_,
        "first order": model.network_.first_order(),
        "other": other,
        "rule": None,
    }
    if role == "other" and fitting[role] is None:
        raise FormatError(f"{row.where}: a kernel on a network that is not there; {ADVICE}")
    return KernelPart(row.number("share", 0, 1), fitting[role], rule, space, KernelModel(**arrays))


def _restored_profiles(row: Fields, tensors: dict[str, torch.Tensor], entities: int) -> ProfileSpace:
    loadings = {_PROFILES: tensors[_PROFILES].numpy()}
    width = row.integer("profiles", 1, 2**31)
    check_arrays(loadings, {_PROFILES: ("f4", (2, entities, width))}, row.where, advice=ADVICE)
    if np.abs(loadings[_PROFILES]).max(initial=0) > _MOST:
        raise FormatError(f"{row.where}: not a space of profiles; {ADVICE}")
    return ProfileSpace(row.integer("profiles_reach", 1, 2), loadings[_PROFILES])
