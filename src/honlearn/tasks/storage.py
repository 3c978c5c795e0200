"""Saved models: a folder with config.json, weights.safetensors, network.hon and a card; no pickle anywhere.

A model that was fitted on paths or counts also has paths.counts, for its updates.

In: a fitted estimator. Out: the folder, and from it an estimator that predicts the same bytes. The config
holds the digest of every other file and of itself, so a damaged or edited folder is named as such.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from honlearn import __version__
from honlearn.errors import FormatError, InputError, MissingFileError
from honlearn.hon.build import GramCounts
from honlearn.hon.counts_file import load_counts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import KINDS
from honlearn.stored import TYPES, Fields, fill_safetensors, opened, shown
from honlearn.tasks import card_text
from honlearn.tasks.digested import Digested
from honlearn.tasks.fit_facts import FILE as TRAINING
from honlearn.tasks.fit_facts import FitFacts, write_facts
from honlearn.tasks.model_card import Described, card_of
from honlearn.tasks.model_folder import ADVICE as ADVICE
from honlearn.tasks.model_folder import CONFIG as CONFIG
from honlearn.tasks.model_folder import COUNTS as COUNTS
from honlearn.tasks.model_folder import FORMAT as FORMAT
from honlearn.tasks.model_folder import NETWORK as NETWORK
from honlearn.tasks.model_folder import OTHER_NETWORK as OTHER_NETWORK
from honlearn.tasks.model_folder import VERSION, config_digest
from honlearn.tasks.model_folder import WEIGHTS as WEIGHTS
from honlearn.tasks.model_folder import read_config as read_config
from honlearn.tasks.settings import Pairs, PathKernel, PlainPairs, Structure, Training
from honlearn.tasks.weights_writing import write_safetensors
from honlearn.writing.atomic import atomic_folder, move_files

if TYPE_CHECKING:
    import pandas

# Parameters of this machine and this run only, and code, which a folder never holds.
_OF_THIS_RUN = ("checkpoint", "device", "make")
_OBJECTS: dict[str, Any] = {
    made.__name__: made for made in (*KINDS.values(), Pairs, PathKernel, PlainPairs, Structure, Training)
}


@dataclass(frozen=True)
class SavedCounts:
    """Counts in a model folder, read when an update asks for them: predictions do without."""

    path: Path
    digest: str

    def load(self) -> GramCounts:
        """Return the counts, as they were saved."""
        if not self.path.is_file():
            raise MissingFileError(
                f"{self.path}: the counts of this model's paths are missing; copy the whole folder, or give "
                "the counts of all paths to update"
            )
        with opened(self.path) as file:
            _compare(Digested(file), self.path, self.digest)
        return load_counts(self.path)


def write_model(
    folder: str | os.PathLike[str],
    kind: str,
    config: dict[str, Any],
    tensors: dict[str, torch.Tensor],
    network: HigherOrderNetwork,
    other: HigherOrderNetwork | None = None,
    facts: FitFacts | None = None,
    counts: GramCounts | None = None,
) -> None:
    """Write a model folder with its card; an existing one is replaced, anything else there is refused."""
    path = Path(folder)
    if path.is_dir() and any(path.iterdir()) and not (path / CONFIG).is_file():
        raise InputError(f"{path}: there is a folder with other files; name a new or empty folder")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: there is a file of this name; name a folder")
    # Until all of it is on the disk, a model that is there stays as it is.
    with atomic_folder(path, last=CONFIG) as draft:
        with open(draft / WEIGHTS, "wb") as file:
            write_safetensors(file, tensors)
        network.save(draft / NETWORK)
        if other is not None:
            other.save(draft / OTHER_NETWORK)
        if counts is not None:
            counts.save(draft / COUNTS)
        written = [name for name in (WEIGHTS, NETWORK, OTHER_NETWORK, COUNTS) if (draft / name).is_file()]
        files = {name: _digest(draft / name) for name in written}
        whole = {
            "format": FORMAT,
            "version": VERSION,
            "honlearn": __version__,
            "kind": kind,
            **config,
            "files": files,
        }
        whole["digest"] = config_digest(whole)
        text = json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
        (draft / CONFIG).write_text(text, encoding="utf-8")
        if facts is not None:
            write_facts(draft, facts, whole["digest"])
        if card_text.is_own(path / card_text.FILE):
            described = Described(Fields(json.loads(text), str(path / CONFIG)), network, facts)
            (draft / card_text.FILE).write_text(card_text.markdown(card_of(described)), encoding="utf-8")
    if facts is None:
        # One of a model that was here before.
        (path / TRAINING).unlink(missing_ok=True)


def move_model(draft: Path, folder: Path) -> None:
    """Move a model that was saved to `draft` into `folder`; a README.md there that is not ours stays."""
    if not card_text.is_own(folder / card_text.FILE):
        (draft / card_text.FILE).unlink(missing_ok=True)
    # Its config last: a folder without one is no model to anybody.
    move_files(draft, folder, last=CONFIG)


def read_tensors(folder: str | os.PathLike[str], config: Fields) -> dict[str, torch.Tensor]:
    """Return the tensors of a model folder, all of them finite, after comparing the digests of its files.

    The weights are read once, into their place. They are not mapped: a model that is in use stays what it is
    when its folder is replaced, cut or removed.
    """
    others = (OTHER_NETWORK,) if config.mapping("files").has(OTHER_NETWORK) else ()
    check_files(folder, config, (*others, NETWORK))
    path, digest = _listed(folder, config, WEIGHTS)
    found: dict[str, torch.Tensor] = {}
    types = {d: torch.from_numpy(np.empty(0, d)).dtype for d in TYPES.values()}

    def empty(name: str, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
        # Of torch, since products may differ in the last bit by where a tensor lies in memory.
        found[name] = torch.empty(shape, dtype=types[dtype])
        return found[name].numpy()

    with opened(path) as file:
        digested, failed = Digested(file), None
        try:
            fill_safetensors(digested, os.fstat(file.fileno()).st_size, str(path), empty, advice=ADVICE)
        except FormatError as error:
            failed = error
        # What is wrong with a file that is not the one that was written tells nothing more.
        _compare(digested, path, digest)
    if failed is not None:
        raise failed
    return found


def check_files(folder: str | os.PathLike[str], config: Fields, names: Sequence[str]) -> None:
    """Compare files with the digests in the config."""
    for name in names:
        path, digest = _listed(folder, config, name)
        with opened(path) as file:
            _compare(Digested(file), path, digest)


def _listed(folder: str | os.PathLike[str], config: Fields, name: str) -> tuple[Path, str]:
    """Return the path of a file of the folder, which must be there, and the digest that it should have."""
    files, path = config.mapping("files"), Path(folder)
    # A file that is not listed would be loaded unseen.
    files.only(WEIGHTS, NETWORK, OTHER_NETWORK, COUNTS)
    digest = files.text(name)
    if not (path / name).is_file():
        raise FormatError(f"{path}: {name} is missing; copy the whole folder or save the model again")
    return path / name, digest


def _compare(file: Digested, path: Path, digest: str) -> None:
    if file.digest() != digest:
        raise FormatError(f"{path}: truncated or changed after it was written; save the model again")


def plain(value: object) -> Any:
    """Return a parameter as JSON can hold it; a mapping becomes pairs, which keep the type of its keys."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, BaseEstimator):
        given = value.get_params(deep=False)
        kept = {name: plain(one) for name, one in given.items() if name not in _OF_THIS_RUN}
        return {"object": type(value).__name__, "parameters": kept}
    if isinstance(value, Mapping):
        return {"pairs": [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple, np.ndarray, range)):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return value


def plain_classes(classes: NDArray[Any]) -> dict[str, Any]:
    """Return classes as a config holds them, for :func:`honlearn.tasks.loading.read_classes`."""
    kept = plain(classes)
    if not all(isinstance(value, (str, bool, int, float)) for value in kept):
        kind = type(classes.tolist()[0]).__name__
        raise InputError(f"classes of type {kind} cannot be saved; turn labels into text before fit")
    return {"dtype": "str" if classes.dtype.kind in "OU" else classes.dtype.str, "values": kept}


def plain_rows(table: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a table for JSON, which has no NaN: what a row does not have is null."""
    rows = table.to_dict("records")
    return [{str(k): None if value != value else plain(value) for k, value in row.items()} for row in rows]


def unplain(value: object, where: str) -> Any:
    """Return what :func:`plain` was given; sequences come back as tuples."""
    if isinstance(value, dict) and "object" in value:
        fields = Fields(value, where, advice=ADVICE)
        fields.only("object", "parameters")
        made = _OBJECTS.get(fields.text("object"))
        if made is None:
            raise FormatError(f"{where}: {shown(value['object'])} is no object of parameters; {ADVICE}")
        given = fields.mapping("parameters")
        given.only(*(name for name in made._get_param_names() if name not in _OF_THIS_RUN))
        return made(**{name: unplain(one, f"{where}: {name!r}") for name, one in given.values.items()})
    if isinstance(value, dict):
        pairs = Fields(value, where, advice=ADVICE).items("pairs")
        if not all(isinstance(p, list) and len(p) == 2 and not isinstance(p[0], (list, dict)) for p in pairs):
            raise FormatError(f"{where}: 'pairs' must be pairs. Got {shown(pairs)} instead; {ADVICE}")
        return {key: unplain(item, where) for key, item in pairs}
    return tuple(unplain(item, where) for item in value) if isinstance(value, list) else value


def _digest(path: Path) -> str:
    with opened(path) as file:
        return Digested(file).digest()
