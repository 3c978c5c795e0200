"""Names and paths that a model of nodes has not seen, for ``honlearn predict``.

In: a loaded model, ``--paths``, ``--nodes`` and ``--on-unknown``. Out: the model with the new paths in its
network, and the names to predict, known ones or all of them. Nothing is trained or saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

ON_UNKNOWN = ("error", "skip", "predict")


def check_words(on_unknown: str, paths: str | None, reading: Mapping[str, Any]) -> None:
    """Raise for words that cannot mean anything, before a model is loaded."""
    from honlearn.errors import ParameterError, did_you_mean, listed

    if on_unknown not in ON_UNKNOWN:
        raise ParameterError(
            f"--on-unknown must be {listed(ON_UNKNOWN)}. Got {on_unknown!r} instead"
            f"{did_you_mean(on_unknown, ON_UNKNOWN)}"
        )
    if reading and paths is None:
        options = listed(f"--{name.replace('_', '-')}" for name in reading)
        raise ParameterError(f"{options}: how new paths are read; name them with --paths")


def with_new_paths(model: Path, fitted: Any, paths: str, reading: Mapping[str, Any]) -> Any:
    """Return the fitted model on its network with these paths added."""
    from honlearn.errors import ParameterError

    if not hasattr(fitted, "update"):
        raise ParameterError(
            f"{model}: --paths is for models of paths (train --task paths) and for ensembles of nodes "
            f"(dge-bag …); this is a {type(fitted).__name__}: train it again on all paths"
        )
    return fitted.update(paths, **reading)


def asked_for(fitted: Any, words: list[str] | None, on_unknown: str) -> tuple[Any, list[str]]:
    """Return the model that predicts, and the names that ``--nodes`` asks for, as ``--on-unknown`` says."""
    from honlearn.cli.known_names import refuse_unknown
    from honlearn.cli.predict import chosen_nodes
    from honlearn.errors import ParameterError, listed

    vocabulary = fitted.network.vocabulary
    names = chosen_nodes(words, vocabulary)
    unknown = [name for name in names if name not in vocabulary]
    if not unknown:
        return fitted, names
    if on_unknown == "error":
        refuse_unknown(vocabulary, names)
    if on_unknown == "skip":
        one = len(unknown) == 1
        typer.echo(
            f"note: {len(unknown):,} name{' is' if one else 's are'} not in the network and left out: "
            f"{listed(unknown, 5)}",
            err=True,
        )
        return fitted, [name for name in names if name in vocabulary]
    if not hasattr(fitted, "update"):
        raise ParameterError(
            f"--on-unknown predict: for ensembles of nodes (dge-bag …); this is a {type(fitted).__name__}"
        )
    from honlearn.tasks.update import with_isolated

    return with_isolated(fitted, unknown), names
