"""What of a fitted classifier, of nodes or of pairs, is saved, and how it is made again.

In: a :class:`~honlearn.tasks.nodes.DGEClassifier` or :class:`~honlearn.tasks.links.DGELinkPredictor`. Out:
config and tensors for :mod:`honlearn.tasks.storage`, and back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from honlearn.errors import FormatError, InputError, listed
from honlearn.hon.formats import load_network
from honlearn.learners import TorchLearner
from honlearn.learners.torch_learner import Make
from honlearn.stored import Spec, check_arrays, shown
from honlearn.tasks.calibrated import restore_uncertainty, uncertainty_config, uncertainty_tensors
from honlearn.tasks.component_storage import (
    component_config,
    component_tensors,
    other_network,
    restore_components,
)
from honlearn.tasks.fit_facts import restore_facts
from honlearn.tasks.held_back import PREFIX as HELD_BACK
from honlearn.tasks.kernel_storage import PREFIX as TERMS
from honlearn.tasks.kernel_storage import restored_terms, terms_config, terms_tensors
from honlearn.tasks.loading import (
    built_from,
    check_probabilities,
    check_types,
    read_classes,
    read_parameters,
    read_table,
)
from honlearn.tasks.pair_storage import PAIR_PREFIX, pair_config, pair_tensors, restore_pairs
from honlearn.tasks.path_saving import load_path_classifier
from honlearn.tasks.storage import (
    ADVICE,
    NETWORK,
    OTHER_NETWORK,
    WEIGHTS,
    SavedCounts,
    plain,
    plain_classes,
    plain_rows,
    read_config,
    read_tensors,
    write_model,
)
from honlearn.tasks.update_storage import UPDATE, restore_update, update_config, update_tensors

if TYPE_CHECKING:
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.tasks.links import DGELinkPredictor
    from honlearn.tasks.nodes import DGEClassifier

# Held in other ways, or of this machine and this run only.
_LEFT_OUT = ("network", "paths", "structure", "features", "random_state", "n_threads", "verbose", "executor")
# What was tried in a fit, and columns there that may lack every number.
_RESULTS = "selection_results"
_NUMBERS = {"edge_power", "tau", "loss", "gain", "standard_error", "share"}
# As many as nobody trains; shared weights alone do not tell how many there are.
_MOST_LEARNERS = 2**16
_FEATURES, _KERNEL = "features.", "kernel_proba"


def save_classifier(model: DGEClassifier | DGELinkPredictor, folder: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to `folder`."""
    kept = {
        name: plain(value) for name, value in model.get_params(deep=False).items() if name not in _LEFT_OUT
    }
    config = {
        "parameters": kept,
        "seed": model.seed_,
        "classes": plain_classes(model.classes_),
        "best_epochs": plain(model.best_epochs_),
        "history": plain_rows(model.history_),
        "kernel_share": model.kernel_share_,
    }
    if hasattr(model, "edge_power_"):
        config["edge_power"] = model.edge_power_
    if hasattr(model, "selection_results_"):
        config[_RESULTS] = plain_rows(model.selection_results_)
    tensors = feature_tensors(model.features, model.network_)
    if model.kernel_proba_ is not None:
        tensors[_KERNEL] = torch.from_numpy(model.kernel_proba_)
    other = other_network(model) if model.task == "nodes" else None
    if model.task == "nodes":
        config |= terms_config(model.kernel_terms_)
        tensors |= terms_tensors(model.kernel_terms_)
        config["components"] = [component_config(one, model.network_) for one in model.components_]
        for number, one in enumerate(model.components_):
            tensors |= component_tensors(one, f"component{number}.")
        config["uncertainty"] = uncertainty_config(model)
        tensors |= uncertainty_tensors(model)
        config |= update_config(model, other)
        tensors |= update_tensors(model)
    else:
        config |= pair_config(model)
        tensors |= pair_tensors(model)
        tensors |= {f"ensemble.{name}": tensor for name, tensor in model.ensemble_.state_dict().items()}
    counts = model.counts_ if model.task == "nodes" else None
    if isinstance(counts, SavedCounts):
        # A folder without the file still predicts, and so does its copy.
        counts = counts.load() if counts.path.is_file() else None
    facts = getattr(model, "fit_facts_", None)
    write_model(folder, type(model).__name__, config, tensors, model.network_, other, facts, counts)


def load_model(folder: str | os.PathLike[str], make: Make | None = None) -> Any:
    """Return the ensemble that ``save`` wrote to `folder`; `make` makes the modules of a TorchLearner.

    Nothing in the folder is run as code.
    """
    from honlearn.tasks.links import DGELinkPredictor
    from honlearn.tasks.nodes import DGEClassifier

    config = read_config(folder)
    kind = config.text("kind")
    if kind == "PathClassifier":
        return load_path_classifier(folder, config)
    kinds: dict[str, Any] = {"DGEClassifier": DGEClassifier, "DGELinkPredictor": DGELinkPredictor}
    if kind not in kinds:
        raise FormatError(f"{folder}: a model of kind {shown(kind)}, which this honlearn does not know")
    tensors = read_tensors(folder, config)
    network = load_network(os.path.join(folder, NETWORK))
    given, classes = read_parameters(config, kinds[kind], _LEFT_OUT), read_classes(config)
    give_make(folder, given, make)
    own = ("ensemble.", "component", HELD_BACK, UPDATE, TERMS, PAIR_PREFIX)
    beside = {name: t for name, t in tensors.items() if not name.startswith(own)}
    check_tensors(os.path.join(folder, WEIGHTS), beside, network.n_entities, len(classes))
    with built_from(folder, tensors, network):
        seed = config.integer("seed", 0, None)
        model = kinds[kind](network, features=features_of(tensors), random_state=seed, **given)
        model.seed_, model.network_, model.classes_ = seed, network, classes
        model.kernel_proba_ = tensors[_KERNEL].numpy() if _KERNEL in tensors else None
        if model.kernel_proba_ is not None:
            check_probabilities(model.kernel_proba_, _KERNEL)
        model.kernel_share_ = config.number("kernel_share", 0, 1) if config.has("kernel_share") else 0.0
        if config.has("edge_power"):
            model.edge_power_ = config.number("edge_power", 0, 10)
        model.best_epochs_ = np.array(config.integers("best_epochs", 0))
        model.history_ = read_table(config, "history")
        if config.has(_RESULTS):
            model.selection_results_ = read_table(config, _RESULTS, _NUMBERS)
        if model.task == "links":
            restore_pairs(model, config, tensors, os.path.join(folder, WEIGHTS))
        shape = model._saved_shape()
        if shape.n_learners > _MOST_LEARNERS:
            raise FormatError(f"{shape.n_learners:,} learners, more than {_MOST_LEARNERS:,}; {ADVICE}")
        if model.task == "nodes":
            files = config.mapping("files")
            other = load_network(os.path.join(folder, OTHER_NETWORK)) if files.has(OTHER_NETWORK) else None
            restore_components(model, config, tensors, other, make)
            restore_uncertainty(model, config.mapping("uncertainty"), tensors)
            restore_update(model, config, tensors, other, os.fspath(folder))
            model.kernel_terms_ = restored_terms(config, tensors, network.n_entities, len(classes))
            if len(model.kernel_terms_) == len(model.kernel_parts_):
                pairs = zip(model.kernel_parts_, model.kernel_terms_, strict=True)
                model.kernel_parts_ = [part._replace(terms=terms) for part, (_, terms) in pairs]
        else:
            model.path_vectors_, model.architecture_ = None, shape
            prefix = "ensemble."
            state = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            model._restore(state)
            check_types(state, model.ensemble_)
        restore_facts(model, folder, config)
    return model


def give_make(folder: str | os.PathLike[str], given: dict[str, Any], make: Make | None) -> None:
    """Give the function that makes their modules to the TorchLearners among saved parameters."""
    value = given.get("learner")
    several = value if isinstance(value, tuple) else (value,)
    for learner in several:
        if not isinstance(learner, TorchLearner):
            continue
        if make is None:
            raise InputError(
                f"{folder}: its learner is a module of the user's own, and a model holds weights, never "
                "code; pass the function that makes it: load_model(folder, make=...)"
            )
        learner.make = make


def feature_tensors(values: Any, network: HigherOrderNetwork) -> dict[str, torch.Tensor]:
    """Return a user's features as tensors to save, empty where there are none."""
    if values is None:
        return {}
    if hasattr(values, "tocsr"):
        matrix = values.tocsr()
        parts = {"data": matrix.data.astype(np.float32), "indices": matrix.indices, "indptr": matrix.indptr}
        parts["shape"] = np.array(matrix.shape)
        return {_FEATURES + name: torch.from_numpy(np.array(part)) for name, part in parts.items()}
    if hasattr(values, "reindex"):
        values = values.set_axis(values.index.astype(str)).loc[list(network.vocabulary.names)].to_numpy()
    return {_FEATURES + "dense": torch.from_numpy(np.array(values, np.float32))}


def check_tensors(where: str, tensors: dict[str, torch.Tensor], entities: int, classes: int) -> None:
    """Raise unless what stands beside a model's weights has the shapes that compiled code relies on."""
    specs: dict[str, Spec] = {
        _KERNEL: ("f4", (entities, classes)),
        _FEATURES + "dense": ("f4", (entities, None)),
        _FEATURES + "data": ("f4", ("entries",)),
        _FEATURES + "indices": ("i", ("entries",)),
        _FEATURES + "indptr": ("i", (entities + 1,)),
        _FEATURES + "shape": ("i8", (2,)),
    }
    known = {name: tensor.numpy() for name, tensor in tensors.items()}
    strange = [name for name in known if name not in specs]
    sparse = {name.removeprefix(_FEATURES) for name in known} & {"data", "indices", "indptr", "shape"}
    if strange or len(sparse) not in (0, 4):
        named = shown(strange[0]) if strange else f"only {listed(sorted(sparse))} of the features"
        raise FormatError(f"{where}: {named} is not what a model holds; {ADVICE}")
    check_arrays(known, specs, where, advice=ADVICE)
    if sparse:
        starts, columns = known[_FEATURES + "indptr"], known[_FEATURES + "indices"]
        rows, width = known[_FEATURES + "shape"].tolist()
        good = rows == entities and 0 < width < 2**31 and starts[0] == 0 and starts[-1] == len(columns)
        good = good and bool((starts[:-1] <= starts[1:]).all())
        if not good or (len(columns) and (columns.min() < 0 or columns.max() >= width)):
            raise FormatError(f"{where}: the features are no sparse matrix of {entities:,} rows; {ADVICE}")


def features_of(tensors: dict[str, torch.Tensor]) -> Any:
    """Return the features that were saved among these tensors, None where there are none."""
    parts = {
        name.removeprefix(_FEATURES): t.numpy() for name, t in tensors.items() if name.startswith(_FEATURES)
    }
    if not parts:
        return None
    if "dense" in parts:
        return parts["dense"]
    from scipy.sparse import csr_array

    return csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"].tolist()))
