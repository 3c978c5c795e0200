"""Saved baselines, and the one function that loads any saved model.

In: a fitted baseline. Out: config and tensors for :mod:`honlearn.tasks.storage`, and back. Only classes of
the catalogue are made, whatever class a folder names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from honlearn.baselines.catalogue import estimator_named
from honlearn.baselines.contract import LinkBaseline
from honlearn.errors import FormatError
from honlearn.hon.formats import load_network
from honlearn.learners.torch_learner import Make
from honlearn.stored import check_arrays, shown
from honlearn.tasks import saving
from honlearn.tasks.fit_facts import restore_facts
from honlearn.tasks.loading import (
    built_from,
    check_probabilities,
    check_types,
    read_classes,
    read_parameters,
    read_table,
)
from honlearn.tasks.storage import (
    ADVICE,
    NETWORK,
    WEIGHTS,
    plain,
    plain_classes,
    plain_rows,
    read_config,
    read_tensors,
    write_model,
)

if TYPE_CHECKING:
    from torch import Tensor

    from honlearn.baselines.contract import Baseline

# Held in other ways, or of this machine and this run only.
_LEFT_OUT = ("network", "random_state", "checkpoint", "n_threads", "verbose")


def save_baseline(model: Baseline, folder: str | os.PathLike[str]) -> None:
    """Write a fitted baseline to `folder`."""
    given, left_out = model.get_params(deep=False), {*_LEFT_OUT, *model.data_parameters}
    config = {
        "parameters": {name: plain(value) for name, value in given.items() if name not in left_out},
        "seed": model.seed_,
        "classes": plain_classes(model.classes_),
        "n_parameters": model.n_parameters_,
        "history": plain_rows(model.history_),
    }
    facts = getattr(model, "fit_facts_", None)
    write_model(folder, type(model).__name__, config, model.state_, model.network, facts=facts)


def load_model(folder: str | os.PathLike[str], make: Make | None = None) -> Any:
    """Return the model that ``save`` wrote to `folder`: an ensemble or a baseline.

    Nothing in the folder is run as code. The model has the network that it was trained on, so where that was
    chosen nothing is left open (``selection_results_`` tells); how a fit runs (`n_threads`, `checkpoint` and
    the like) is not saved. `make` is the function that makes the modules of a ``TorchLearner``: a folder
    holds weights, never code.

    Parameters
    ----------
    folder
        What ``save`` has written.
    make
        The function of a TorchLearner, which a folder cannot hold.
    """
    config = read_config(folder)
    kind = config.text("kind")
    made = estimator_named(kind)
    if made is None:
        return saving.load_model(folder, make)
    tensors = read_tensors(folder, config)
    network = load_network(os.path.join(folder, NETWORK))
    given = read_parameters(config, made, {*_LEFT_OUT, *getattr(made, "data_parameters", ())})
    saving.give_make(folder, given, make)
    with built_from(folder, tensors, network):
        seed = config.integer("seed", 0, None)
        model = made(network, random_state=seed, **given)
        model.seed_, model.classes_ = seed, read_classes(config)
        model.n_parameters_ = config.integer("n_parameters", 0)
        model.history_ = read_table(config, "history")
        _check_state(model, os.path.join(folder, WEIGHTS), tensors)
        if "features" in model.data_parameters:
            model.features = saving.features_of(tensors)
        model._check()
        for name in model.probability_tensors:
            check_probabilities(tensors[name].numpy(), name)
        model._restore(tensors)
        if hasattr(model, "module_"):
            check_types(tensors, model.module_)
        restore_facts(model, folder, config)
    return model


def _check_state(model: Baseline, where: str, tensors: dict[str, Tensor]) -> None:
    """Raise unless the tensors are of the shapes that the model predicts with, and links have two classes."""
    if isinstance(model, LinkBaseline) and model.classes_.tolist() != [0, 1]:
        raise FormatError(f"the classes of links are 0 and 1. Got {shown(model.classes_.tolist())} instead")
    specs = model._specs()
    missing = [name for name in specs if name not in tensors]
    if missing:
        raise FormatError(f"{where}: {missing[0]!r} is not there; {ADVICE}")
    check_arrays({name: tensor.numpy() for name, tensor in tensors.items()}, specs, where, advice=ADVICE)
    features = {name: tensor for name, tensor in tensors.items() if name.startswith("features.")}
    saving.check_tensors(where, features, model.network.n_entities, len(model.classes_))
