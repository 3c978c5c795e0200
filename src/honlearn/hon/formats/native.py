"""The native file ``.hon``: one file of raw arrays, no pickle.

In: a network or a file. Out: the file, or the network with the builder's statistics and parameters. The
layout is that of :mod:`honlearn.hon.formats.container`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import FormatError, InputError, listed
from honlearn.hon.formats.container import Arrays, Container, damaged
from honlearn.hon.invariants import check_names, check_nodes
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.nodes import MAX_ORDER
from honlearn.hon.statistics import EVIDENCE, ContextStatistics, GrowParameters
from honlearn.paths.vocabulary import Vocabulary
from honlearn.stored import Fields

# Version 2: alpha and seed among the parameters, and the arrays of evidence.
_FILE = Container(
    b"\x89HON\r\n\x1a\n",
    2,
    (1, 2),
    "honlearn network",
    ".hon files are written by honlearn grow or convert",
)
_KINDS = {"gram_offsets": ("<i8",), "grams": ("<i4",), "indptr": ("<i8",), "indices": ("<i4",)}
_REQUIRED = {"names": ("|u1",), "name_offsets": ("<i8",), **_KINDS, "weights": ("<i8", "<f8")}
_STATISTICS = {"frequency": ("<i8",), "divergence": ("<f8",), "threshold": ("<f8",), "by_extension": ("|b1",)}
_EVIDENCE = dict.fromkeys(EVIDENCE, ("<f8",))


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the network; the same network always gives the same bytes."""
    grown = None if network.parameters is None else asdict(network.parameters)
    _FILE.write(path, _arrays(network), parameters=grown)


def read(path: Path) -> HigherOrderNetwork:
    """Return the network in the file; its names, nodes and edges are checked before anything uses them."""
    header, arrays = _FILE.read(path, lambda _: {**_REQUIRED, **_STATISTICS, **_EVIDENCE})
    missing = [name for name in _REQUIRED if name not in arrays]
    if missing:
        damaged(path, f"the array {missing[0]!r} is not there")
    grown = read_rule(header.mapping("parameters")) if header.has("parameters") else None
    try:
        check_names(arrays["names"], arrays["name_offsets"])
        network = HigherOrderNetwork(
            Vocabulary(arrays["names"], arrays["name_offsets"]),
            **{name: arrays[name] for name in (*_KINDS, "weights")},
            statistics=_statistics(path, arrays),
            parameters=grown,
        )
        check_nodes(network)
    except InputError as error:
        if isinstance(error, FormatError):
            raise
        damaged(path, str(error))
    return network


def _arrays(network: HigherOrderNetwork) -> Arrays:
    arrays: dict[str, NDArray[Any]] = {
        "names": network.vocabulary.data,
        "name_offsets": network.vocabulary.offsets,
        **{name: getattr(network, name) for name in (*_KINDS, "weights")},
    }
    if network.statistics is not None:
        known = {name: getattr(network.statistics, name) for name in (*_STATISTICS, *_EVIDENCE)}
        arrays.update({name: array for name, array in known.items() if array is not None})
    return arrays


def read_rule(grown: Fields) -> GrowParameters:
    """Return the rule in a header or config, all of it checked."""
    grown.only("order", "tau", "min_support", "alpha", "seed")
    tau = grown.number("tau", 0) if grown.has("tau") else None
    alpha = grown.number("alpha", 0, 1) if grown.has("alpha") else None
    seed = grown.integer("seed", 0) if grown.has("seed") else None
    order, support = grown.integer("order", 1, MAX_ORDER), grown.integer("min_support", 1)
    return GrowParameters(order, tau, support, alpha, seed)


def _statistics(path: Path, arrays: Arrays) -> ContextStatistics | None:
    """Return the statistics of the builder if they are there, all of them."""
    known = {name: arrays[name] for name in (*_STATISTICS, *_EVIDENCE) if name in arrays}
    if not known:
        return None
    if not known.keys() >= _STATISTICS.keys():
        damaged(path, f"of the statistics, only {listed(known)} is there")
    flags = known["by_extension"].view(np.uint8)
    if flags.max(initial=0) > 1:
        damaged(path, f"the array 'by_extension' holds {flags.max()}, expected 0 or 1")
    return ContextStatistics(**known)
