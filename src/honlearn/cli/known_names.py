"""Names of nodes and classes, looked up in a model's folder before the model is loaded, which imports torch.

In: the folder of a model, and names that were typed. Out: nothing, or the error that the model would raise.
What is no ensemble of nodes or links is left to the model itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from honlearn.errors import ParameterError, UnknownNodeError, listed

if TYPE_CHECKING:
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.paths.vocabulary import Vocabulary

NODES, LINKS, PATHS = "DGEClassifier", "DGELinkPredictor", "PathClassifier"


def kind_of(model: Path) -> str:
    """Return the kind of a model, by its config."""
    from honlearn.tasks.model_folder import read_config

    return read_config(model).text("kind")


def check_asked(model: Path, nodes: list[str] | None, node: str | None, pairs: Path | None) -> None:
    """Raise where `predict` is asked for a node, or a pair, that the model does not have."""
    kind = kind_of(model)
    if kind == LINKS and not nodes and (node is None) != (pairs is None):
        network = _network(model)
        if network is None:
            return
        if node is not None:
            network.vocabulary.index(node)
        elif pairs is not None:
            from honlearn.cli.links import read_pairs

            read_pairs(pairs, network)
    elif kind == NODES and nodes and node is None and pairs is None:
        network = _network(model)
        if network is not None:
            from honlearn.cli.predict import chosen_nodes

            refuse_unknown(network.vocabulary, chosen_nodes(nodes, network.vocabulary))


def refuse_unknown(vocabulary: Vocabulary, names: list[str]) -> None:
    """Raise one error that lists the names that the network does not have."""
    try:
        vocabulary.codes(names)
    except UnknownNodeError as error:
        end = "" if str(error).endswith("?") else "."
        raise UnknownNodeError(f"{error}{end} Or give --on-unknown skip or predict") from None


def check_explained(model: Path, node: str, other: str | None, label: str | None) -> None:
    """Raise where `explain` is asked for a node or a class that the model does not have."""
    kind = kind_of(model)
    if kind not in (NODES, LINKS) or (other is not None) != (kind == LINKS):
        return
    network = _network(model)
    if network is not None:
        network.vocabulary.codes([node] if other is None else [node, other])
    if label is not None and kind == NODES:
        _check_class(model, label)


def _check_class(model: Path, label: str) -> None:
    from honlearn.tasks.model_folder import read_config

    classes: Any = read_config(model).mapping("classes").any("values")
    if isinstance(classes, list) and label not in map(str, classes):
        raise ParameterError(
            f"--label must be one of the classes, {listed(classes, 10)}. Got {label!r} instead"
        )


def _network(model: Path) -> HigherOrderNetwork | None:
    from honlearn.hon.formats import load_network
    from honlearn.tasks.model_folder import NETWORK

    file = model / NETWORK
    return load_network(file) if file.is_file() else None
