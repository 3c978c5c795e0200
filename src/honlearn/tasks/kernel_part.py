"""The path kernels of a fit: on the path vectors that lose least, of whichever network, and their mix.

In: networks with their path vectors, and labelled entities. Out: fitted kernels, and by their shares the
prediction for entities of the fit, its terms, and parts that predict for new entities from path vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.examples import Examples
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import GrowParameters
from honlearn.path_kernel.calibration import Rows
from honlearn.path_kernel.kernel_input import KernelInput, KernelSpace
from honlearn.path_kernel.path_vectors import Vectors
from honlearn.path_kernel.ridge import KernelModel, KernelPrediction, fit_kernel
from honlearn.path_kernel.terms import KernelTerms, LabelledEntities
from honlearn.tasks.shares import MOST_KERNEL

# A kernel with less of the kernels' share is left out: it would be kept and explained for nothing.
_LEAST = 0.05
# Kernels on vectors alone that are fitted at most, beside the one that reads profiles: four in all. On parts
# of training folds nine were no better.
_MOST = 3


class FittedKernel(NamedTuple):
    """A kernel on a network, and what it reads."""

    network: HigherOrderNetwork
    read: KernelInput
    prediction: KernelPrediction


def fit_kernels(
    read: Mapping[str, tuple[HigherOrderNetwork, Sequence[Vectors]]],
    examples: Examples,
    n_classes: int,
    seed: int,
) -> dict[str, FittedKernel]:
    """Return kernels on the vectors of some networks: on those that lose least, each of them once.

    Beside them there is one that also reads profiles and statistics, with the vectors that lose least.
    Networks of the same paths have the vectors of one step in common. The network that suits learners, which
    draw one context of an entity at a time, need not suit vectors, which sum over all.
    """
    every: list[tuple[str, HigherOrderNetwork, Vectors]] = []
    for key, (network, several) in read.items():
        for one in several:
            if not any(one is known for *_, known in every):
                every.append((f"{key} reach {one.reach}", network, one))
    best = sorted(every, key=lambda known: known[2].loss)[:_MOST]
    inputs = [(name, network, KernelInput(one.values, one)) for name, network, one in best]
    for name, network, one in best[:1]:
        more = KernelInput.with_profiles(network, one)
        if more is not None:
            inputs.append((f"{name} profiles", network, more))
    return {
        name: FittedKernel(network, one, fit_kernel(one.values, examples, n_classes, seed, one.blocks))
        for name, network, one in inputs
    }


class KernelPart(NamedTuple):
    """A kernel with its share of the kernel's prediction, and the network that it reads.

    `network` is None in a model that was loaded where no learner reads it; `rule` makes it again from counts.
    `terms` tell whose labels the kernel was fitted on; a model of before they were saved has none.
    """

    share: float
    network: HigherOrderNetwork | None
    rule: GrowParameters | None
    space: KernelSpace
    kernel: KernelModel
    terms: KernelTerms | None = None

    def proba(
        self, network: HigherOrderNetwork, entities: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return its share of the probabilities [n, C] of these entities of an updated network.

        New paths lead through labelled entities, too, so the kernel is fitted again to these as they are in
        the updated network. Its space, penalty and calibration stay.
        """
        terms = None if self.terms is None else moved(self.terms, columns)
        if terms is None or not len(terms.labelled.nodes):
            rows = self.space.rows(network, entities, columns)
            return np.float32(self.share) * self.kernel.proba(rows, self.space.blocks)
        labelled = terms.labelled
        n_known = len(labelled.nodes)
        rows = self.rows(network, np.concatenate([labelled.nodes, entities]), columns)
        again = replace(
            terms,
            vectors=rows.astype(np.float32),
            blocks=self.space.blocks,
            labelled=replace(labelled, nodes=np.arange(n_known, dtype=np.int32)),
        )
        found = again.predicted(range(n_known, n_known + len(entities)))
        return np.float32(self.share) * found.astype(np.float32)

    def updated(
        self,
        network: HigherOrderNetwork | None,
        vectors: Rows | None,
        columns: NDArray[np.int64],
    ) -> KernelPart:
        """Return the part of a model on an updated network, of which ``columns[c]`` is the old code of c.

        `vectors` are what is read of its new entities, standardised; those of the fit keep theirs.
        """
        terms = self.terms
        if terms is not None:
            terms = moved(terms, columns)
            read = terms.vectors[np.maximum(columns, 0)]
            if vectors is not None:
                read[columns < 0] = vectors
            terms = replace(terms, vectors=read)
        return self._replace(network=network, space=self.space.taken(columns), terms=terms)

    def rows(
        self, network: HigherOrderNetwork, entities: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> Rows:
        """Return what the kernel reads of entities of an updated network, standardised, [n, d]."""
        rows = self.space.rows(network, entities, columns)
        return self.kernel.standardised(rows, self.space.blocks)


def moved(terms: KernelTerms, columns: NDArray[np.int64]) -> KernelTerms:
    """Return the terms with the labelled entities that an updated network has, by their codes there.

    ``columns[c]`` is the old code of its entity c, −1 where it has none.
    """
    labelled = terms.labelled
    there = np.flatnonzero(columns >= 0)
    codes = np.full(max(columns.max(initial=-1), labelled.nodes.max(initial=-1)) + 1, -1, np.int32)
    codes[columns[there]] = there
    kept = codes[labelled.nodes] >= 0
    weights = labelled.weights[kept]
    if kept.any() and not kept.all():
        weights = weights / max(weights.mean(), 1e-12)
    return replace(
        terms, labelled=LabelledEntities(codes[labelled.nodes[kept]], labelled.labels[kept], weights)
    )


class KernelMix(NamedTuple):
    """What kernels predict together: their share of the prediction, probabilities, terms and parts."""

    share: float = 0.0
    proba: NDArray[np.float32] | None = None
    terms: tuple[tuple[float, KernelTerms], ...] = ()
    parts: tuple[KernelPart, ...] = ()


def mixed(
    kernels: Mapping[str, FittedKernel], shares: Mapping[str, float], given: float | None = None
) -> KernelMix:
    """Return the mean of kernels by their shares; those of hardly any share are left out.

    Together they have the share that was `given`, or the sum of theirs.
    """
    total = float(sum(shares.values()))
    kept = {name: share for name, share in shares.items() if share > 0 and share >= _LEAST * total}
    if not kept:
        return KernelMix()
    among = {name: share / sum(kept.values()) for name, share in kept.items()}
    some = [(share, kernels[name]) for name, share in among.items()]
    weighted = np.stack([np.float32(share) * one.prediction.proba for share, one in some])
    parts = tuple(
        KernelPart(
            share,
            one.network,
            one.network.parameters,
            one.read.space(one.network),
            one.prediction.model,
            one.prediction.terms,
        )
        for share, one in some
    )
    return KernelMix(
        # Rounded, the sum may be above the most that it may be.
        min(total, MOST_KERNEL) if given is None else given,
        weighted.sum(0, dtype=np.float32),
        tuple((share, one.prediction.terms) for share, one in some),
        parts,
    )
