"""How components of a bag are saved and made again.

In: components (:mod:`honlearn.tasks.component`), or their config and tensors from a model folder. Out: the
other. A component reads the network of the model, its first-order network, or one other that is saved too.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from honlearn.errors import FormatError
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.learners import Learner, TorchLearner
from honlearn.stored import Fields, check_arrays
from honlearn.tasks import parameters as check
from honlearn.tasks.component import Component
from honlearn.tasks.loading import check_types
from honlearn.tasks.storage import ADVICE, plain, unplain
from honlearn.tasks.update_storage import SPACE, SPACE_TENSORS, restored_space, space_config, space_tensors

_VECTORS = "path_vectors"
_MAIN, _FIRST, _OTHER = "network", "first order", "other"


def other_network(model: Any) -> HigherOrderNetwork | None:
    """Return the second higher-order network that components of a classifier read, or its kernels."""
    read = [one.model.network for one in model.components_] + [one.network for one in model.kernel_parts_]
    others = (hon for hon in read if hon is not None and hon is not model.network_)
    return next((hon for hon in others if hon.n_conditional), None)


def component_config(component: Component, network: HigherOrderNetwork) -> dict[str, Any]:
    """Return what of a component of a model on `network` is no tensor."""
    shape, read = component.model.shape, component.model.network
    which = _MAIN if read is network else _OTHER if read.n_conditional else _FIRST
    config = {
        "learners": [plain(kind) for kind in shape.kinds],
        "n_learners": shape.n_learners,
        "network": which,
        "share": float(component.share),
        "epochs": plain(component.epochs),
    }
    return config if component.space is None else {**config, **space_config(component.space)}


def component_tensors(component: Component, prefix: str) -> dict[str, torch.Tensor]:
    """Return the tensors of a component, by names that begin with `prefix`."""
    state = component.ensemble.state_dict()
    tensors = {f"{prefix}ensemble.{name}": tensor for name, tensor in state.items()}
    if component.path_vectors is not None:
        tensors[prefix + _VECTORS] = torch.from_numpy(component.path_vectors)
    if component.space is not None:
        tensors |= space_tensors(component.space, prefix)
    return tensors


def restore_components(
    model: Any,
    config: Fields,
    tensors: dict[str, torch.Tensor],
    other: HigherOrderNetwork | None,
    make: Any,
) -> None:
    """Set the components of a classifier that is loaded, all of it checked."""
    rows = config.mappings("components")
    if not rows:
        raise FormatError(f"{config.where}: a bag without components; {ADVICE}")
    named = {name.partition(".")[0] for name in tensors if name.startswith("component")}
    if named != {f"component{number}" for number in range(len(rows))}:
        raise FormatError(f"{config.where}: weights and components do not belong together; {ADVICE}")
    main = model.network_
    networks = {_MAIN: main, _FIRST: with_entities(main.first_order(), main.vocabulary.names)}
    if other is not None:
        networks[_OTHER] = other
    if any(hon.vocabulary.names != model.network_.vocabulary.names for hon in networks.values()):
        raise FormatError(f"{config.where}: networks of other entities; {ADVICE}")
    found = []
    for number, row in enumerate(rows):
        prefix = f"component{number}."
        own = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
        found.append(_restored(model, row, own, networks, make))
    if not math.isclose(sum(one.share for one in found), 1.0, abs_tol=1e-3):
        raise FormatError(f"{config.where}: the shares of the components do not sum to 1; {ADVICE}")
    model.components_ = found
    model.path_vectors_ = found[0].path_vectors
    model.n_parameters_ = sum(one.n_parameters for one in found)


def _restored(
    model: Any,
    row: Fields,
    tensors: dict[str, torch.Tensor],
    networks: Mapping[str, HigherOrderNetwork],
    make: Any,
) -> Component:
    row.only("learners", "n_learners", "network", "share", "epochs", *SPACE)
    kinds = tuple(unplain(one, row.where) for one in row.items("learners"))
    if not kinds or not all(isinstance(kind, Learner) for kind in kinds):
        raise FormatError(f"{row.where}: 'learners' must name learners; {ADVICE}")
    network = networks[row.text("network", networks)]
    for kind in kinds:
        if isinstance(kind, TorchLearner):
            kind.make = make
        kind.check()
    vectors = None
    if _VECTORS in tensors:
        known = {_VECTORS: tensors[_VECTORS].numpy()}
        check_arrays(known, {_VECTORS: ("f4", (network.n_entities, None))}, row.where, advice=ADVICE)
        vectors = known[_VECTORS]
    features = check.user_features(model.features, network, vectors)
    if features is None and not all(kind.identity for kind in kinds):
        raise FormatError(f"{row.where}: learners without identities or features; {ADVICE}")
    count = row.integer("n_learners", 1, 2**16)
    shape = dataclasses.replace(model._shape(len(model.classes_), kinds), n_learners=count)
    prefix = "ensemble."
    state = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
    share, epochs = row.number("share", 0, 1), np.array(row.integers("epochs", 0), np.int64)
    width = None if vectors is None else vectors.shape[1]
    space = None if width is None else restored_space(row, tensors, network.n_entities, width)
    made = Component.of(model._model_on(network, shape, features), state, share, epochs, vectors, space)
    check_types(state, made.ensemble)
    beside = {_VECTORS, *(SPACE_TENSORS if space is not None else ())}
    if not len(epochs) or set(tensors) - beside != {prefix + name for name in state}:
        raise FormatError(f"{row.where}: not what a component holds; {ADVICE}")
    return made
