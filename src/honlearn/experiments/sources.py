"""Data sets of the experiments by a word of the command line.

In: ``wiki``, ``us_flights``, a folder, ``NAME=FOLDER`` or ``NET+LABELS``. Out: a :class:`Source`: the network
with its labelled nodes, its paths where they are known, and which column of the paper it is, if any.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from honlearn.datasets.dataset import Dataset
from honlearn.errors import InputError, MissingFileError, did_you_mean, listed
from honlearn.experiments.published import DATA
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import GrowParameters
from honlearn.paths.paths import Paths

# Wiki's published graph is grown with these; the paper does not say which the others have.
GROWN = GrowParameters(order=2, tau=10.0, min_support=10)

# Where the folder given by --from may hold a data set that is called by its name alone.
_FOLDERS = {"wiki": ("paper_graphs", "wikispeedia", "wiki"), "air": ("paper_graphs", "air")}


@dataclass(frozen=True)
class Source:
    """A data set as the experiments take it; `published` is its name in the paper's tables, or None."""

    name: str
    network: HigherOrderNetwork
    nodes: tuple[str, ...]
    labels: tuple[str, ...]
    published: str | None = None
    paths: Paths | None = None
    origin: str = ""

    @property
    def title(self) -> str:
        """The name for headings: the paper's where it has one."""
        return DATA.get(self.published or "", self.name)

    @property
    def has_memory(self) -> bool:
        """Whether the network has contexts; without them it is a first-order network."""
        return self.network.n_conditional > 0

    def grown(self, tau: float, min_support: int | None = None) -> HigherOrderNetwork:
        """Return the network of the same paths for another tau."""
        from honlearn.hon.build import grow

        if self.paths is None:
            raise InputError(
                f"{self.name}: its network can be grown anew only from paths, and {self.origin} has none; "
                "name a folder with paths.txt"
            )
        known = self.network.parameters or GROWN
        support = known.min_support if min_support is None else min_support
        return grow(self.paths, order=known.order, tau=tau, min_support=support)


def find_source(
    word: str,
    places: Sequence[Path] = (),
    parameters: GrowParameters = GROWN,
    label_column: str | None = None,
) -> Source:
    """Return the data set that a word names; `places` are folders in which named ones are looked for."""
    net, plus, labels = word.rpartition("+")
    if plus and Path(net).suffix:
        return _of_files(Path(net).stem, Path(net), Path(labels), None, label_column)
    name, equals, place = word.partition("=")
    if equals:
        return _of_path(name, Path(place), parameters, label_column)
    if Path(word).is_dir() and word not in (*DATA, "us_flights"):
        return _of_path(Path(word).resolve().name, Path(word), parameters, label_column)
    return _by_name(word, places, parameters, label_column)


def _by_name(name: str, places: Sequence[Path], parameters: GrowParameters, column: str | None) -> Source:
    from honlearn.datasets import available, load

    for place in places:
        for folder in (place / inner for inner in (*_FOLDERS.get(name, ()), name, ".")):
            if folder.is_dir() and (folder.name == name or _holds(name, folder)):
                return _of_path(name, folder, parameters, column)
    known = ["wiki", "us_flights"]
    if name in known:
        _refuse_column(name, column)
        return _of_dataset(name, load("wikispeedia" if name == "wiki" else name), parameters)
    if name in DATA:
        raise InputError(
            f"--data {name}: the paper's {DATA[name]} cannot be had by its name; give its folder, "
            f"{name}=FOLDER, or leave it out: tables show its published column in any case"
        )
    others = [entry.name for entry in available() if entry.name not in known]
    raise MissingFileError(
        f"--data {name}: no such data set or folder{did_you_mean(name, [*known, *DATA])}; give wiki, "
        f"us_flights, a folder with paths.txt and labels.csv, NAME=FOLDER or NET+LABELS "
        f"({listed(others)} first become a folder: honlearn data get)"
    )


def _holds(name: str, folder: Path) -> bool:
    """Return whether a folder holds a data set of this name in a layout that we know."""
    if name == "wiki" and folder.name == "wikispeedia":
        return True
    return any((folder / f"{name}{order}.txt").is_file() for order in (1, 2))


def _of_path(name: str, place: Path, parameters: GrowParameters, column: str | None) -> Source:
    """Return a data set from a folder of published graphs, of paths, or of Wikispeedia as it comes."""
    from honlearn.datasets import load_folder, wikispeedia

    if not re.fullmatch(r"[\w.+-]+", name):
        raise InputError(f"--data {name}={place}: a name has letters, digits, '-', '_', '+' and '.' only")
    graphs = [place / f"{name}{order}.txt" for order in (2, 1)]
    graph = next((file for file in graphs if file.is_file()), None)
    if graph is not None:
        return _of_files(name, graph, place / f"{name}_labels.csv", name, column)
    if place.is_file() or next(place.rglob("paths_finished.tsv"), None) is not None:
        _refuse_column(name, column)
        return _of_dataset(name, wikispeedia(place), parameters)
    return _of_dataset(name, load_folder(place, column), parameters, place.name)


def _refuse_column(name: str, column: str | None) -> None:
    if column is not None:
        raise InputError(f"--label-column {column}: {name} has classes of its own; leave the option out")


def _of_dataset(name: str, data: Dataset, parameters: GrowParameters, origin: str = "") -> Source:
    from honlearn.hon.build import grow

    if not data.labels:
        raise InputError(f"--data {name}: it has no labels; add labels.csv with the columns node and label")
    network = grow(data.paths, order=parameters.order, tau=parameters.tau, min_support=parameters.min_support)
    there = [(node, label) for node, label in data.labels.items() if node in network.vocabulary]
    nodes, labels = tuple(node for node, _ in there), tuple(label for _, label in there)
    known = name if name in DATA else None
    return Source(name, network, nodes, labels, known, data.paths, origin or data.name)


def _of_files(name: str, net: Path, labels: Path, published: str | None, column: str | None) -> Source:
    from honlearn.hon.formats import load_network
    from honlearn.labels import read_labels

    network = load_network(net)
    nodes, classes = read_labels(labels, column)
    there = [(node, label) for node, label in zip(nodes, classes, strict=True) if node in network.vocabulary]
    if not there:
        raise InputError(f"{labels}: none of its nodes is in {net}; the first column must hold the entities")
    known = published if published in DATA else None
    kept = tuple(node for node, _ in there), tuple(label for _, label in there)
    return Source(name, network, *kept, known, None, net.name)
