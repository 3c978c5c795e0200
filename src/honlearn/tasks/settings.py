"""Parameter objects of the estimators: how to train, which network to grow, the path kernel, pairs.

In: keywords. Out: objects that print, clone and nest as scikit-learn's parameters do:
``DGEClassifier(network, training=Training(max_epochs=50))``, ``set_params(training__max_epochs=50)``, and on
the command line ``--set max_epochs=50``. Nothing is checked before `fit`. None is what suits the task and the
learner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.pair_folds import NEGATIVES
from honlearn.ensemble.pairs import OPERATORS
from honlearn.errors import ParameterError, check_choice, check_integer, check_real, listed
from honlearn.learners import Learner
from honlearn.sizes import parse_size

# How many pairs are seen in a training, at most, unless max_epochs says otherwise.
_PAIRS_SEEN = 2_000_000
_TASK_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "nodes": {"max_epochs": 100, "patience": 5, "validation_fraction": 0.25, "refit": 0.5, "restart": False},
    "links": {"patience": 5, "validation_fraction": 0.1, "refit": 0.0, "restart": False},
}


@dataclass(eq=False, repr=False)
class Training(BaseEstimator):  # type: ignore[misc]
    """How learners are trained: Adam with early stopping, then once more on everything.

    Adam with `learning_rate` and `weight_decay` on batches of `batch_size`. At most `max_epochs`, ended after
    `patience` epochs without a better loss on a stratified `validation_fraction`; in a bag each learner has a
    validation part and a best epoch of its own, and the parts of learners in a row divide the examples among
    them. Then learners go on from the weights of their best epoch, on all examples, for `refit` times as many
    epochs; with `restart` they begin anew and take `refit` times as many in all. With `refit` 0 the best
    epoch is what predicts. A `validation_fraction` of 0 trains `max_epochs`. `class_weight` is None,
    ``"balanced"`` or a mapping (nodes only).

    `checkpoint` names a file that is written every `checkpoint_seconds`; a `fit` that finds it goes on from
    there to the same result, and removes it when done. `device` is ``"cpu"``, ``"cuda"`` or ``"mps"``.

    `memory` is the most that the process may take, such as ``"4GB"``; None is what is available. Where all
    learners of a bag are too many, they are trained in groups, one after another, to the same result. (Links
    do not read it.)

    None means, for nodes: batches of an eighth of the examples, 16 to 512; 100 epochs, a patience of 5, 0.25
    held back, refit 0.5. For links: a patience of 5, 0.1 held back, no refit; in folds, the default of
    :class:`DGELinkPredictor`, a fold in a batch and 40 epochs; else batches of a 48th of the pairs, 32 to
    2048, and as many epochs as let two million pairs pass, 8 to 50. A learner may have defaults of its own:
    GCN and GAT take all examples in one batch.

    Parameters
    ----------
    learning_rate
        Step size of the optimiser, Adam.
    batch_size
        Examples in a batch.
    max_epochs
        Most passes over the examples.
    patience
        Epochs without a better held-back loss before a learner stops.
    validation_fraction
        Share of the examples that a learner holds back.
    refit
        Epochs on all examples after the search, as a multiple of the best number.
    restart
        Whether these begin with new weights.
    weight_decay
        Penalty on the squares of weights, as Adam adds it to the gradient.
    class_weight
        None, ``"balanced"`` or a weight for each class.
    checkpoint
        File from which a stopped fit goes on.
    checkpoint_seconds
        Between two writes of it.
    device
        ``"cpu"``, ``"cuda"`` or ``"mps"``.
    memory
        Most that the process may take, such as ``"4GB"``.
    """

    learning_rate: float = 0.01
    batch_size: int | None = None
    max_epochs: int | None = None
    patience: int | None = None
    validation_fraction: float | None = None
    refit: float | None = None
    restart: bool | None = None
    weight_decay: float = 0.0
    class_weight: Any = None
    checkpoint: str | PathLike[str] | None = None
    checkpoint_seconds: float = 60.0
    device: str = "cpu"
    memory: str | int | None = None

    def options(
        self,
        owner: str,
        task: str,
        learner: Learner,
        n_examples: int,
        show: bool | None,
        usual: Mapping[str, Any] | None = None,
    ) -> TrainingOptions:
        """Return what this comes to for a kind of learner and a number of examples, all of it checked.

        `usual` are defaults of an estimator, which come before those of the task.
        """
        open_ = {**_TASK_DEFAULTS[task], **(usual or {}), **learner.training_defaults[task]}

        def value(name: str) -> Any:
            given = getattr(self, name)
            return open_.get(name) if given is None else given

        def real(name: str, least: float, most: float = float("inf"), open_below: bool = False) -> float:
            return check_real(owner, name, value(name), least, most, open_below=open_below)

        epochs = value("max_epochs")
        if epochs is None:
            epochs = min(max(_PAIRS_SEEN // max(n_examples, 1), 8), 50)
        size = self.batch_size
        if size is None:
            size = _batch_size(task, n_examples, open_.get("n_batches"))
        checkpoint, restart = self.checkpoint, value("restart")
        if not isinstance(restart, (bool, np.bool_)):
            raise ParameterError(
                f"The 'training.restart' parameter of {owner} must be True, False or None. "
                f"Got {restart!r} instead."
            )
        if self.memory is not None:
            parse_size(owner, "training.memory", self.memory)
        return TrainingOptions(
            learning_rate=real("learning_rate", 0, open_below=True),
            batch_size=check_integer(owner, "batch_size", size, 1),
            max_epochs=check_integer(owner, "max_epochs", epochs, 1),
            patience=check_integer(owner, "patience", value("patience"), 1),
            weight_decay=real("weight_decay", 0),
            validation_fraction=real("validation_fraction", 0, 0.9),
            refit=_refit(owner, value("refit")),
            restart=bool(restart),
            checkpoint=None if checkpoint is None else Path(checkpoint),
            checkpoint_seconds=real("checkpoint_seconds", 0),
            show=show,
        )


def _batch_size(task: str, n_examples: int, n_batches: int | None) -> int:
    if n_batches is not None:
        return max(1, -(-n_examples // n_batches))
    return min(max(n_examples // 8, 16), 512) if task == "nodes" else min(max(n_examples // 48, 32), 2048)


def _refit(owner: str, value: object) -> float:
    return float(value) if isinstance(value, (bool, np.bool_)) else check_real(owner, "refit", value, 0, 100)


@dataclass(eq=False, repr=False)
class Structure(BaseEstimator):  # type: ignore[misc]
    """Which network is grown, where paths (or their counts) are given in place of a network.

    `order`, `tau` and `min_support` are those of :func:`honlearn.grow`; those that are None or ``"auto"`` are
    chosen for the task, on validation parts inside the training data (:mod:`honlearn.tasks.structure`).

    Parameters
    ----------
    order
        Most entities of a node, or ``"auto"``.
    tau
        Threshold of GrowHON's rule, or ``"auto"``.
    min_support
        Fewest observations of a context, or ``"auto"``.
    """

    order: int | str | None = None
    tau: float | str | None = None
    min_support: int | str | None = None

    def given(self) -> list[str]:
        """Return the names of the parameters that are given."""
        return [name for name in ("order", "tau", "min_support") if getattr(self, name) is not None]


@dataclass(eq=False, repr=False)
class PathKernel(BaseEstimator):  # type: ignore[misc]
    """What the paths themselves contribute: vectors of entities, and a kernel regression on them.

    `vectors` is the size of the vector of each entity, made of the steps before and after it
    (:func:`honlearn.hon.embedding.path_embedding`), that learners read beside its identity; which steps, and
    how many numbers at most, is chosen for the task. `share` is the share of the prediction that kernel ridge
    regression on such vectors has beside the learners (:mod:`honlearn.path_kernel.ridge`), on up to three
    sets of vectors, of one step or two and of any network that learners judged, and once more on the best of
    these with the profiles and statistics of steps (:mod:`honlearn.hon.profiles`); ``"auto"`` chooses it on
    held-back predictions. With 0 for both, the network is all that is read.

    Parameters
    ----------
    vectors
        Length of the path vectors beside identities; 0 for none.
    share
        The weight of the kernel in the prediction: a number, or ``"auto"``.
    """

    vectors: int = 64
    share: float | str = "auto"

    # Names on the command line and in records.
    flat_names: ClassVar[Mapping[str, str]] = {"vectors": "path_features", "share": "kernel_share"}

    def check(self, owner: str) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        check_integer(owner, "path_kernel.vectors", self.vectors, 0)
        _check_share(owner, "path_kernel.share", self.share)


DRAWS = ("joint", "independent")


@dataclass(eq=False, repr=False)
class PlainPairs(BaseEstimator):  # type: ignore[misc]
    """How a single model reads pairs of nodes: their two ends, and nothing else.

    Parameters
    ----------
    operator : str, default "concat+hadamard"
        Joins the representations of the two ends: ``"concat"``, ``"hadamard"``, ``"average"``, ``"l1"``,
        ``"l2"``, ``"product"`` (one end as a source times the other as a target), or several with ``+``
        between. The default reads which ends they are, and how much they have in common.
    width : int, default 64
        Width of the dense layer that follows; 0 is none (concatenation alone is then a sum of two scores, one
        for each end).
    directed : bool, default True
        Whether (u, v) is the link u → v; only concatenation and ``"product"`` can tell it from v → u. False:
        a pair is linked if either direction is, and order never counts.
    draw : {"independent", "joint"}, default "independent"
        How relatives of a pair are drawn: each end by Eq. 3, or together by Eq. 4 where the pair has an edge,
        as in the paper. Eq. 4 draws ``v|u`` for training pairs (u, v) only: a learner may take that for the
        answer, which no tested pair ever gives.
    hide_own : bool, default True
        Whether messages pass without the edges between the pairs of the batch, in both directions, as tested
        pairs must do without theirs.
    new_negatives : bool, default True
        Whether the unlinked training pairs of ``fit()`` are drawn anew in every epoch.
    """

    operator: str = "concat+hadamard"
    width: int = 64
    directed: bool = True
    draw: str = "independent"
    hide_own: bool = True
    new_negatives: bool = True

    flat_names: ClassVar[Mapping[str, str]] = {"width": "pair_width", "draw": "pair_draw"}

    def check(self, owner: str) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        check_operator(owner, self.operator)
        check_integer(owner, "pairs.width", self.width, 0)
        check_choice(owner, "pairs.draw", self.draw, DRAWS)
        for name in ("directed", "hide_own", "new_negatives"):
            _check_flag(owner, name, getattr(self, name))


@dataclass(eq=False, repr=False)
class Pairs(PlainPairs):
    """How a link predictor reads pairs of nodes, and which pairs it is trained on.

    ``Pairs(operator="concat+hadamard", folds=0, counts=False, common=0, negatives="uniform")`` reads pairs as
    a single model does.

    Parameters
    ----------
    operator : str, default "product"
        Joins the representations of the two ends: ``"concat"``, ``"hadamard"``, ``"average"``, ``"l1"``,
        ``"l2"``, ``"product"`` (one end as a source times the other as a target), or several with ``+``
        between. By the default an entity is
        another one as a source than as a target.
    width : int, default 64
        Width of the dense layer that follows; 0 is none (concatenation alone is then a sum of two scores, one
        for each end).
    directed : bool, default True
        Whether (u, v) is the link u → v; only concatenation and ``"product"`` can tell it from v → u. False:
        a pair is linked if either direction is, and order never counts.
    draw : {"independent", "joint"}, default "independent"
        How relatives of a pair are drawn: each end by Eq. 3, or together by Eq. 4 where the pair has an edge,
        as in the paper. Eq. 4 draws ``v|u`` for training pairs (u, v) only: a learner may take that for the
        answer, which no tested pair ever gives.
    hide_own : bool, default True
        Whether messages pass without the edges between the pairs of the batch, in both directions, as tested
        pairs must do without theirs.
    new_negatives : bool, default True
        Whether the unlinked training pairs of ``fit()`` are drawn anew in every epoch.
    folds : int, default 10
        Into how many parts the training pairs are divided. A fold is trained on in a network, and in paths,
        without any trace of its pairs, contexts included, as a tested pair has none. No pair of a fold has an
        edge there, so that relatives are drawn by Eq. 3, whatever `draw` is; Eq. 4 draws them where a
        prediction is asked for a pair with an edge. 0 hides the edges of each batch instead, where `hide_own`
        says so, and contexts stay.
    counts : bool, default True
        Whether a pair also reads counts of both ends: degrees, resource allocation, walks with and without
        memory, lags in the paths (:class:`~honlearn.sampling.pair_counts.PairCounts`), and products of
        low-rank vectors (:class:`~honlearn.sampling.pair_factors.PairFactors`). Needs folds.
    count_share : float or "auto", default "auto"
        The share of the prediction that a logistic regression on the counts has beside the learners.
        ``"auto"`` finds it by stacking on held-back pairs; 0 leaves predictions to the learners. Without
        `counts` there is none.
    common : int, default 16
        How many numbers a pair reads of the pooled representations of its common neighbours; 0 for none.
        Needs folds.
    negatives : {"mixed", "uniform", "degree"}, default "mixed"
        How ``fit()`` draws unlinked training pairs: uniformly, with each end in proportion to its degree, or
        half of them either way.
    """

    operator: str = "product"
    folds: int = 10
    counts: bool = True
    count_share: float | str = "auto"
    common: int = 16
    negatives: str = "mixed"

    flat_names: ClassVar[Mapping[str, str]] = {
        **PlainPairs.flat_names,
        "folds": "pair_folds",
        "counts": "pair_counts",
        "common": "pair_common",
    }

    def check(self, owner: str) -> None:
        """Raise a ParameterError for a parameter that is out of range, or that needs folds."""
        super().check(owner)
        folds = check_integer(owner, "pairs.folds", self.folds, 0)
        if folds == 1:
            raise ParameterError(
                f"The 'pairs.folds' parameter of {owner} must be 0 or at least 2: a fold is hidden while it "
                "is trained on, and all pairs at once leave nothing. Got 1 instead."
            )
        check_integer(owner, "pairs.common", self.common, 0)
        check_choice(owner, "pairs.negatives", self.negatives, NEGATIVES)
        _check_flag(owner, "counts", self.counts)
        _check_share(owner, "pairs.count_share", self.count_share)
        needs = [name for name in ("counts", "common") if getattr(self, name)]
        if not folds and self.negatives != "uniform":
            needs.append(f"negatives={self.negatives!r}")
        if not folds and needs:
            raise ParameterError(
                f"{owner}: pairs.{listed(needs)} needs folds of pairs; set pairs.folds to 10, or "
                "counts=False, common=0 and negatives='uniform'"
            )


def _check_share(owner: str, name: str, value: float | str) -> None:
    if isinstance(value, str):
        check_choice(owner, name, value, ("auto",))
    else:
        check_real(owner, name, value, 0, 1)


def _check_flag(owner: str, name: str, value: object) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(
            f"The 'pairs.{name}' parameter of {owner} must be True or False. Got {value!r} instead."
        )


def check_operator(owner: str, operator: str) -> None:
    """Raise unless `operator` is one of the pair operators, or several with ``+`` between."""
    names = str(operator).split("+")
    for name in names:
        check_choice(owner, "operator", name, OPERATORS)
    if len(set(names)) < len(names):
        raise ParameterError(f"The 'operator' parameter of {owner} names one twice: {operator!r}")
