"""What the estimators share: the network, the two trainings of a fit, what is remembered, and saving.

In: a way to make a trainer, and options. Out: fitted attributes. The first training finds how many epochs are
best for each learner, on a validation part; the second trains anew on everything for `refit` times as many.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from honlearn.errors import check_integer
from honlearn.models.ensemble import Architecture, Ensemble, count_parameters
from honlearn.models.training import Trainer, TrainingOptions
from honlearn.models.weights import Features
from honlearn.tasks import held, structure
from honlearn.tasks import parameters as check
from honlearn.tasks.html import Shown

if TYPE_CHECKING:
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.models.path_vectors import OneStep

Schedule = list[list[int]] | None
State = dict[str, torch.Tensor]
MakeTrainer = Callable[[TrainingOptions, Schedule, str], Trainer]
Method = TypeVar("Method", bound=Callable[..., Any])
Model = TypeVar("Model", bound="EnsembleEstimator")

# They say how a fit runs, or are known otherwise; they do not decide what comes out of it.
_NOT_DECIDING = (
    "network",
    "features",
    "device",
    "n_threads",
    "checkpoint",
    "checkpoint_seconds",
    "verbose",
    "random_state",
)


def of_members(method: Method) -> Method:
    """Offer a method that speaks of members only where there are any: a model of one learner has none."""
    return cast(Method, available_if(lambda model: model._has_members)(method))


class EnsembleEstimator(Shown, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator around an ensemble on a network; subclasses say what an example is.

    A subclass with fewer parameters says in `_settled` what the others are.
    """

    network: Any
    features: Any
    refit: Any
    n_learners: Any
    verbose: bool | None
    seed_: int
    network_: HigherOrderNetwork
    path_vectors_: NDArray[np.float32] | None
    kernel_proba_: NDArray[np.float32] | None = None
    kernel_share_: float = 0.0
    edge_power_: float
    architecture_: Any
    classes_: NDArray[Any]
    # What parameters and arguments come to on `network_`, all of it checked; a subclass's.
    _prepared: Callable[..., Any]
    # What the parameters alone come to, checked; a subclass's.
    _checked: Callable[..., Any]
    _ensemble: type[Ensemble] = Ensemble
    # What networks of the same paths have in common, while one of them is chosen.
    _one_step: OneStep | None = None
    _settled: ClassVar[Mapping[str, Any]] = {}
    _has_members: ClassVar[bool] = True

    if TYPE_CHECKING:

        def member_proba(self, X: Any) -> NDArray[np.float32]:
            """Return the class probabilities of each member, [L, B, C]; a subclass's."""

    def _given(self) -> dict[str, Any]:
        """Return the parameters, with what the class has settled and a fit has chosen."""
        chosen = {"edge_power": self.edge_power_} if hasattr(self, "edge_power_") else {}
        return {**self._settled, **self.get_params(deep=False), **chosen}

    def _check(self) -> None:
        """Raise a ParameterError for a parameter that a subclass alone refuses; called first in its `fit`."""

    # --- the network ---------------------------------------------------------------------------------

    def _settle_network(self, *examples: Any) -> None:
        """Set the network that is trained on: the one given, or the one that suits these examples best."""
        # Of an earlier fit; this one may have nothing to choose.
        for name in ("search_results_", "power_results_", "edge_power_"):
            self.__dict__.pop(name, None)
        given, grows = self._given(), "tau" in self.get_params(deep=False)
        if grows and structure.is_source(self.network):
            self.network_ = self._grown(given, examples)
        else:
            self.network_ = check.network(self.network, given)
        self.path_vectors_ = None

    def _grown(self, given: Mapping[str, Any], examples: tuple[Any, ...]) -> HigherOrderNetwork:
        """Return the network that the parameters name, or the best of those that they leave open."""
        owner = type(self).__name__
        counts = structure.counts_of(owner, self.network, given["order"])
        # What is wrong is said before a structure is searched for, not after.
        self.network_, self.path_vectors_ = counts.grow(1), None
        check.refit(self.refit)
        self._prepared(*examples)
        wanted = {name: given[name] for name in structure.PARAMETERS}
        fields = structure.candidates(owner, counts, wanted, self._count_examples(counts, examples))
        if len(fields) == 1:
            return fields[0].network
        race = structure.Race(fields, self._ledger("structure", examples, [one.network for one in fields]))
        started: dict[int, EnsembleEstimator] = {}
        self._one_step = {}

        def validate(network: HigherOrderNetwork, learners: Sequence[int]) -> held.Held:
            if id(network) in started:
                return started[id(network)]._held(learners, *examples)
            candidate = self._judge(network=network, **dict.fromkeys(structure.PARAMETERS))
            candidate._one_step = self._one_step
            started[id(network)] = candidate
            return candidate._held(learners, *examples)

        def forget(network: HigherOrderNetwork) -> None:
            started.pop(id(network), None)

        most = check_integer(owner, "n_learners", self.n_learners, 1)
        winner = race.run(validate, most, self.verbose, forget)
        self.search_results_ = race.results(winner)
        return winner.network

    def _ledger(
        self, phase: str, examples: tuple[Any, ...], networks: Sequence[HigherOrderNetwork] = ()
    ) -> held.Ledger:
        """Return the checkpoint of a choice inside the fit, if the fit has any; networks as in a digest."""
        given = self._given()
        if given["checkpoint"] is None:
            return held.Ledger()
        mark = self._fingerprint(phase, map(_as_bytes, examples), networks)
        return held.Ledger(_beside(Path(given["checkpoint"]), phase), mark, given["checkpoint_seconds"])

    def _judge(self: Model, **settings: Any) -> Model:
        """Return one like this, with other settings, whose learners judge a choice by what they hold back."""
        settings |= {"validation_fraction": held.SHARE, "random_state": self.seed_}
        settings |= {"checkpoint": None, "verbose": False}
        # Not a clone, which would copy features and paths for every candidate.
        return type(self)(**self.get_params(deep=False) | settings)

    def _count_examples(self, counts: GramCounts, examples: tuple[Any, ...]) -> int:
        """Return how many examples a fit on these arguments has; a subclass knows."""
        raise NotImplementedError

    def _held(self, learners: Sequence[int], *examples: Any) -> held.Held:
        """Train these learners; return what each holds back, and its chance for the truth; a subclass's."""
        raise NotImplementedError

    def _inputs(self) -> Features | None:
        """Return what is known of the entities beside their names: features of the user, vectors of paths."""
        return check.user_features(self.features, self.network_, self.path_vectors_)

    # --- training ------------------------------------------------------------------------------------

    def _train_twice(self, make: MakeTrainer, options: TrainingOptions) -> tuple[State, list[Trainer]]:
        """Run the trainings; return the state that predicts and the trainers, the last one's state."""
        # Without a validation part there is nothing to search for.
        factor = check.refit(self.refit) if options.validation_fraction > 0 else 0.0
        trainers: list[Trainer] = []
        schedule: Schedule = None
        for phase in ("search", "refit") if factor else ("search",):
            if phase == "refit" and options.checkpoint is not None:
                options = dataclasses.replace(options, checkpoint=_beside(options.checkpoint, "refit"))
            trainers.append(make(options, schedule, phase))
            state = trainers[-1].fit()
            best = trainers[-1].at.best_epochs
            schedule = [[max(1, round(epochs * factor)) for epochs in row] for row in best]
        return {name: tensor.cpu() for name, tensor in state.items()}, trainers

    def _fingerprint(
        self, phase: str, examples: Iterable[NDArray[Any]], networks: Sequence[HigherOrderNetwork] = ()
    ) -> str:
        """Return a digest of all that decides the result, so that a checkpoint finds only its own run.

        `networks` are those to choose among; none means the one that is trained on.
        """
        given = {k: v for k, v in self._given().items() if k not in _NOT_DECIDING}
        text = repr((type(self).__name__, phase, self.seed_, sorted(given.items())))
        digest, known = hashlib.sha256(text.encode()), networks or [self.network_]
        arrays = [array for hon in known for array in (hon.grams, hon.indptr, hon.indices, hon.weights)]
        features = check.user_features(self.features, known[0])
        for array in (*arrays, *examples, *([] if features is None else features.arrays())):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _remember(
        self, shape: Architecture, state: State, trainers: list[Trainer], checkpoint: Path | None
    ) -> None:
        """Set the fitted attributes and remove the checkpoints."""
        import pandas as pd

        self.architecture_ = shape
        self._restore(state)
        phases = zip(("search", "refit"), trainers, strict=False)
        rows = [{**row, "phase": phase} for phase, trainer in phases for row in trainer.at.history]
        self.history_ = pd.DataFrame(rows)
        self.best_epochs_ = np.concatenate([np.asarray(row) for row in trainers[-1].at.best_epochs])
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
            for phase in ("structure", "power", "refit"):
                _beside(checkpoint, phase).unlink(missing_ok=True)

    def _restore(self, state: State) -> None:
        """Build the ensemble that predicts from a state; learners of bag* now have weights of their own."""
        shape = self.architecture_
        if shape.is_sequential:
            shape = dataclasses.replace(shape, shared=False)
        self.ensemble_ = self._ensemble(shape, self.seed_, range(shape.n_learners), self._inputs())
        self.ensemble_.load_state_dict(state)
        self.n_parameters_ = count_parameters(self.ensemble_)

    @of_members
    def disagreement(self, X: Any) -> NDArray[np.float64]:
        """Return the share of pairs of members that predict different classes, for each example, [B]."""
        return disagreement(self.member_proba(X))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted model to `folder`; :func:`honlearn.load_model` reads it back."""
        from honlearn.tasks.saving import save_classifier

        check_is_fitted(self, "ensemble_")
        save_classifier(self, folder)


def disagreement(members: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the share of pairs of members [L, B, C] whose most probable classes differ, [B].

    >>> disagreement(np.array([[[0.9, 0.1]], [[0.8, 0.2]], [[0.3, 0.7]]], np.float32)).round(3).tolist()
    [0.667]
    """
    votes = members.argmax(2)
    if len(votes) == 1:
        return np.zeros(votes.shape[1])
    counts = (votes[:, :, None] == np.arange(members.shape[2])).sum(0)
    agreeing = (counts * (counts - 1)).sum(1) / (len(votes) * (len(votes) - 1))
    return np.asarray(1.0 - agreeing, np.float64)


def judged(trainer: Trainer) -> held.Held:
    """Train; return what each learner has held back, [L, h], and the chance that it gives to the truth."""
    trainer.fit()
    return trainer.held_chance()


def _as_bytes(value: Any) -> NDArray[np.uint8]:
    """Return a list of names, labels or pairs as bytes, for a digest."""
    plain = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value, dtype=object)
    return np.frombuffer(repr(plain.tolist()).encode(), np.uint8)


def _beside(path: Path, phase: str) -> Path:
    """Return the checkpoint of another phase, beside that of the first training."""
    return path.with_name(f"{path.name}.{phase}")
