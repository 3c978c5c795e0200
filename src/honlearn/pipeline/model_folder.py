"""Fit an estimator into a folder: with checkpoints there, so that the same fit goes on after a stop.

In: a model with settings, a network or counts, examples. Out: the fitted estimator, saved whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from honlearn.experiments.evaluate import ModelSpec
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.results.records import digest_of, network_digest
from honlearn.tasks.model_folder import CHECKPOINT
from honlearn.tasks.storage import move_model
from honlearn.writing.locks import locked_folder

Kept = Callable[[Callable[[], bool]], None]


def fit_in_folder(
    spec: ModelSpec,
    network: HigherOrderNetwork | GramCounts,
    folder: Path,
    seed: int,
    examples: list[Any],
    fit: Callable[[Any], Any],
    note: Callable[[str], None],
    goes_on_if: Kept,
) -> Any:
    """Make an estimator, fit it with checkpoints inside `folder`, save it there, and return it.

    `note` is called with a line worth printing, `goes_on_if` with the question whether a stopped fit would go
    on.
    """
    with locked_folder(folder):
        hidden = folder / CHECKPOINT
        hidden.mkdir(exist_ok=True)
        made = dict(spec.settings)
        if "checkpoint" in spec.entry.keywords():
            # Named by what is fitted: other words find no checkpoint of theirs and start anew.
            asked = [spec.entry.name, spec.configuration(), seed, *examples]
            name = digest_of([*asked, network_digest(network)])
            made["checkpoint"] = hidden / f"{name}.safetensors"
            _tell_of_others(hidden, name, note)
            goes_on_if(lambda: any(hidden.glob(f"{name}.*")))
        estimator = spec.entry.make(network, **made, random_state=seed)
        try:
            fit(estimator)
        finally:
            # Nothing was saved: nothing is left behind.
            with suppress(OSError):
                hidden.rmdir()
        _move_in(estimator, folder, hidden)
    return estimator


def save_in_folder(estimator: Any, folder: Path) -> None:
    """Save an estimator without checkpoints into a folder while no other process does, its config last."""
    with locked_folder(folder):
        hidden = folder / CHECKPOINT
        hidden.mkdir(exist_ok=True)
        _move_in(estimator, folder, hidden)


def _move_in(estimator: Any, folder: Path, hidden: Path) -> None:
    """Write the model beside its place, move it there as a whole, and remove what else is hidden."""
    draft = hidden / "model"
    shutil.rmtree(draft, ignore_errors=True)
    estimator.save(draft)
    move_model(draft, folder)
    shutil.rmtree(hidden)


def _tell_of_others(folder: Path, name: str, note: Callable[[str], None]) -> None:
    """Tell where all checkpoints are of other trainings, which explains why this one starts anew."""
    found = [path for path in folder.glob("*.safetensors*") if not path.name.startswith(name)]
    if found and not any(folder.glob(f"{name}.*")):
        note(
            f"note: {found[0]} is a checkpoint of other settings, data or another version of honlearn; this "
            "training starts anew"
        )
