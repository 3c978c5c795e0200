"""One case: a valid document, damaged in a way that seed, target and number decide.

In: the valid documents of a target. Out: a damaged copy. Three of four changes know the format, and the
checksums of a model folder are mostly repaired, so that damage is not always caught at the door.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz.mutate_arrays import damage_hon, damage_npz, damage_safetensors
from fuzz.mutate_bytes import damage_bytes, damage_text
from fuzz.mutate_json import damage_json, damage_json_lines
from fuzz.mutate_tables import damage_arrow, damage_gzip, damage_parquet, damage_zstd
from fuzz.mutate_xml import damage_xml

# Extension → damage that keeps to the format.
KNOWING: dict[str, Callable[[Random, bytes], bytes]] = {
    **dict.fromkeys((".txt", ".ngram", ".csv", ".tsv", ".net", ".graphml", ".gexf", ".md"), damage_text),
    **dict.fromkeys((".arrow", ".feather"), damage_arrow),
    **dict.fromkeys((".safetensors", ".ckpt", ".refit", ".powers"), damage_safetensors),
    ".parquet": damage_parquet,
    ".gz": damage_gzip,
    ".zst": damage_zstd,
    **dict.fromkeys((".hon", ".counts"), damage_hon),
    ".npz": damage_npz,
    ".json": damage_json,
    ".jsonl": damage_json_lines,
    ".xes": damage_xml,
}


def make_case(corpus: Path, target: str, seed: int, number: int, folder: Path) -> Path:
    """Copy one document of the corpus into `folder`, damage it, and return where it is."""
    random = Random(f"{seed} {target} {number}")
    source = random.choice(sorted(corpus.iterdir()))
    document = folder / source.name
    if source.is_file():
        shutil.copyfile(source, document)
        _damage_file(random, document)
        return document
    shutil.copytree(source, document)
    files = sorted(path for path in document.rglob("*") if path.is_file())
    for file in random.sample(files, min(random.choice((1, 1, 1, 2)), len(files))):
        if random.random() < 0.02:
            file.unlink()
        else:
            _damage_file(random, file)
    if random.random() < 0.85:
        repair_model(document)
    return document


def _damage_file(random: Random, file: Path) -> None:
    content = file.read_bytes()
    knowing = KNOWING.get(file.suffix)
    if knowing is not None and content and random.random() < 0.75:
        file.write_bytes(knowing(random, content))
    else:
        file.write_bytes(damage_bytes(random, content) if random.random() < 0.98 else b"")


def repair_model(folder: Path) -> None:
    """Write the digests of a model folder anew, where there are any."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_bytes())
        for name in config["files"]:
            if (folder / name).is_file():
                config["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        rest = {key: value for key, value in config.items() if key != "digest"}
        config["digest"] = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
        path.write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", "utf-8")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return  # no model, or damaged so far that no digest would help
