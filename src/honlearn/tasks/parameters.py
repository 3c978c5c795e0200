"""From an estimator's parameters and arguments to what the models take, each checked.

In: parameters, names of nodes and labels, and the name of the estimator that messages use. Out: an
architecture, learners, codes, weights and features. Nothing is checked before `fit`, as scikit-learn's
contract asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import VARIANTS, Architecture
from honlearn.errors import InputError, ParameterError, check_choice, check_integer, check_real, listed
from honlearn.hon.network import HigherOrderNetwork
from honlearn.labels import is_missing
from honlearn.learners import Learner
from honlearn.tasks.inputs import Labels, Names, Weights
from honlearn.tasks.nested import AUTO, as_learners


def network(owner: str, value: object, asked: Sequence[str] = ()) -> HigherOrderNetwork:
    """Return `value` if it is a network, or raise an error that says how to make one.

    `asked` are parameters of the structure that are given; a network that is grown already has none.
    """
    if asked and not isinstance(value, HigherOrderNetwork):
        raise ParameterError(
            f"The 'network' parameter of {owner} must be paths (honlearn.read_paths) or their counts "
            f"(honlearn.count_grams) to choose {listed(asked)} for. Got {type(value).__name__} instead."
        )
    if not isinstance(value, HigherOrderNetwork):
        raise ParameterError(
            f"The 'network' parameter of {owner} must be a HigherOrderNetwork; make one with "
            f"honlearn.grow(paths) or honlearn.load_network(file). Got {type(value).__name__} instead."
        )
    if asked:
        raise ParameterError(
            f"{owner}: {listed(asked)} cannot be chosen for a network that is grown already; pass paths "
            "(honlearn.read_paths) or counts (honlearn.count_grams) in its place, or leave "
            f"{'it' if len(asked) == 1 else 'them'} out"
        )
    return value


def architecture(
    owner: str, estimator: Any, n_classes: int, n_entities: int, kinds: Sequence[Learner]
) -> Architecture:
    """Return the ensemble's shape, or raise a ParameterError that names the parameter."""
    check_choice(owner, "variant", estimator.variant, VARIANTS)
    if not isinstance(estimator.shared, (bool, np.bool_)):
        raise ParameterError(
            f"The 'shared' parameter of {owner} must be True or False. Got {estimator.shared!r} instead."
        )
    shared = bool(estimator.shared) or estimator.variant == "batch"
    n_learners = check_integer(owner, "n_learners", estimator.n_learners, 1)
    if len(kinds) > 1:
        if shared and estimator.variant not in ("pool", "concat", "attn"):
            raise ParameterError(
                f"{owner}: variant={estimator.variant!r} with shared weights trains one model, so it takes "
                "one kind of learner; name one, or use variant='bag' with shared=False"
            )
        if len({kind.width for kind in kinds}) > 1:
            widths = listed(f"{kind.name} {kind.width}" for kind in kinds)
            raise ParameterError(
                f"{owner}: learners of one ensemble must end in the same width. Got {widths}."
            )
        if n_learners < len(kinds):
            raise ParameterError(
                f"{owner}: n_learners={n_learners} is less than the {len(kinds)} kinds of learner; raise it"
            )
    return Architecture(
        variant=estimator.variant,
        shared=shared,
        n_learners=n_learners,
        n_classes=n_classes,
        n_entities=n_entities,
        kinds=tuple(kinds),
        n_heads=check_integer(owner, "n_heads", estimator.n_heads, 1),
    )


def learners(owner: str, value: object, usual: str, task: str, has_features: bool) -> tuple[Learner, ...]:
    """Return the kinds of learner, resolved for the task and checked."""
    if isinstance(value, str) and value == AUTO and task == "links":
        raise ParameterError(
            f"The 'learner' parameter of {owner} must name a kind of learner: 'auto' is for nodes only. "
            "Got 'auto' instead; write learner='sage'."
        )
    kinds = tuple(one.resolved(task) for one in as_learners(owner, value, usual))
    for kind in kinds:
        kind.check()
        if not kind.identity and not has_features:
            raise ParameterError(
                f"{owner}: identity=False needs features; pass features=[V, F], "
                "path_kernel=PathKernel(vectors=64), or identity=True"
            )
        if isinstance(kind.edge_power, str) and task == "links":
            raise ParameterError(
                f"The 'edge_power' parameter of {kind.name} is chosen for nodes only; for links it must be a "
                f"number at least 0. Got {kind.edge_power!r} instead."
            )
        if kind.mask_self and task == "links":
            raise ParameterError(
                f"The 'mask_self' parameter of {kind.name} is for nodes: the ends of a link are known by "
                "their identities. Leave it out."
            )
    return kinds


# As many as no prediction gains from; more would take for ever.
MOST_DRAWS = 100_000


def draws(owner: str, value: object) -> int:
    """Return the number of draws of relatives at inference, 0 for all relatives."""
    if value == "all":
        return 0
    if isinstance(value, str):
        raise ParameterError(
            f"The 'n_draws' parameter of {owner} must be a whole number, at least 1, or 'all'. "
            f"Got {value!r} instead."
        )
    return check_integer(owner, "n_draws", value, 1, MOST_DRAWS)


def node_codes(owner: str, hon: HigherOrderNetwork, nodes: Names, what: str) -> NDArray[np.int32]:
    """Return the entity codes of node names, or one error that lists those the network does not have."""
    if isinstance(nodes, (str, bytes)):
        raise InputError(f"{owner}.{what} takes a list of node names, got the single name {nodes!r}")
    names = _array(nodes, object)
    if names.ndim == 2 and names.shape[1] == 1:
        names = names[:, 0]
    if names.ndim != 1:
        raise InputError(f"{owner}.{what} takes node names [n], got an array of shape {names.shape}")
    return hon.vocabulary.codes(names.tolist())


def _array(values: Any, dtype: type | None = None) -> NDArray[Any]:
    """Return what a user handed over as an array: a list, or a column of a table.

    NumPy would turn a missing label among texts into the text ``nan``.
    """
    if hasattr(values, "to_pylist"):  # of Arrow
        values = values.to_pylist()
    elif hasattr(values, "to_numpy"):
        return np.asarray(values.to_numpy())
    if isinstance(values, (list, tuple)) and any(isinstance(one, float) for one in values):
        kinds = {type(one) for one in values}
        dtype = object if str in kinds else dtype
    return np.asarray(values, dtype)


def class_codes(y: Labels, n_nodes: int, what: str = "node") -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct classes, sorted, and the class of each node or path, or raise a clear error."""
    values = _array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != n_nodes:
        raise InputError(f"{n_nodes:,} {what}s but labels of shape {values.shape}; give one label a {what}")
    if n_nodes == 0:
        raise InputError(f"there is nothing to fit: no {what}s were given")
    if values.dtype == object:
        missing = np.array([is_missing(value) for value in values])
    else:
        missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(n_nodes, bool)
    if missing.any():
        rows = listed(np.flatnonzero(missing).tolist(), 5)
        raise InputError(f"{int(missing.sum()):,} {what}s have no label (rows {rows}); leave them out of fit")
    if values.dtype.kind == "f" and (values != np.round(values)).any():
        raise InputError("labels are classes, got fractional numbers; did you mean a regression?")
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = listed(sorted({type(value).__name__ for value in values}), 5)
        raise InputError(f"labels must be of one kind, got {kinds}; turn them all into text") from None
    if classes.dtype == object and isinstance(classes[0], (bool, int, float, np.generic)):
        # Numbers in a column of objects: a model keeps classes by their type.
        classes = np.array(classes.tolist())
    try:
        "".join(map(str, classes.tolist())).encode()
    except UnicodeEncodeError:
        raise InputError("labels hold text that is no Unicode (lone surrogates); rename them") from None
    return classes, codes.astype(np.int64)


def example_weights(
    owner: str,
    class_weight: object,
    sample_weight: Weights | None,
    classes: NDArray[Any],
    codes: NDArray[np.int64],
) -> NDArray[np.float32]:
    """Return the weight of each example in the loss: class weight times sample weight, float32 [n].

    All together are scaled so that the largest is from 1 to 2.
    """
    weights = np.ones(len(codes))
    if isinstance(class_weight, str):
        check_choice(owner, "class_weight", class_weight, ("balanced",))
        counts = np.bincount(codes, minlength=len(classes))
        weights *= (len(codes) / (len(classes) * counts))[codes]
    elif isinstance(class_weight, Mapping):
        strange = [key for key in class_weight if key not in classes.tolist()]
        if strange:
            raise ParameterError(
                f"The 'class_weight' parameter of {owner} names {listed(map(repr, strange), 5)}, "
                f"which is not among the classes {listed(classes.tolist(), 10)}"
            )
        by_class = [check_real(owner, "class_weight", class_weight.get(c, 1.0), 0) for c in classes.tolist()]
        weights *= np.array(by_class)[codes]
    elif class_weight is not None:
        raise ParameterError(
            f"The 'class_weight' parameter of {owner} must be None, 'balanced' or a mapping of class to "
            f"weight. Got {class_weight!r} instead."
        )
    if sample_weight is not None:
        given = np.asarray(sample_weight, float)
        if given.shape != weights.shape or not np.isfinite(given).all() or (given < 0).any():
            raise InputError(f"sample_weight must be {len(codes):,} finite numbers, at least 0")
        weights = near_one(weights) * near_one(given)
    if not weights.any():
        raise InputError("there is nothing to fit: every node has a weight of 0")
    return near_one(weights).astype(np.float32)


def near_one(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return weights times the power of two by which the largest is from 1 to 2.

    Only their ratios count, which a power of two changes in no bit; float32 holds neither 1e-50 nor 1e50.
    """
    exponent = np.frexp(weights.max(initial=0.0))[1]
    return np.asarray(np.ldexp(weights, 1 - exponent) if weights.any() else weights)


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
            columns = (name for name in values.columns if set(missing) <= set(values[name].astype(str)))
            name = next(columns, None) if hasattr(values, "columns") else None
            hint = "" if name is None else f"; column {name!r} has them: features.set_index({name!r})"
            raise InputError(
                f"features have no row for {len(missing):,} entities: {listed(missing, 5)}{hint}"
            )
        values = values.set_axis(index).loc[list(hon.vocabulary.names)].to_numpy()
    if hasattr(values, "tocsr"):
        values = values.tocsr().astype(np.float32)
    else:
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
