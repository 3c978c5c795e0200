"""What a model folder is: its files, and its config, read and checked without torch.

In: a folder. Out: the config, or an error that tells what is wrong with it, before torch is imported. The
rest of a saved model is read by :mod:`honlearn.tasks.storage`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from honlearn.errors import FormatError, MissingFileError
from honlearn.stored import Fields, read_json, shown

FORMAT, VERSION = "honlearn-model", 3
CONFIG, WEIGHTS, NETWORK = "config.json", "weights.safetensors", "network.hon"
# A second network that some learners of a bag read.
OTHER_NETWORK = "network-2.hon"
# The counts of the paths that the network was grown from, for an update.
COUNTS = "paths.counts"
# Where a training that was stopped goes on from.
CHECKPOINT = ".checkpoint"
ADVICE = "save the model again"


def read_config(folder: str | os.PathLike[str]) -> Fields:
    """Return the config of a model folder, or raise an error that says what is wrong with it."""
    path = Path(folder)
    if not path.exists():
        raise MissingFileError(f"{path}: no such folder; name a folder that save() or honlearn train wrote")
    if not (path / CONFIG).is_file():
        inside = path / "model"
        near = f"; did you mean {inside}?" if (inside / CONFIG).is_file() else ""
        raise FormatError(
            f"{path}: not a honlearn model: it has no {CONFIG}{near or '; name a folder that save() wrote'}"
        )
    config = read_json(path / CONFIG, advice=ADVICE)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise FormatError(f"{path}: not a honlearn model: {CONFIG} is of another program")
    older = isinstance(config.get("version"), int) and config["version"] < VERSION
    if config.get("version") != VERSION:
        raise FormatError(
            f"{path}: model format {shown(config.get('version'))}, this honlearn reads {VERSION}; "
            + ("an older honlearn wrote it: train the model again" if older else "update honlearn")
            + ", or use the version that wrote it"
        )
    if config.get("digest") != config_digest(config):
        raise FormatError(f"{path / CONFIG}: was changed after it was written; save the model again")
    return Fields(config, str(path / CONFIG), advice=ADVICE)


def config_digest(config: Mapping[str, Any]) -> str:
    """Return the digest of a config without the one that it holds."""
    rest = {key: value for key, value in config.items() if key != "digest"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
