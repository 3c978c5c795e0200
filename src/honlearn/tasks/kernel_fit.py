"""The path vectors and kernels in the fit of a node classifier.

In: networks and labelled entities. Out: the vectors that learners and kernels read of each network, made once
in a fit, and what the kernels predict, with their shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted
from honlearn.hon.network import HigherOrderNetwork
from honlearn.path_kernel.path_vectors import EntityVectors, OneStep, choose_vectors
from honlearn.path_kernel.terms import KernelTerms
from honlearn.tasks import held
from honlearn.tasks.estimator import EnsembleEstimator
from honlearn.tasks.kernel_part import FittedKernel, KernelPart, fit_kernels, mixed
from honlearn.tasks.shares import stacked_shares, with_less_kernel

# What the kernel's share is where nothing was held back to choose it by.
_USUAL_SHARE = 0.25


class Prepared(NamedTuple):
    """The classes, and the labelled nodes as codes."""

    classes: NDArray[Any]
    examples: Examples


class KernelFitting(EnsembleEstimator):
    """The part of a node classifier that fits path vectors and kernels."""

    kernel_parts_: list[KernelPart]
    # Of the kernels, each with its share among them: what their predictions are made of.
    kernel_terms_: tuple[tuple[float, KernelTerms], ...] = ()
    # The path vectors on each network in this fit, and what networks of the same paths have in common.
    _known_vectors: dict[int, EntityVectors]
    _one_step: OneStep

    def _vectors_of(
        self, network: HigherOrderNetwork, prepared: Prepared, for_kernel: bool = True
    ) -> EntityVectors:
        """Return the path vectors of a network's entities, made once in a fit."""
        kernel = self.parameter_object("path_kernel")
        known = self._known_vectors.get(id(network))
        if known is not None:
            return known
        if not kernel.vectors and not (for_kernel and kernel.share):
            return EntityVectors(None, ())
        classes, examples = prepared
        given = (network, examples, len(classes), self.seed_, self._one_step, self._runtime().n_threads)
        learned, read = choose_vectors(*given)
        mine = learned.first(kernel.vectors) if kernel.vectors else None
        self._known_vectors[id(network)] = EntityVectors(mine, tuple(read), learned)
        return self._known_vectors[id(network)]

    def _kernels_on(
        self, networks: Sequence[tuple[str, HigherOrderNetwork]], prepared: Prepared
    ) -> dict[str, FittedKernel]:
        """Return the kernels on these networks, none where they have no share."""
        share = self.parameter_object("path_kernel").share
        if not isinstance(share, str) and share == 0:
            return {}
        read = {key: (hon, self._vectors_of(hon, prepared).kernels) for key, hon in networks}
        return fit_kernels(read, prepared.examples, len(prepared.classes), self.seed_)

    def _mix_kernels(self, kernels: Mapping[str, FittedKernel], shares: Mapping[str, float]) -> None:
        """Set what the kernels predict together."""
        share = self.parameter_object("path_kernel").share
        mix = mixed(kernels, shares, None if isinstance(share, str) else float(share))
        self.kernel_share_, self.kernel_proba_, self.kernel_terms_ = mix.share, mix.proba, mix.terms
        self.kernel_parts_ = list(mix.parts)

    def _judged_networks(self) -> list[tuple[str, HigherOrderNetwork]]:
        """Return the networks that learners judged: their path vectors are known."""
        return [(one.key, one.network) for one in self._choice.candidates if one.learners]

    def _kernel_shares(
        self, kernels: Mapping[str, FittedKernel], fitted: Fitted, examples: Examples
    ) -> dict[str, float]:
        """Return the share of each kernel, chosen on held-back predictions."""
        if not kernels:
            return {}
        share = self.parameter_object("path_kernel").share
        parts = [one.prediction.of_truth(examples) for one in kernels.values()]
        weights = examples.weights.astype(np.float64)
        if not isinstance(share, str) or not fitted.held.positions.size:
            whole = _USUAL_SHARE if isinstance(share, str) else float(share)
            shares = whole * stacked_shares(parts, weights, self.seed_)
        else:
            learned = held.HeldOutScore(key="learners", n_examples=len(examples))
            learned.add(fitted.held)
            parts.insert(0, held.pooled_votes(learned.votes()))
            shares = with_less_kernel(stacked_shares(parts, weights, self.seed_), 1)[1:]
        return dict(zip(kernels, shares.tolist(), strict=True))
