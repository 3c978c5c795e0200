"""What a saved link predictor holds beside its weights: scaling, lags, counts, calibration, unlinked scores.

In: a :class:`~honlearn.tasks.links.DGELinkPredictor`, or what a model folder holds. Out: config and tensors
for :mod:`honlearn.tasks.saving`, and back. The paths themselves are not saved: a model that was loaded knows
how often v came two to four steps after u, but no single path.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse

from honlearn.ensemble.count_model import CountModel
from honlearn.ensemble.pair_inputs import FEATURES, Scaling
from honlearn.errors import FormatError, listed
from honlearn.sampling.lags import LAGS, Lags
from honlearn.stored import Fields, Spec, check_arrays, shown
from honlearn.tasks.count_share import N_COUNTS
from honlearn.tasks.pair_calibration import Calibration
from honlearn.tasks.storage import ADVICE

if TYPE_CHECKING:
    from honlearn.tasks.links import DGELinkPredictor

PAIR_PREFIX = "pairs."
_LAG_PARTS = ("indptr", "indices", "data")
# Larger numbers are of no model: a logit of a probability is at most some 40, a count at most 2**53.
_LARGEST = 1e6
_MOST_LEARNERS = 2**16


def pair_config(model: DGELinkPredictor) -> dict[str, Any]:
    """Return what the config holds of a fitted model beside its parameters."""
    intercept, slope = model.calibration_
    out = {"learners": model.n_learners_, "calibration": {"intercept": intercept, "slope": slope}}
    if model.count_model_ is not None:
        out["counts"] = {"intercept": model.count_model_.intercept, "share": model.count_model_.share}
    return out


def pair_tensors(model: DGELinkPredictor) -> dict[str, torch.Tensor]:
    """Return the scaling of the features, coefficients of counts, scores of unlinked pairs, and lags."""
    out: dict[str, torch.Tensor] = {}
    if model._scaling is not None:
        out |= {
            "mean": torch.from_numpy(model._scaling.mean),
            "scale": torch.from_numpy(model._scaling.scale),
        }
    if model.count_model_ is not None:
        out["coefficients"] = torch.from_numpy(model.count_model_.coefficients)
    if len(model.unlinked_scores_):
        out["unlinked"] = torch.from_numpy(model.unlinked_scores_)
    source = model._fitted_model.source
    lags = None if source is None or not source.reads_counts else source.whole.lags
    for lag, matrix in zip(LAGS, lags or (), strict=False):
        parts = (
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
        )
        out |= {f"lag{lag}.{name}": torch.from_numpy(p) for name, p in zip(_LAG_PARTS, parts, strict=True)}
    return {PAIR_PREFIX + name: tensor for name, tensor in out.items()}


def restore_pairs(
    model: DGELinkPredictor, config: Fields, tensors: dict[str, torch.Tensor], where: str
) -> None:
    """Set on a model what was saved beside its weights, all of it checked."""
    model.n_learners_ = config.integer("learners", 1, _MOST_LEARNERS)
    fields = config.mapping("calibration")
    fields.only("intercept", "slope")
    numbers = (fields.number("intercept", -_LARGEST, _LARGEST), fields.number("slope", 0, _LARGEST))
    model.calibration_ = Calibration(*numbers)
    known = {
        name.removeprefix(PAIR_PREFIX): tensor.numpy()
        for name, tensor in tensors.items()
        if name.startswith(PAIR_PREFIX)
    }
    size = model.network_.n_entities
    specs: dict[str, Spec] = {"mean": ("f4", (len(FEATURES),)), "scale": ("f4", (len(FEATURES),))}
    specs |= {"coefficients": ("f8", (N_COUNTS,)), "unlinked": ("f4", ("unlinked",))}
    for lag in LAGS:
        count = f"entries{lag}"
        given: list[Spec] = [("i8", (size + 1,)), ("i4", (count,)), ("f8", (count,))]
        specs |= {f"lag{lag}.{name}": spec for name, spec in zip(_LAG_PARTS, given, strict=True)}
    strange = [name for name in known if name not in specs]
    scaled, lagged = {"mean", "scale"} & known.keys(), [name for name in known if name.startswith("lag")]
    whole = len(scaled) in (0, 2) and len(lagged) in (0, len(LAGS) * len(_LAG_PARTS))
    if strange or not whole or (lagged and not scaled):
        named = shown(strange[0]) if strange else f"only {listed(sorted(known), 9)} of what pairs read"
        raise FormatError(f"{where}: {named} is not what a model holds; {ADVICE}")
    reads = model._reads.counts is True and bool(model._reads.folds)
    if reads != bool(scaled):
        raise FormatError(f"{where}: the scaling of the counts does not belong to these parameters; {ADVICE}")
    if scaled and known["mean"].shape != (len(FEATURES),):
        raise FormatError(
            f"{where}: pairs with {known['mean'].size:,} counts, this honlearn reads {len(FEATURES)}; "
            "an older honlearn wrote the model: train it again"
        )
    check_arrays(known, specs, where, advice=ADVICE)
    model.count_model_ = _count_model(config, known.get("coefficients"), reads, where)
    scores = known.get("unlinked", np.empty(0, np.float32))
    # A comparison with NaN is false.
    if not ((scores >= 0) & (scores <= 1)).all():
        raise FormatError(f"{where}: scores of unlinked pairs must be probabilities; {ADVICE}")
    model.unlinked_scores_ = scores
    model._scaling = Scaling(known["mean"], known["scale"]) if scaled else None
    model._lags = _lags(known, size, where) if lagged else None


def _count_model(
    config: Fields, coefficients: NDArray[np.float64] | None, reads: bool, where: str
) -> CountModel | None:
    """Return the count model, None where there is none."""
    if config.has("counts") != (coefficients is not None) or (coefficients is not None and not reads):
        raise FormatError(f"{where}: the count model does not belong to these parameters; {ADVICE}")
    if coefficients is None:
        return None
    fields = config.mapping("counts")
    fields.only("intercept", "share")
    if np.abs(coefficients).max() > _LARGEST:
        raise FormatError(f"{where}: coefficients of counts of more than {_LARGEST:g}; {ADVICE}")
    intercept = fields.number("intercept", -_LARGEST, _LARGEST)
    return CountModel(coefficients, intercept, fields.number("share", 0, 1))


def _lags(known: dict[str, Any], size: int, where: str) -> Lags:
    """Return the matrices of lags; compiled code relies on their indices."""
    out = []
    for lag in LAGS:
        indptr, indices, data = (known[f"lag{lag}.{name}"] for name in _LAG_PARTS)
        rising = indptr[0] == 0 and indptr[-1] == len(indices) and bool((indptr[:-1] <= indptr[1:]).all())
        inside = not len(indices) or (indices.min() >= 0 and indices.max() < size)
        sound = not len(data) or (np.isfinite(data).all() and data.min() > 0 and data.max() < 2.0**53)
        if not (rising and inside and sound):
            raise FormatError(f"{where}: lag {lag} is no matrix of counts of {size:,} entities; {ADVICE}")
        matrix = sparse.csr_array((data, indices, indptr), shape=(size, size))
        if not matrix.has_canonical_format:
            matrix.sum_duplicates()
        out.append(matrix)
    return tuple(out)
