"""What of a fitted classifier, of nodes or of pairs, is saved, and how it is made again.

In: a :class:`~honlearn.tasks.nodes.DGEClassifier` or :class:`~honlearn.tasks.links.DGELinkPredictor`. Out:
config and tensors for :mod:`honlearn.tasks.storage`, and back.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from honlearn.errors import FormatError, InputError
from honlearn.hon.formats import load_network
from honlearn.learners import TorchLearner
from honlearn.tasks.storage import NETWORK, plain, read_config, read_tensors, unplain, write_model

if TYPE_CHECKING:
    import pandas

    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.tasks.estimator import EnsembleEstimator
    from honlearn.tasks.links import DGELinkPredictor
    from honlearn.tasks.nodes import DGEClassifier

# Held in other ways, or of this machine and this run only.
_LEFT_OUT = ("network", "structure", "features", "random_state", "n_threads", "verbose")
# What was tried in a fit, and columns there that may lack every number.
_TABLES = {"search_results", "power_results"}
_NUMBERS = {"tau", "loss", "gain", "standard_error"}
_FEATURES, _PATHS, _KERNEL = "features.", "path_vectors", "kernel_proba"


def save_classifier(model: DGEClassifier | DGELinkPredictor, folder: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to `folder`."""
    kept = {
        name: plain(value) for name, value in model.get_params(deep=False).items() if name not in _LEFT_OUT
    }
    text = model.classes_.dtype.kind in "OU"
    config = {
        "parameters": kept,
        "seed": model.seed_,
        "classes": {"dtype": "str" if text else model.classes_.dtype.str, "values": plain(model.classes_)},
        "best_epochs": plain(model.best_epochs_),
        "history": _rows(model.history_),
        "kernel_share": model.kernel_share_,
    }
    if hasattr(model, "edge_power_"):
        config["edge_power"] = model.edge_power_
    for name in _TABLES:
        if hasattr(model, f"{name}_"):
            config[name] = _rows(getattr(model, f"{name}_"))
    tensors = {f"ensemble.{name}": tensor for name, tensor in model.ensemble_.state_dict().items()}
    tensors |= feature_tensors(model.features, model.network_)
    if model.path_vectors_ is not None:
        tensors[_PATHS] = torch.from_numpy(model.path_vectors_)
    if model.kernel_proba_ is not None:
        tensors[_KERNEL] = torch.from_numpy(model.kernel_proba_)
    write_model(folder, type(model).__name__, config, tensors, model.network_)


def _rows(table: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, which has no NaN: what a row does not have is null."""
    rows = table.to_dict("records")
    return [{str(k): None if value != value else plain(value) for k, value in row.items()} for row in rows]


def load_model(folder: str | os.PathLike[str], make: Any = None) -> Any:
    """Return the ensemble that ``save`` wrote to `folder`; `make` makes the modules of a TorchLearner.

    Nothing in the folder is run as code.
    """
    import pandas as pd

    from honlearn.tasks.links import DGELinkPredictor
    from honlearn.tasks.nodes import DGEClassifier

    config = read_config(folder)
    kinds: dict[str, type[EnsembleEstimator]] = {
        "DGEClassifier": DGEClassifier,
        "DGELinkPredictor": DGELinkPredictor,
    }
    if config["kind"] not in kinds:
        raise FormatError(f"{folder}: a model of kind {config['kind']!r}, which this honlearn does not know")
    estimator = kinds[config["kind"]]
    tensors = read_tensors(folder, config)
    given = {name: unplain(value) for name, value in config["parameters"].items()}
    network = load_network(os.path.join(folder, NETWORK))
    try:
        give_make(folder, given, make)
        model = estimator(network, features=features_of(tensors), random_state=config["seed"], **given)
        model.seed_, model.network_ = config["seed"], network
        model.path_vectors_ = tensors[_PATHS].numpy() if _PATHS in tensors else None
        model.kernel_proba_ = tensors[_KERNEL].numpy() if _KERNEL in tensors else None
        model.kernel_share_ = config.get("kernel_share", 0.0)
        values, dtype = config["classes"]["values"], config["classes"]["dtype"]
        model.classes_ = np.array(values, dtype=dtype)
        model.best_epochs_ = np.array(config["best_epochs"])
        model.history_ = pd.DataFrame(config["history"])
        if "edge_power" in config:
            model.edge_power_ = config["edge_power"]
        for name in _TABLES & config.keys():
            table = pd.DataFrame(config[name])
            # A column of nothing but null does not tell that it held numbers.
            numbers = dict.fromkeys(_NUMBERS & set(table.columns), float)
            setattr(model, f"{name}_", table.astype(numbers))
        prefix = "ensemble."
        state = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        model.architecture_ = model._saved_shape()
        model._restore(state)
    except (KeyError, TypeError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise FormatError(f"{folder}: config and weights do not belong together ({first})") from None
    return model


def give_make(folder: str | os.PathLike[str], given: dict[str, Any], make: Any) -> None:
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
