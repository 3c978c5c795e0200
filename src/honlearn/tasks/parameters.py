"""From an estimator's flat parameters to what the models take, each checked with a message of its own.

In: the parameters of :class:`honlearn.DGEClassifier`. Out: an architecture, training options and a
neighbourhood. Nothing is checked before `fit`, as scikit-learn's contract asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError, check_choice, check_integer, check_real, listed
from honlearn.hon.network import HigherOrderNetwork
from honlearn.models.ensemble import MAX_LAYERS, VARIANTS, Architecture
from honlearn.models.layers import LAYERS
from honlearn.models.neighborhoods import Echo, ExactNeighborhood, Neighborhood, SampledNeighborhood
from honlearn.models.training import TrainingOptions
from honlearn.models.weights import Features
from honlearn.tasks.structure import PARAMETERS

_OWNER = "DGEClassifier"


def network(value: object, parameters: Mapping[str, Any] | None = None) -> HigherOrderNetwork:
    """Return `value` if it is a network, or raise an error that says how to make one."""
    asked = [name for name in PARAMETERS if (parameters or {}).get(name) is not None]
    if asked and not isinstance(value, HigherOrderNetwork):
        raise ParameterError(
            f"The 'network' parameter of {_OWNER} must be paths (honlearn.read_paths) or their counts "
            f"(honlearn.count_grams) to choose {listed(asked)} for. Got {type(value).__name__} instead."
        )
    if not isinstance(value, HigherOrderNetwork):
        raise ParameterError(
            f"The 'network' parameter of {_OWNER} must be a HigherOrderNetwork; make one with "
            f"honlearn.grow(paths) or honlearn.load_network(file). Got {type(value).__name__} instead."
        )
    if asked:
        raise ParameterError(
            f"{_OWNER}: {listed(asked)} cannot be chosen for a network that is grown already; pass paths "
            "(honlearn.read_paths) or counts (honlearn.count_grams) in its place, or leave "
            f"{'it' if len(asked) == 1 else 'them'} out"
        )
    return value


def path_features(value: Any) -> int:
    """Return how many numbers of paths stand beside an entity's name at most, 0 for none."""
    return check_integer(_OWNER, "path_features", value, 0)


def kernel_share(value: Any) -> float | None:
    """Return the share of the answer that the paths' reading has, None where it is to be chosen."""
    if isinstance(value, str):
        check_choice(_OWNER, "kernel_share", value, ("auto",))
        return None
    return check_real(_OWNER, "kernel_share", value, 0, 1)


def edge_power(value: Any) -> float | None:
    """Return the power that weights of edges are taken to, None where it is to be chosen."""
    if isinstance(value, str):
        check_choice(_OWNER, "edge_power", value, ("auto",))
        return None
    return check_real(_OWNER, "edge_power", value, 0, 10)


def architecture(parameters: Mapping[str, Any], n_classes: int, n_entities: int) -> Architecture:
    """Return the ensemble's shape, or raise a ParameterError that names the parameter."""
    check_choice(_OWNER, "variant", parameters["variant"], VARIANTS)
    check_choice(_OWNER, "aggregator", parameters["aggregator"], LAYERS)
    for name in ("shared", "normalize", "identity", "echo"):
        if not isinstance(parameters[name], (bool, np.bool_)):
            raise ParameterError(
                f"The {name!r} parameter of {_OWNER} must be True or False. Got {parameters[name]!r} instead."
            )
    widths = parameters["widths"]
    widths = (widths,) if isinstance(widths, (int, np.integer)) else _sequence("widths", widths)
    if not 1 <= len(widths) <= MAX_LAYERS:
        raise ParameterError(
            f"The 'widths' parameter of {_OWNER} must name 1 to {MAX_LAYERS} layers. Got {widths!r} instead."
        )
    if not parameters["identity"] and parameters["features"] is None and not parameters["path_features"]:
        raise ParameterError(
            f"{_OWNER}: identity=False needs features; pass features=[V, F], path_features=64, or "
            "identity=True"
        )
    return Architecture(
        variant=parameters["variant"],
        shared=bool(parameters["shared"]) or parameters["variant"] == "batch",
        n_learners=check_integer(_OWNER, "n_learners", parameters["n_learners"], 1),
        n_classes=n_classes,
        n_entities=n_entities,
        aggregator=parameters["aggregator"],
        widths=tuple(check_integer(_OWNER, "widths", width, 3) for width in widths),
        normalize=bool(parameters["normalize"]),
        identity=bool(parameters["identity"]),
        n_heads=check_integer(_OWNER, "n_heads", parameters["n_heads"], 1),
        # Features alone do not say who somebody is, so there is no echo to hear.
        echo=bool(parameters["echo"]) or not parameters["identity"],
    )


def training_options(parameters: Mapping[str, Any], n_nodes: int) -> TrainingOptions:
    """Return the training options, or raise a ParameterError that names the parameter."""

    def real(name: str, least: float, most: float = float("inf"), open_below: bool = False) -> float:
        return check_real(_OWNER, name, parameters[name], least, most, open_below=open_below)

    def whole(name: str) -> int:
        return check_integer(_OWNER, name, parameters[name], 1)

    checkpoint, automatic = parameters["checkpoint"], parameters["batch_size"] is None
    return TrainingOptions(
        learning_rate=real("learning_rate", 0, open_below=True),
        batch_size=min(max(n_nodes // 8, 16), 512) if automatic else whole("batch_size"),
        max_epochs=whole("max_epochs"),
        patience=whole("patience"),
        input_dropout=real("input_dropout", 0, 0.99),
        hidden_dropout=real("hidden_dropout", 0, 0.99),
        weight_decay=real("weight_decay", 0),
        validation_fraction=real("validation_fraction", 0, 0.9),
        checkpoint=None if checkpoint is None else Path(checkpoint),
        checkpoint_seconds=real("checkpoint_seconds", 0),
        show=parameters["verbose"],
    )


def refit(value: Any) -> float:
    """Return how many times the best number of epochs to train anew, 0 for not at all."""
    return float(value) if isinstance(value, (bool, np.bool_)) else check_real(_OWNER, "refit", value, 0, 100)


def draws(value: Any) -> int:
    """Return the number of draws of relatives at inference, 0 for all relatives."""
    if value == "all":
        return 0
    if isinstance(value, str):
        raise ParameterError(
            f"The 'n_draws' parameter of {_OWNER} must be a whole number, at least 1, or 'all'. "
            f"Got {value!r} instead."
        )
    return check_integer(_OWNER, "n_draws", value, 1)


def neighborhood(hon: HigherOrderNetwork, shape: Architecture, parameters: Mapping[str, Any]) -> Neighborhood:
    """Return exact neighbourhoods, or sampled ones where fan-outs are given, one for each layer."""
    sums, fan_outs = shape.aggregator == "gin", parameters["fan_outs"]
    power = check_real(_OWNER, "edge_power", parameters["edge_power"], 0, 10)
    echo = Echo(shape.echo, parameters["features"] is not None or parameters["path_features"] > 0)
    if fan_outs is None:
        return ExactNeighborhood(hon, len(shape.widths), sums, power, echo)
    return SampledNeighborhood(hon, check_fan_outs(fan_outs, len(shape.widths)), sums, power, echo)


def check_fan_outs(value: Any, n_layers: int) -> list[int]:
    """Return how many neighbours are sampled at each depth, one number for each layer."""
    fan_outs = _sequence("fan_outs", value)
    if len(fan_outs) != n_layers:
        raise ParameterError(
            f"The 'fan_outs' parameter of {_OWNER} must have one number for each of the "
            f"{n_layers} layers in widths. Got {fan_outs!r} instead."
        )
    return [check_integer(_OWNER, "fan_outs", n, 1, 2**31 - 1) for n in fan_outs]


def _sequence(name: str, value: Any) -> tuple[Any, ...]:
    """Return the numbers of a parameter that has one for each layer."""
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise ParameterError(
            f"The {name!r} parameter of {_OWNER} must be whole numbers, one for each layer. "
            f"Got {value!r} instead."
        )
    return tuple(value)


def node_codes(hon: HigherOrderNetwork, nodes: Any, what: str) -> NDArray[np.int32]:
    """Return the entity codes of node names, or one error that lists those the network does not have."""
    if isinstance(nodes, (str, bytes)):
        raise InputError(f"{_OWNER}.{what} takes a list of node names, got the single name {nodes!r}")
    names = np.asarray(nodes, dtype=object) if not hasattr(nodes, "to_numpy") else nodes.to_numpy()
    if names.ndim == 2 and names.shape[1] == 1:
        names = names[:, 0]
    if names.ndim != 1:
        raise InputError(f"{_OWNER}.{what} takes node names [n], got an array of shape {names.shape}")
    return hon.vocabulary.codes(names.tolist())


def class_codes(y: Any, n_nodes: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct classes, sorted, and the class of each node, or raise a clear error."""
    values = y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n_nodes:
        raise InputError(f"{n_nodes:,} nodes but labels of shape {values.shape}; give one label a node")
    if n_nodes == 0:
        raise InputError("there is nothing to fit: no nodes were given")
    if values.dtype == object:
        missing = np.array([value is None or value != value for value in values])
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(n_nodes, bool)
    if missing.any():
        rows = listed(np.flatnonzero(missing).tolist(), 5)
        raise InputError(f"{int(missing.sum()):,} nodes have no label (rows {rows}); leave them out of fit")
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError("labels are classes, got fractional numbers; did you mean a regression?")
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = listed(sorted({type(value).__name__ for value in values}), 5)
        raise InputError(f"labels must be of one kind, got {kinds}; turn them all into text") from None
    return classes, codes.astype(np.int64)


def example_weights(
    class_weight: Any, sample_weight: Any, classes: NDArray[Any], codes: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return the weight of each example in the loss: class weight times sample weight, float32 [n]."""
    weights = np.ones(len(codes))
    if isinstance(class_weight, str):
        check_choice(_OWNER, "class_weight", class_weight, ("balanced",))
        counts = np.bincount(codes, minlength=len(classes))
        weights *= (len(codes) / (len(classes) * counts))[codes]
    elif isinstance(class_weight, Mapping):
        strange = [key for key in class_weight if key not in classes.tolist()]
        if strange:
            raise ParameterError(
                f"The 'class_weight' parameter of {_OWNER} names {listed(map(repr, strange), 5)}, "
                f"which is not among the classes {listed(classes.tolist(), 10)}"
            )
        by_class = [check_real(_OWNER, "class_weight", class_weight.get(c, 1.0), 0) for c in classes.tolist()]
        weights *= np.array(by_class)[codes]
    elif class_weight is not None:
        raise ParameterError(
            f"The 'class_weight' parameter of {_OWNER} must be None, 'balanced' or a mapping of class to "
            f"weight. Got {class_weight!r} instead."
        )
    if sample_weight is not None:
        given = np.asarray(sample_weight, float)
        if given.shape != weights.shape or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(f"sample_weight must be {len(codes):,} finite numbers, at least 0")
        weights *= given
    if not weights.any():
        raise InputError("there is nothing to fit: every node has a weight of 0")
    return weights.astype(np.float32)


def user_features(
    values: Any, hon: HigherOrderNetwork, more: NDArray[np.float32] | None = None
) -> Features | None:
    """Return user features [V, F], rows in the order of ``network.vocabulary``, and `more` beside them."""
    if values is None:
        return None if more is None else Features(more)
    if hasattr(values, "reindex"):
        index = values.index.astype(str)
        missing = [name for name in hon.vocabulary.names if name not in index]
        if missing:
            raise InputError(f"features have no row for {len(missing):,} entities: {listed(missing, 5)}")
        values = values.set_axis(index).loc[list(hon.vocabulary.names)].to_numpy()
    if not hasattr(values, "tocsr"):
        try:
            values = np.asarray(values, np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"features are numbers: {error}; turn text and categories into numbers, for example a column "
                "of 0 and 1 for each"
            ) from None
    if values.ndim != 2 or values.shape[0] != hon.n_entities or values.shape[1] < 1:
        raise InputError(
            f"features must be [V, F] with V = {hon.n_entities:,} rows in the order of "
            f"network.vocabulary; got shape {tuple(values.shape)}"
        )
    if not np.isfinite(values.data if hasattr(values, "tocsr") else values).all():
        raise InputError("features hold numbers that are not finite; fill or remove them")
    if more is None:
        return Features(values)
    if hasattr(values, "tocsr"):
        from scipy.sparse import csr_array, hstack

        return Features(hstack([values, csr_array(more)]))
    return Features(np.hstack([values, more]))
