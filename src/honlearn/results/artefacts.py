"""What a run keeps beside its records: the network, labels, facts of nodes, and the predictions of each fit.

In: plain arrays and values. Out: files in ``RUN/artefacts``, whole or not at all, and the same read back.
There is no pickle: arrays are NumPy's own format, everything with names is JSON, networks are ``.hon``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, HonlearnError, first_line
from honlearn.results.checked import check_answers
from honlearn.results.record import NAME
from honlearn.results.records import digest_of, network_digest
from honlearn.stored import Fields, parse_json, read_json, read_npz
from honlearn.writing.atomic import atomic_binary, atomic_text

if TYPE_CHECKING:
    from honlearn.hon.network import HigherOrderNetwork

FOLDER = "artefacts"
_ABOUT = "about"
_ADVICE = "remove it, and the report goes without it"


@dataclass(frozen=True)
class Answers:
    """The predictions of one fit: names and plain values in `about`, numbers in `arrays`.

    Nodes: about ``nodes``, ``truth`` and ``classes``; arrays ``proba`` [B, C], ``members`` [L, B, C] (each
    learner over its draws or all relatives), ``drawn`` [L, B, C] and ``relatives`` [L, B] (the prediction
    of each learner from one drawn relative, and which of the family it was; 0 is the base node), ``p_values``
    [B, C] of prediction sets. Links: about ``pairs`` and ``new_pairs``; arrays ``truth``, ``linked`` and
    ``kinds`` [B] (0 linked, 1 drawn uniformly, 2 by degree), ``members`` [L, B], ``new_linked`` and
    ``new_disagreement``. Both: about ``history``, one dictionary per epoch. Nodes: about ``reasons``, why
    some of the nodes have their predictions.
    """

    about: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def write_answers(run: str | Path, digest: str, answers: Answers) -> None:
    """Write the predictions of the fit with this digest."""
    text = json.dumps(answers.about, ensure_ascii=False, allow_nan=False)
    about = np.frombuffer(text.encode(), np.uint8)
    with atomic_binary(_folder(run) / f"{digest}.npz") as file:
        np.savez_compressed(file, **{_ABOUT: about, **answers.arrays})  # type: ignore[arg-type]


def answers_path(run: str | Path, digest: str) -> Path:
    """Return the file with the predictions of the fit with this digest."""
    return Path(run) / FOLDER / f"{digest}.npz"


def read_answers(run: str | Path, digest: str, task: str = "nodes") -> Answers | None:
    """Return the predictions of the fit with this digest; None where they were not kept."""
    path = answers_path(run, digest)
    if not NAME.fullmatch(digest) or not path.exists():
        return None
    text = read_npz(path, {_ABOUT: ("u1", 1)}, advice=_ADVICE)[_ABOUT].tobytes()
    about = Fields(parse_json(text, str(path), advice=_ADVICE), str(path), advice=_ADVICE)
    arrays = read_npz(path, *check_answers(about, task), advice=_ADVICE)
    for name, array in arrays.items():
        # Of probabilities and of classes 0 and 1; a float16 may be rounded up a little.
        bound = {"relatives": np.inf, "kinds": 2.0}.get(name, 1.001)
        if not array.size or array.min() < 0 or array.max() > bound:
            raise FormatError(f"{path}: damaged ({name!r} is empty or out of range); {_ADVICE}")
    return Answers(about.values, arrays)


def place_in_family(network: HigherOrderNetwork) -> NDArray[np.int64]:
    """Return the place of each node in its family, 0 for a base node, int64 [N]: how relatives are named."""
    starts = np.repeat(network.family_indptr[:-1], np.diff(network.family_indptr))
    place = np.empty(network.n_nodes, np.int64)
    place[network.family_indices] = np.arange(network.n_nodes) - starts
    return place


def write_network(run: str | Path, network: HigherOrderNetwork) -> str:
    """Write the network, unless it is there; return its digest."""
    digest = network_digest(network)
    path = _folder(run) / f"network-{digest}.hon"
    if not path.exists():
        network.save(path)
    return digest


def read_network(run: str | Path, digest: str) -> HigherOrderNetwork | None:
    """Return the network with this digest; None where they were not kept."""
    from honlearn.hon.formats import load_network

    path = Path(run) / FOLDER / f"network-{digest}.hon"
    if not NAME.fullmatch(digest) or not path.exists():
        return None
    try:
        return load_network(path)
    except HonlearnError as error:
        raise _damaged(path, error) from None


def write_labels(run: str | Path, nodes: Sequence[str], labels: Sequence[str]) -> str:
    """Write the class of each labelled node; return the digest by which records name them."""
    digest = digest_of(sorted(zip(nodes, labels, strict=True)))
    with atomic_text(_folder(run) / f"labels-{digest}.json") as file:
        json.dump(dict(zip(nodes, labels, strict=True)), file, ensure_ascii=False)
    return digest


def read_labels(run: str | Path, digest: str) -> dict[str, str] | None:
    """Return the class of each labelled node; None where they were not kept."""
    found = _json(Path(run) / FOLDER / f"labels-{digest}.json") if NAME.fullmatch(digest) else None
    return None if found is None else {node: found.text(node) for node in found.values}


def write_facts(run: str | Path, facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Write what is known of nodes: for each a dictionary of texts and numbers, such as its coordinates."""
    with atomic_text(_folder(run) / "facts.json") as file:
        json.dump({node: dict(known) for node, known in facts.items()}, file, ensure_ascii=False)


def read_facts(run: str | Path) -> dict[str, dict[str, Any]] | None:
    """Return what is known of nodes; None where nothing was kept."""
    found = _json(Path(run) / FOLDER / "facts.json")
    if found is None:
        return None
    facts = {node: dict(found.mapping(node).values) for node in found.values}
    for node, known in facts.items():
        for name, value in known.items():
            if isinstance(value, (list, dict)):
                raise FormatError(f"{found.where}: {name!r} of {node!r} is no text or number; {_ADVICE}")
    return facts


@dataclass(frozen=True)
class Memory:
    """How much memory helps on the test parts of a run on next steps.

    division, seed: how paths were held out, as the records have it. rows: ``order``, ``bits``, ``top1`` and
    from order 2 on ``saved`` (bits less than the order below), each with ``…_pm``, half of a 95 % interval.
    """

    division: str
    seed: int
    sentence: str
    rows: Sequence[Mapping[str, float]]

    @property
    def best_order(self) -> int:
        """The highest order that saves bits beyond doubt, each order below it doing so, too."""
        best = 1
        for row in self.rows[1:]:
            if row["saved"] - row["saved_pm"] <= 0:
                break
            best = int(row["order"])
        return best


def write_memory(run: str | Path, digest: str, memory: Memory) -> None:
    """Write how much memory helps, for the paths with this digest."""
    with atomic_text(_folder(run) / f"memory-{digest}.json") as file:
        json.dump(asdict(memory), file, ensure_ascii=False, allow_nan=False)


def read_memory(run: str | Path, digest: str) -> Memory | None:
    """Return how much memory helps, for the paths with this digest; None where it was not kept."""
    found = _json(Path(run) / FOLDER / f"memory-{digest}.json") if NAME.fullmatch(digest) else None
    if found is None:
        return None
    rows = []
    for place, row in enumerate(found.mappings("rows"), 1):
        row.integer("order", place, place)
        keys = ("bits", "top1", "saved") if place > 1 else ("bits", "top1")
        rows.append({"order": place} | {k: row.number(k) for key in keys for k in (key, f"{key}_pm")})
    return Memory(found.text("division"), found.integer("seed"), found.text("sentence"), rows)


def _folder(run: str | Path) -> Path:
    folder = Path(run) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _json(path: Path) -> Fields | None:
    return Fields(read_json(path, advice=_ADVICE), str(path), advice=_ADVICE) if path.exists() else None


def _damaged(path: Path, error: Exception) -> FormatError:
    return FormatError(f"{path}: damaged ({first_line(error)}); {_ADVICE}")
