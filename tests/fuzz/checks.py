"""What is done with an object that was loaded: crashes and wrong numbers often come after the loading.

In: paths, a network, or probabilities. Out: nothing, or a :class:`Broken` that says what does not hold.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np


class Broken(Exception):
    """Something was loaded that does not hold what honlearn promises of it."""


def expect(holds: Any, promise: str) -> None:
    """Raise :class:`Broken` unless a promise holds."""
    if not bool(holds):
        raise Broken(f"not so: {promise}")


def use_paths(paths: Any) -> None:
    """Check the arrays of paths and look at the first few."""
    offsets, codes = paths.offsets.tolist(), paths.codes
    expect(offsets[0] == 0 and offsets[-1] == len(codes) and offsets == sorted(offsets), "offsets ascend")
    expect(not len(codes) or 0 <= codes.min() <= codes.max() < len(paths.vocabulary), "codes are entities")
    expect(paths.counts is None or not len(paths.counts) or paths.counts.min() >= 1, "counts are at least 1")
    expect(paths.total >= len(paths), "the total is at least one per path")
    for row in range(min(len(paths), 5)):
        expect(all(name for name in paths[row]), "no name is empty")
    repr(paths), paths._repr_html_(), paths.lengths


def use_network(network: Any) -> None:
    """Do with a network what info, convert and the learners do, and check what comes out."""
    from honlearn.cli.info import describe
    from honlearn.errors import HonlearnError
    from honlearn.hon.invariants import check_canonical

    # Compiled loops first: they index by the arrays without looking.
    walks = network.random_walks(4, 6, seed=0)
    expect(((walks.entities >= -1) & (walks.entities < network.n_entities)).all(), "walks visit entities")
    describe(network, None, 5)
    repr(network), network._repr_html_(), network.summary(), network.dependencies(top=3)
    try:
        check_canonical(network)
    except HonlearnError as error:
        raise Broken(f"a network that is not canonical was loaded: {error}") from None
    for total in (network.out_weight, network.in_weight):
        expect(np.isfinite(total).all() and (total >= 0).all(), "sums of weights are finite and not negative")
    shares = network.relative_probabilities()
    expect(((shares >= 0) & (shares <= 1)).all(), "relatives have probabilities")
    for label in list(network.nodes)[:5]:
        steps = list(network.transition(label).values())
        expect(
            all(0 <= p <= 1 for p in steps) and (not steps or abs(sum(steps) - 1) < 1e-9), "steps sum to 1"
        )
        expect(network.nodes[network.index(label)] == label, "a label finds its node")
        network.family(label), network.neighbors(label, "in")
    network.first_order(), network.to_scipy(), network.to_pandas(), network.to_networkx()
    _write_and_read(network)


def _write_and_read(network: Any) -> None:
    import honlearn as hl
    from honlearn.errors import HonlearnError
    from honlearn.hon.formats.registry import FORMATS

    with tempfile.TemporaryDirectory() as folder:
        for suffix, form in FORMATS.items():
            path = Path(folder) / f"again{suffix}"
            try:
                network.save(path)
            except HonlearnError:  # XML cannot hold every name, and says so
                continue
            if form.readable and network.n_edges:
                try:
                    same = hl.load_network(path) == network
                except HonlearnError as error:
                    raise Broken(f"what was written as {suffix} is not read again: {error}") from None
                # An edge list knows no entity without an edge, and a weight only as it is printed.
                expect(same or suffix != ".hon", f"what was written as {suffix} is read again as it was")


def use_probabilities(proba: Any, columns: int | None = None) -> None:
    """Check that rows are probabilities."""
    proba = np.asarray(proba)
    expect(np.isfinite(proba).all(), "predictions are finite numbers")
    expect(proba.ndim == 2 and (columns is None or proba.shape[1] == columns), "one probability per class")
    expect(((proba >= 0) & (proba <= 1 + 1e-4)).all(), "probabilities are from 0 to 1")
    expect(np.allclose(proba.sum(1), 1, atol=1e-3), "probabilities sum to 1")
