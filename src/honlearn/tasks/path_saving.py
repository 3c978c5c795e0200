"""What of a fitted classifier of paths is saved, and how it is made again.

In: a :class:`~honlearn.tasks.path_classifier.PathClassifier`. Out: config and tensors for
:mod:`honlearn.tasks.storage`, and back. Arrays from a folder are checked so far that a prediction can follow
them without looking.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.errors import FormatError, HonlearnError
from honlearn.hon.formats import load_network
from honlearn.hon.invariants import check_names
from honlearn.paths.options import ReaderOptions
from honlearn.paths.vocabulary import Vocabulary
from honlearn.stored import Fields, Spec, check_arrays
from honlearn.tasks.fit_facts import restore_facts
from honlearn.tasks.loading import read_classes, read_parameters, read_table
from honlearn.tasks.logistic import Logistic
from honlearn.tasks.path_grams import PathGrams
from honlearn.tasks.path_sets import LABELS, SCORES, PathCalibration
from honlearn.tasks.storage import ADVICE, NETWORK, WEIGHTS, plain, plain_classes, read_tensors, write_model

if TYPE_CHECKING:
    from honlearn.tasks.path_classifier import PathClassifier

_LEFT_OUT = ("random_state",)
_PLAIN = ("names", "name_offsets", "rarity", "vectors", "center", "scale", "coef", "intercept")
# Probabilities of logits in these bounds are exact; no training gives others.
_MOST = 1e100


def save_path_classifier(model: PathClassifier, folder: str | os.PathLike[str]) -> None:
    """Write a fitted classifier of paths to `folder`."""
    given = model.get_params(deep=False)
    config = {
        "parameters": {name: plain(value) for name, value in given.items() if name not in _LEFT_OUT},
        "seed": model.seed_,
        "classes": plain_classes(model.classes_),
        "C": float(model.C_),
        "temperature": float(model.temperature_),
        "reading": {name: plain(value) for name, value in model.reading_.items()},
        "search_results": model.search_results_.to_dict("records"),
    }
    vocabulary = model.grams_.vocabulary
    arrays: dict[str, NDArray[Any]] = {
        "names": vocabulary.data,
        "name_offsets": vocabulary.offsets,
        "rarity": model.grams_.rarity,
        "vectors": model.vectors_,
        "center": model.center_,
        "scale": model.scale_,
        "coef": model.logistic_.coef,
        "intercept": model.logistic_.intercept,
    }
    arrays |= {f"keys.{i}": keys for i, keys in enumerate(model.grams_.keys)}
    if model.calibration_ is not None:
        arrays |= model.calibration_.arrays()
    # Copies, since torch takes no array that cannot be written to.
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}
    facts = getattr(model, "fit_facts_", None)
    write_model(folder, type(model).__name__, config, tensors, model.network_, facts=facts)


def load_path_classifier(folder: str | os.PathLike[str], config: Fields) -> PathClassifier:
    """Return the classifier of paths that ``save`` wrote to `folder`."""
    from honlearn.tasks.path_classifier import PathClassifier

    tensors = {name: tensor.numpy() for name, tensor in read_tensors(folder, config).items()}
    where = os.path.join(folder, WEIGHTS)
    seed = config.integer("seed", 0, None)
    model = PathClassifier(**read_parameters(config, PathClassifier, _LEFT_OUT), random_state=seed)
    try:
        model.check()
    except HonlearnError as error:
        raise FormatError(f"{folder}: {error}; {ADVICE}") from None
    model.seed_, model.classes_ = seed, read_classes(config)
    model.C_ = config.number("C", 0)
    model.temperature_ = config.number("temperature", 1e-6, 1e6)
    model.reading_ = _reading(config)
    model.search_results_ = read_table(config, "search_results", {"C", "loss"})
    model.network_ = load_network(os.path.join(folder, NETWORK))
    model.calibration_ = PathCalibration.of_arrays(tensors, len(model.classes_), where)
    _check(model, tensors, where)
    keys = tuple(tensors[f"keys.{i}"] for i in range(model.order))
    vocabulary = Vocabulary(tensors["names"], tensors["name_offsets"])
    model.grams_ = PathGrams(vocabulary, keys, tensors["rarity"])
    model.vectors_, model.center_, model.scale_ = (tensors[name] for name in ("vectors", "center", "scale"))
    model.logistic_ = Logistic(tensors["coef"], tensors["intercept"])
    model.n_parameters_ = model.logistic_.coef.size + model.logistic_.intercept.size
    restore_facts(model, folder, config)
    return model


def _reading(config: Fields) -> dict[str, Any]:
    """Return the reader options of a config, as far as they are some."""
    fields = config.mapping("reading")
    try:
        ReaderOptions.of(**fields.values)
    except HonlearnError as error:
        raise FormatError(f"{fields.where}: {error}; {ADVICE}") from None
    return dict(fields.values)


def _check(model: PathClassifier, arrays: dict[str, NDArray[Any]], where: str) -> None:
    """Raise unless all arrays are there, fit together, and hold grams that can be looked up."""
    wanted = [*_PLAIN, *(f"keys.{i}" for i in range(model.order))]
    # A folder of an earlier version has no calibration.
    wanted += [] if model.calibration_ is None else [SCORES, LABELS]
    if sorted(wanted) != sorted(arrays):
        odd = sorted(set(wanted) ^ set(arrays))[0]
        raise FormatError(f"{where}: the array {odd!r} is not there or does not belong there; {ADVICE}")
    check_arrays(arrays, {"names": ("u1", 1), "name_offsets": ("i8", 1)}, where, advice=ADVICE)
    try:
        check_names(arrays["names"], arrays["name_offsets"])
    except HonlearnError as error:
        raise FormatError(f"{where}: {error}; {ADVICE}") from None
    entities, depth = len(arrays["name_offsets"]) - 1, model.vectors
    keys: dict[str, Spec] = {f"keys.{i}": ("i8", 1) for i in range(model.order)}
    check_arrays(arrays, keys, where, advice=ADVICE)
    grams = entities + sum(len(arrays[name]) for name in keys)
    beside = 3 * depth + 1 if depth else 0
    classes = len(model.classes_)
    specs: dict[str, Spec] = {
        "rarity": ("f8", (grams,)),
        "vectors": ("f8", (entities + 1, depth)),
        "center": ("f8", (beside,)),
        "scale": ("f8", (beside,)),
        "coef": ("f8", (classes, grams + beside)),
        "intercept": ("f8", (classes,)),
    }
    check_arrays(arrays, specs, where, advice=ADVICE)
    if any(np.abs(arrays[name]).max(initial=0) > _MOST for name in specs) or classes < 2:
        raise FormatError(f"{where}: numbers of more than {_MOST:g}, or a single class; {ADVICE}")
    if (arrays["scale"] < 1e-9).any():
        raise FormatError(f"{where}: 'scale' must be above 0; {ADVICE}")
    shorter = entities + 2
    for name in keys:
        ascending = (arrays[name][1:] > arrays[name][:-1]).all()
        if not ascending or (len(arrays[name]) and not _numbered(arrays[name], shorter, entities + 2)):
            raise FormatError(f"{where}: {name!r} does not hold the numbers of grams; {ADVICE}")
        shorter = len(arrays[name])


def _numbered(keys: NDArray[np.int64], shorter: int, base: int) -> bool:
    """Return whether ascending keys are those of grams that begin with one of `shorter` others."""
    return bool(keys[0] >= 0 and keys[-1] < shorter * base)
