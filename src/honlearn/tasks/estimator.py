"""What the estimators share: the network, choices inside a fit, what is remembered, and saving.

In: parameters and examples. Out: fitted attributes. An estimator turns names into codes and parameters into
a model (:mod:`honlearn.ensemble.node_model`, :mod:`honlearn.ensemble.pair_model`), which is trained.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from honlearn.engine.runtime import Runtime
from honlearn.ensemble.ensemble import Architecture, count_parameters
from honlearn.ensemble.fitting import Fitted, forget_checkpoints
from honlearn.ensemble.groups import Workers
from honlearn.ensemble.learner_training import Searched
from honlearn.ensemble.loop import State, TrainingOptions
from honlearn.errors import check_integer
from honlearn.learners import Learner
from honlearn.learners.base import USUAL_POWER
from honlearn.tasks import held, structure
from honlearn.tasks import parameters as check
from honlearn.tasks.choice import Candidate, Choice
from honlearn.tasks.html import Shown
from honlearn.tasks.inputs import NamePairs, Names
from honlearn.tasks.nested import Nested
from honlearn.tasks.settings import Training

if TYPE_CHECKING:
    from honlearn.engine.weights import Features
    from honlearn.ensemble.node_model import NodeModel
    from honlearn.ensemble.pair_model import PairModel
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork
    from honlearn.tasks.storage import SavedCounts

Model = TypeVar("Model", bound="EnsembleEstimator")

# They say how a fit runs, or are known otherwise; they do not decide what comes out of it.
_NOT_DECIDING = (
    "network",
    "paths",
    "features",
    "device",
    "executor",
    "n_threads",
    "checkpoint",
    "checkpoint_seconds",
    "memory",
    "verbose",
    "random_state",
)


class EnsembleEstimator(Nested, Shown, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator around an ensemble on a network; subclasses say what an example is."""

    task: ClassVar[str]
    network: Any
    learner: Any
    features: Any
    n_learners: Any
    n_threads: Any
    training: Training | None
    verbose: bool | None
    random_state: Any
    executor: Any
    seed_: int
    network_: HigherOrderNetwork
    path_vectors_: NDArray[np.float32] | None = None
    kernel_proba_: NDArray[np.float32] | None = None
    kernel_share_: float = 0.0
    edge_power_: float
    # The counts that the network was grown from; of a model that was loaded, where they are.
    counts_: GramCounts | SavedCounts | None = None
    architecture_: Any
    ensemble_: Any
    classes_: NDArray[Any]
    # What parameters and arguments come to on `network_`, all of it checked; a subclass's.
    _prepare: Callable[..., Any]
    _model: Callable[..., NodeModel | PairModel]
    # The candidates of this fit, as long as it lasts.
    _choice: Choice
    # Where learners are trained in this fit; None is this process.
    _workers: Workers | None = None

    if TYPE_CHECKING:

        def member_proba(self, X: Names | NamePairs) -> NDArray[np.float32]:
            """Return the class probabilities of each member, [L, B, C]; a subclass's."""

    @property
    def _owner(self) -> str:
        """The name that messages use."""
        return type(self).__name__

    @contextmanager
    def _on_executor(self) -> Iterator[None]:
        """Train groups of learners on the executor inside the block."""
        workers = Workers.of(self.executor, self.n_threads)
        with workers or nullcontext():
            self._workers = workers
            try:
                yield
            finally:
                del self._workers

    # --- choices -------------------------------------------------------------------------------------

    def _resolve_network(self, *examples: Any) -> None:
        """Set the network that is trained on: the one given, or the one that suits these examples best."""
        self._forget_choices()
        if structure.is_source(self.network):
            fields = self._grown(examples)
            if len(fields) == 1:
                self.network_ = fields[0].network
            else:
                running = self._race(fields, examples)
                first = next((one for one in running if one.is_first_order), running[0])
                winner = self._choice.best(running, first)
                self.network_ = winner.network
                self.selection_results_ = self._choice.results(
                    {winner.key: 1.0}, {winner.key: self.n_learners}
                )
        else:
            asked = self.parameter_object("structure").given()
            self.network_ = check.network(self._owner, self.network, asked)

    def _forget_choices(self) -> None:
        """Remove what an earlier fit has chosen, also one that was stopped; this one may choose nothing."""
        for name in ("selection_results_", "edge_power_", "_choice"):
            self.__dict__.pop(name, None)
        self.path_vectors_, self.counts_ = None, None

    def _grown(self, examples: tuple[Any, ...]) -> list[structure.Grown]:
        """Return the networks that the parameters name or leave open."""
        wanted = self.parameter_object("structure")
        counts = self.counts_ = structure.counts_of(self._owner, self.network, wanted.order)
        # What is wrong is said before a structure is searched for, not after.
        self.network_ = counts.grow(1)
        self._prepare(*examples)
        return structure.candidates(self._owner, counts, wanted)

    def _race(
        self, fields: Sequence[structure.Grown], examples: tuple[Any, ...], most: int | None = None
    ) -> list[Candidate]:
        """Let networks race, judged by learners of the usual edge power; return those that ran to the end.

        Not more than half of a bag judge a network, nor more than `most`.
        """
        self._choice = self._new_choice(examples, [one.network for one in fields])
        kinds = [with_power(kind, USUAL_POWER) for kind in self._kinds()]
        named = ",".join(f"{kind.kind} {kind.power:g}" for kind in kinds)
        running = [self._choice.add(f"{named} {one.key}", one.network, kinds) for one in fields]
        half = check_integer(self._owner, "n_learners", self.n_learners, 1) // 2
        return structure.race(self._choice, fields, running, half if most is None else min(half, most))

    def _new_choice(self, examples: tuple[Any, ...], networks: Sequence[HigherOrderNetwork] = ()) -> Choice:
        """Return the choice of this fit, with its checkpoint if the fit has any; networks as in a digest."""
        training, search = self.parameter_object("training"), partial(self._search, examples)
        ledger = held.Ledger()
        if training.checkpoint is not None:
            mark = self._fingerprint("choice", map(_as_bytes, examples), networks)
            path = _beside(Path(training.checkpoint), "choice")
            ledger = held.Ledger(path, mark, training.checkpoint_seconds)
        return Choice(search, self._count_examples(examples), ledger, self.verbose)

    def _judging(self) -> Training:
        """Return how learners that judge a choice are trained."""
        training: Training = clone(self.parameter_object("training"))
        training.set_params(validation_fraction=training.validation_fraction or held.SHARE, checkpoint=None)
        return training

    def _count_examples(self, examples: tuple[Any, ...]) -> int:
        """Return how many examples a fit on these arguments has; a subclass knows."""
        raise NotImplementedError

    def _search(
        self, examples: tuple[Any, ...], candidate: Candidate, learners: Sequence[int]
    ) -> list[Searched]:
        """Train these learners of a candidate on their training parts, one search for each kind."""
        raise NotImplementedError

    # --- learners and training -----------------------------------------------------------------------

    def _kinds(self) -> tuple[Learner, ...]:
        """Return the kinds of learner, resolved for the task and checked, with the edge power chosen."""
        kinds = check.learners(self._owner, self.learner, self.default_learner, self.task, self._has_features)
        power = getattr(self, "edge_power_", None)
        return kinds if power is None else tuple(with_power(kind, power) for kind in kinds)

    @property
    def _has_features(self) -> bool:
        """Whether learners read anything of an entity beside its identity."""
        return self.features is not None or self.path_vectors_ is not None

    def _inputs(self) -> Features | None:
        """Return what is known of the entities beside their identity: features of the user, path vectors."""
        return check.user_features(self.features, self.network_, self.path_vectors_)

    def _options(
        self, shape: Architecture, n_examples: int, training: Training | None = None
    ) -> list[TrainingOptions]:
        """Return the training options of each kind of learner, by the estimator's `training` or another."""
        training = self.parameter_object("training") if training is None else training
        given = (self._owner, self.task)
        return [training.options(*given, kind, n_examples, self.verbose) for kind in shape.kinds]

    def _runtime(self) -> Runtime:
        return Runtime(self.parameter_object("training").device, self.n_threads, self._owner)

    def _fingerprint(
        self, phase: str, examples: Iterable[NDArray[Any]], networks: Sequence[HigherOrderNetwork] = ()
    ) -> str:
        """Return a digest of all that decides the result, so that a checkpoint finds only its own run.

        `networks` are those to choose among; none means the one that is trained on.
        """
        chosen = getattr(self, "edge_power_", None)
        text = repr((self._owner, phase, self.seed_, chosen, described(self)))
        digest, known = hashlib.sha256(text.encode()), networks or [self.network_]
        arrays = [array for hon in known for array in (hon.grams, hon.indptr, hon.indices, hon.weights)]
        features = check.user_features(self.features, known[0])
        for array in (*arrays, *examples, *([] if features is None else features.arrays())):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _remember(self, shape: Architecture, fitted: Fitted, options: Sequence[TrainingOptions]) -> None:
        """Set the fitted attributes and remove the checkpoints."""
        import pandas as pd

        self.architecture_ = shape
        self._restore(fitted.state)
        self.history_ = pd.DataFrame(fitted.history)
        self.best_epochs_ = fitted.best_epochs
        self._forget_checkpoints(shape, options)

    def _forget_checkpoints(self, shape: Architecture, options: Sequence[TrainingOptions]) -> None:
        """Remove the checkpoints of a fit that is done."""
        forget_checkpoints(shape, options)
        checkpoint = self.parameter_object("training").checkpoint
        if checkpoint is not None:
            _beside(Path(checkpoint), "choice").unlink(missing_ok=True)

    _fitted_model: Any

    def _restore(self, state: State) -> None:
        """Build the ensemble that predicts from a state."""
        self._fitted_model = self._model(self.architecture_)
        self.ensemble_ = self._fitted_model.restore(state)
        self.n_parameters_ = count_parameters(self.ensemble_)

    def _sampled(self, kinds: Sequence[Learner], network: HigherOrderNetwork) -> tuple[Learner, ...]:
        """Return the learners with fan-outs where they are chosen; a subclass says when."""
        return tuple(kinds)

    def _predicting(self, model: Any, **settings: Any) -> Any:
        """Return the model that predicts: as it was fitted, but with fan-outs and `settings` as set now."""
        now = self._sampled(self._kinds(), model.network)
        if len(now) == len(model.shape.kinds):
            kinds = tuple(_with_fan_outs(*both) for both in zip(model.shape.kinds, now, strict=True))
            if described(kinds) != described(model.shape.kinds):
                settings["shape"] = dataclasses.replace(model.shape, kinds=kinds)
        if any(getattr(model, name) != value for name, value in settings.items()):
            return dataclasses.replace(model, **settings)
        return model

    def disagreement(self, X: Names | NamePairs) -> NDArray[np.float64]:
        """Return the share of pairs of members that predict different classes, for each example, [B].

        Parameters
        ----------
        X : list
            Names of nodes; of a link predictor, pairs of names.
        """
        return disagreement(self.member_proba(X))

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted model; :func:`honlearn.load_model` reads it back.

        Parameters
        ----------
        folder : str or path
            A folder for weights, parameters and a card in plain words; no code is kept in it.
        """
        from honlearn.tasks.saving import save_classifier

        check_is_fitted(self, "ensemble_")
        save_classifier(self, folder)


def with_power(kind: Learner, power: float) -> Learner:
    """Return the learner with this edge power where its own is yet to be chosen."""
    if not isinstance(kind.edge_power, str):
        return kind
    out: Learner = clone(kind).set_params(edge_power=power)
    return out


def _with_fan_outs(fitted: Learner, now: Learner) -> Learner:
    """Return a learner as it was fitted, which reads neighbourhoods as wide as one of its kind does now."""
    same = type(fitted) is type(now) and len(fitted.layer_widths) == len(now.layer_widths)
    if not same or not hasattr(now, "fan_outs"):
        return fitted
    out: Learner = clone(fitted).set_params(fan_outs=now.fan_outs)
    return out


def described(value: object) -> Any:
    """Return what of a parameter decides a result, the same in every process."""
    if isinstance(value, BaseEstimator):
        given = value.get_params(deep=False)
        return type(value).__name__, [
            (name, described(given[name])) for name in sorted(given) if name not in _NOT_DECIDING
        ]
    if isinstance(value, (list, tuple)):
        return [described(one) for one in value]
    if isinstance(value, partial):
        return [described(one) for one in (value.func, value.args, sorted(value.keywords.items()))]
    if callable(value):
        # Not its representation, which may hold an address.
        return getattr(value, "__qualname__", type(value).__qualname__)
    return repr(value)


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


def _as_bytes(value: object) -> NDArray[np.uint8]:
    """Return a list of names, labels or pairs as bytes, for a digest."""
    plain = np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value, dtype=object)
    return np.frombuffer(repr(plain.tolist()).encode(), np.uint8)


def _beside(path: Path, phase: str) -> Path:
    """Return the checkpoint of another phase, beside that of the first training."""
    return path.with_name(f"{path.name}.{phase}")
