"""Counts of pairs in a logistic regression: what needs no graph neural network.

In: a network, labelled pairs, and the paths where there are any. Out: P(u → v) = σ(w x + b), x the logarithms
of degrees, shared neighbours, lags and walks of relatives (:mod:`honlearn.sampling.pair_counts`). A pair that
is trained on has the counts that it would have if it were tested (:mod:`honlearn.sampling.hidden_counts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse, special
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from honlearn.baselines.contract import DirectedBaseline, State
from honlearn.baselines.embedding import moments
from honlearn.baselines.negatives import with_popular_negatives
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.errors import FormatError, check_integer
from honlearn.paths import read_paths
from honlearn.paths.paths import Paths
from honlearn.sampling.hidden_counts import N_FOLDS, cross_hidden_counts
from honlearn.sampling.lags import LAGS, Lags, PathLags
from honlearn.sampling.pair_counts import PairCounts
from honlearn.sampling.pairs import Pairs
from honlearn.sampling.paths_within import paths_within
from honlearn.stored import Spec
from honlearn.tasks.count_share import PENALTY_FOLDS, STRENGTHS
from honlearn.tasks.logistic import choose_logistic, fit_logistic

# Pairs that are counted at once.
_BLOCK = 262_144
_MOST = 1e100


@dataclass(eq=False, repr=False)
class CountsLinkPredictor(DirectedBaseline):
    """Logistic regression on counts of a pair.

    `paths` are those that the network was grown from: :class:`~honlearn.paths.Paths`, lists of names, or a
    file; they are cut at every step that the network does not have, and None has no lags. `n_folds` is in how
    many parts training pairs are hidden from their own counts. Half of the unlinked pairs to train on are
    uniform, half have ends drawn by degree. The penalty is chosen by cross-validation on training pairs.

    A pair that the network links is answered as if it were not hidden: its own link counts in the degrees and
    in some walks.
    """

    paths: Any = None
    n_folds: int = N_FOLDS

    data_parameters: ClassVar[tuple[str, ...]] = ("paths",)

    def _check(self) -> None:
        super()._check()
        check_integer(type(self).__name__, "n_folds", self.n_folds, 2)

    def _paths(self) -> Paths | None:
        return None if self.paths is None else paths_within(read_paths(self.paths), self.network)

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        if unlinked is not None:
            examples, _ = with_popular_negatives(examples, unlinked, self.network, self.seed_)
        paths, labels, weight = self._paths(), examples.labels, examples.weights.astype(np.float64)
        with threadpool_limits(1):
            features = cross_hidden_counts(
                self.network, paths, examples.pairs, self.n_folds, self.seed_, self.directed
            ).astype(np.float64)
            center, scale = moments(features)
            rows = sparse.csr_array((features - center) / scale)
            chosen = choose_logistic(rows, labels, 2, weight, STRENGTHS, PENALTY_FOLDS, self.seed_)
            fitted = fit_logistic(rows, labels, 2, weight, chosen.C)
        # The scale goes into the coefficients, so that predictions need none.
        coefficients = (fitted.coef[1] - fitted.coef[0]) / scale
        intercept = fitted.intercept[1] - fitted.intercept[0] - coefficients @ center
        state = {
            "coefficients": torch.from_numpy(coefficients),
            "intercept": torch.tensor([intercept], dtype=torch.float64),
        }
        if paths is not None:
            state |= _kept(PathLags(paths, self.network.vocabulary).count())
        self.C_ = chosen.C
        self._finish(state, [], len(coefficients) + 1)

    @property
    def coefficients_(self) -> dict[str, float]:
        """The weight of each feature, by its name."""
        return dict(zip(PairCounts.names, self.state_["coefficients"].tolist(), strict=True))

    def _specs(self) -> Mapping[str, Spec]:
        return {"coefficients": ("f8", (len(PairCounts.names),)), "intercept": ("f8", (1,))}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        if any(float(state[name].abs().max()) > _MOST for name in ("coefficients", "intercept")):
            raise FormatError(f"coefficients of more than {_MOST:g}")
        self.counts_ = PairCounts(self.network, _lags_of(state, self.network.n_entities), self.directed)

    def _pairs_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        weights, at = self.state_["coefficients"].numpy(), float(self.state_["intercept"])
        # A sum over each row: a product with a matrix may depend on how many rows there are.
        logits = [
            (self.counts_.at(pairs[start : start + _BLOCK]) * weights).sum(1) + at
            for start in range(0, len(pairs), _BLOCK)
        ]
        return np.asarray(special.expit(np.concatenate(logits)), np.float32)


def _kept(lags: Lags) -> State:
    """Return counts of lags as tensors: keys u V + v, and how often."""
    state: State = {}
    for lag, matrix in zip(LAGS, lags, strict=True):
        entries = matrix.tocoo()
        keys = entries.row.astype(np.int64) * matrix.shape[1] + entries.col
        state[f"lag_{lag}.keys"] = torch.from_numpy(keys)
        state[f"lag_{lag}.counts"] = torch.from_numpy(entries.data.astype(np.float64))
    return state


def _lags_of(state: State, size: int) -> Lags | None:
    """Return the lags that a state holds, None where it has none; a FormatError where they cannot be."""
    names = [f"lag_{lag}.{part}" for lag in LAGS for part in ("keys", "counts")]
    there = [name for name in state if name.startswith("lag_")]
    if not there:
        return None
    if sorted(there) != sorted(names):
        raise FormatError(f"lags of paths are in {', '.join(names)}. Got {', '.join(sorted(there))} instead")
    found = []
    for lag in LAGS:
        keys, counts = state[f"lag_{lag}.keys"].numpy(), state[f"lag_{lag}.counts"].numpy()
        if (
            keys.dtype != np.int64
            or counts.dtype != np.float64
            or keys.shape != counts.shape
            or keys.ndim != 1
        ):
            raise FormatError(f"lag_{lag} must be int64 keys and as many float64 counts")
        if len(keys) and (keys[0] < 0 or keys[-1] >= size * size or (keys[1:] <= keys[:-1]).any()):
            raise FormatError(f"lag_{lag}.keys must ascend from 0 to {size * size - 1:,}, keys of pairs")
        if len(counts) and not (counts.min() >= 1 and counts.max() <= 2**63):
            raise FormatError(f"lag_{lag}.counts must be at least 1 and at most 2**63")
        found.append(sparse.csr_array((counts, (keys // size, keys % size)), shape=(size, size)))
    return tuple(found)
