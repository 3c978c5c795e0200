"""Saved baselines, and the one function that loads any saved model.

In: a fitted baseline. Out: config and tensors for :mod:`honlearn.tasks.storage`, and back. Only classes of
the catalogue are made, whatever class a folder names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from honlearn.baselines.catalogue import estimator_named
from honlearn.errors import FormatError
from honlearn.hon.formats import load_network
from honlearn.tasks.storage import NETWORK, plain, read_config, read_tensors, unplain, write_model

if TYPE_CHECKING:
    from honlearn.baselines.contract import Baseline

# Held in other ways, or of this machine and this run only.
_LEFT_OUT = ("network", "random_state", "checkpoint", "n_threads", "verbose")


def save_baseline(model: Baseline, folder: str | os.PathLike[str]) -> None:
    """Write a fitted baseline to `folder`."""
    given, left_out = model.get_params(deep=False), {*_LEFT_OUT, *model.data_parameters}
    text = model.classes_.dtype.kind in "OU"
    rows = model.history_.to_dict("records")
    config = {
        "parameters": {name: plain(value) for name, value in given.items() if name not in left_out},
        "seed": model.seed_,
        "classes": {"dtype": "str" if text else model.classes_.dtype.str, "values": plain(model.classes_)},
        "n_parameters": model.n_parameters_,
        # JSON has no NaN: what a phase does not have is null.
        "history": [{n: None if v != v else v for n, v in row.items()} for row in rows],
    }
    write_model(folder, type(model).__name__, config, model.state_, model.network)


def load_model(folder: str | os.PathLike[str], make: Any = None) -> Any:
    """Return the model that ``save`` wrote to `folder`: an ensemble or a baseline.

    Nothing in the folder is run as code. The model has the network that it was trained on, so where that was
    chosen nothing is left open (``search_results_`` tells); how a fit runs (`n_threads`, `checkpoint` and the
    like) is not saved. `make` is the function that makes the modules of a ``TorchLearner``: a folder holds
    weights, never code.
    """
    import pandas as pd

    from honlearn.tasks import saving

    config = read_config(folder)
    made = estimator_named(config["kind"])
    if made is None:
        return saving.load_model(folder, make)
    tensors = read_tensors(folder, config)
    network = load_network(os.path.join(folder, NETWORK))
    try:
        given = {name: unplain(value) for name, value in config["parameters"].items()}
        saving.give_make(folder, given, make)
        model = made(network, random_state=config["seed"], **given)
        model.seed_, model.n_parameters_ = config["seed"], config["n_parameters"]
        model.classes_ = np.array(config["classes"]["values"], dtype=config["classes"]["dtype"])
        model.history_ = pd.DataFrame(config["history"])
        model._restore(tensors)
    except (KeyError, TypeError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise FormatError(f"{folder}: config and weights do not belong together ({first})") from None
    return model
