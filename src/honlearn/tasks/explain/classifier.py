"""Explanations of a fitted node classifier, by name.

In: a :class:`~honlearn.tasks.nodes.DGEClassifier`, names of nodes, perhaps paths. Out: explanations. What
needs the whole network once, such as predictions on the first-order network, is computed for all nodes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError, check_integer, did_you_mean, listed
from honlearn.paths.paths import Paths
from honlearn.sampling.relatives import RelativeSampler
from honlearn.tasks import parameters as check
from honlearn.tasks.component import mixed_proba
from honlearn.tasks.explain.kernel import example_reasons, kernel_weights
from honlearn.tasks.explain.naming import Naming
from honlearn.tasks.explain.nodes import NodeExplainer
from honlearn.tasks.explain.shapley import MOST
from honlearn.tasks.explain.value import Explanation
from honlearn.tasks.temperature import tempered

if TYPE_CHECKING:
    from honlearn.tasks.inputs import Names
    from honlearn.tasks.nodes import DGEClassifier


def explain_nodes(
    model: DGEClassifier, X: Names, label: object, paths: Paths | None, top: int, what: str
) -> Iterator[Explanation]:
    """Yield the explanation of each node's probability of a class, None for its most probable one."""
    owner = f"DGEClassifier.{what}"
    top = check_integer(owner, "top", top, 1, MOST - 1)
    check_paths(owner, paths)
    entities = check.node_codes("DGEClassifier", model.network_, X, what)
    wanted = None if label is None else class_code(owner, model.classes_, label)
    naming = Naming(model.network_, paths, model.classes_)
    first_order = _on_first_order(model, entities)
    weights_of = kernel_weights(model, entities.tolist())
    found = NodeExplainer(model, top).explain(entities.tolist(), [wanted] * len(entities))
    for number, (one, weights) in enumerate(zip(found, weights_of, strict=True)):
        examples = example_reasons(model, one, weights, top)
        yield naming.explanation(one, None if first_order is None else first_order[number], examples)


def check_paths(owner: str, paths: object) -> None:
    """Raise unless these are paths, or None."""
    if paths is not None and not isinstance(paths, Paths):
        raise InputError(
            f"{owner}: 'paths' must be Paths (honlearn.read_paths). Got {type(paths).__name__} instead"
        )


def class_code(owner: str, classes: NDArray[Any], label: object) -> int:
    """Return the number of a class; one of another type is known by its text."""
    names = [str(name) for name in classes.tolist()]
    if str(label) not in names:
        raise ParameterError(
            f"The 'label' parameter of {owner} must be one of the classes, {listed(names, 20)}. "
            f"Got {label!r} instead{did_you_mean(label, names)}"
        )
    return names.index(str(label))


def _on_first_order(model: DGEClassifier, entities: NDArray[np.int32]) -> NDArray[np.float64] | None:
    """Return the probabilities [B, C] of the same learners where they read the first-order network.

    None where the network has no memory, or its first-order network other entities.
    """
    networks = {id(one.model.network): one.model.network for one in model.components_}
    firsts = {key: hon.first_order() for key, hon in networks.items()}
    if all(hon.n_conditional == 0 for hon in networks.values()) or any(
        hon.n_entities != model.network_.n_entities for hon in firsts.values()
    ):
        return None
    run = model._runtime()
    inferences = []
    for one in model.components_:
        network, read = firsts[id(one.model.network)], one.model
        if network is not read.network:
            read = dataclasses.replace(read, network=network, sampler=RelativeSampler(network))
        inferences.append(read.inference(one.ensemble, run, 0))
    with run.threads():
        proba = mixed_proba(model.components_, inferences, entities).astype(np.float64)
    if model.kernel_proba_ is not None:
        proba = (1 - model.kernel_share_) * proba + model.kernel_share_ * model.kernel_proba_[entities]
    return tempered(proba, model.temperature_)
