"""The contract of every baseline: what `fit` and `predict_proba` take and give, and what is saved.

In: names of nodes or pairs, and labels. Out: fitted estimators. Names are checked and become integers here; a
model overrides four methods that take and return integers and tensors alone. Parameters are the fields of a
dataclass, so that a model's file lists its own and inherits the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import Field, dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.errors import InputError, ParameterError, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import Pairs
from honlearn.seeds import root_seed
from honlearn.stored import Spec
from honlearn.tasks import link_parameters as check_links
from honlearn.tasks import parameters as check
from honlearn.tasks.estimator import described
from honlearn.tasks.fit_facts import Clock
from honlearn.tasks.html import Shown
from honlearn.tasks.inputs import Labels, NamePairs, Names

if TYPE_CHECKING:
    import pandas

State = dict[str, torch.Tensor]

# How a fit runs, or hashed in another way; they do not decide its result.
NOT_DECIDING = (
    "network",
    "n_threads",
    "checkpoint",
    "checkpoint_seconds",
    "random_state",
    "verbose",
)


@dataclass(eq=False, repr=False)
class Baseline(Shown, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What all baselines have: a network, and how a fit runs.

    `n_threads`, `checkpoint`, `checkpoint_seconds`, `random_state` and `verbose` are as for
    :class:`honlearn.DGEClassifier`; torch and linear algebra use one thread, so that results do not depend
    on how many there are. Fitted: ``classes_``, ``seed_``, ``state_`` (every tensor that predicts),
    ``n_parameters_``, and ``history_`` (a table, empty where nothing is trained in epochs).
    """

    network: HigherOrderNetwork
    n_threads: int | None = None
    checkpoint: str | PathLike[str] | None = None
    checkpoint_seconds: float = 60.0
    random_state: int | np.random.Generator | None = None
    verbose: bool | None = None

    # Parameters that hold data: what was learnt from them is saved, and fingerprints take them as arrays.
    data_parameters: ClassVar[tuple[str, ...]] = ()
    # Tensors of a fit that are class probabilities, which no softmax will make of whatever a file holds.
    probability_tensors: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **keywords: object) -> None:
        """Let the nearest class that has a default decide it, as for any attribute.

        A dataclass with two bases takes defaults from the first, even those that it merely inherits: a
        model's own would yield to the task's.
        """
        super().__init_subclass__(**keywords)
        known: dict[str, Field[Any]] = {}
        for base in reversed(cls.__mro__[1:]):
            known |= getattr(base, "__dataclass_fields__", {})
        for name, field in known.items():
            if name not in cls.__annotations__ and getattr(cls, name, field.default) != field.default:
                cls.__annotations__[name] = field.type
                setattr(cls, name, getattr(cls, name))

    # --- what a model overrides ----------------------------------------------------------------------

    def _check(self) -> None:
        """Raise a ParameterError for a parameter that is out of range; called first in `fit`."""

    def _specs(self) -> Mapping[str, Spec]:
        """Return kinds and shapes of the tensors that predict, where no module compares them with its own."""
        return {}

    def _restore(self, state: State) -> None:
        """Take over the tensors of a fit, from `fit` itself or from a folder."""
        self.state_ = state

    def _finish(self, state: State, history: list[dict[str, Any]], n_parameters: int) -> None:
        import pandas as pd

        self._restore({name: tensor.detach().cpu().contiguous() for name, tensor in state.items()})
        self.history_: pandas.DataFrame = pd.DataFrame(history)
        self.n_parameters_ = n_parameters

    # --- what all share ------------------------------------------------------------------------------

    def fingerprint(self, phase: str, *examples: NDArray[Any]) -> str:
        """Return a digest of all that decides the result, so that a checkpoint finds only its own run."""
        left_out = {*NOT_DECIDING, *self.data_parameters}
        given = {k: described(v) for k, v in self.get_params(deep=False).items() if k not in left_out}
        text = repr((type(self).__name__, phase, self.seed_, sorted(given.items())))
        digest, network = hashlib.sha256(text.encode()), self.network
        for array in (network.grams, network.indptr, network.indices, network.weights, *examples):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def predict(self, X: Names | NamePairs) -> NDArray[Any]:
        """Return the most probable class of each example, [B]."""
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Names | NamePairs) -> NDArray[np.float32]:
        """Return class probabilities, [B, C]; columns as in ``classes_``."""
        raise NotImplementedError

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the fitted model to `folder`; :func:`honlearn.load_model` reads it back."""
        from honlearn.baselines.saving import save_baseline

        check_is_fitted(self, "state_")
        save_baseline(self, folder)


class NodeBaseline(Baseline):
    """Classifies nodes. A model overrides `_fit_nodes` and `_nodes_proba`."""

    def _fit_nodes(self, nodes: NDArray[np.int32], codes: NDArray[np.int64], n_classes: int) -> None:
        """Train on entities [n] of these classes [n]; end with a call of `_finish`."""
        raise NotImplementedError

    def _nodes_proba(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return probabilities [B, C] of entities [B]."""
        raise NotImplementedError

    def fit(self, X: Names, y: Labels) -> Any:
        """Train on the nodes named in X with labels y; other nodes of the network take part unlabelled."""
        name, clock = type(self).__name__, Clock()
        network = check.network(name, self.network)
        nodes = check.node_codes(name, network, X, "fit")
        self.classes_, codes = check.class_codes(y, len(nodes))
        self._check()
        self.seed_ = root_seed(self.random_state)
        with threads(self.n_threads, name):
            self._fit_nodes(nodes, codes, len(self.classes_))
        self.fit_facts_ = clock.facts("nodes", self.classes_[codes], nodes)
        return self

    def predict_proba(self, X: Names) -> NDArray[np.float32]:
        """Return class probabilities, [B, C]; columns as in ``classes_``."""
        check_is_fitted(self, "state_")
        name = type(self).__name__
        with threads(self.n_threads, name):
            nodes = check.node_codes(name, self.network, X, "predict_proba")
            if not len(nodes):
                return np.zeros((0, len(self.classes_)), np.float32)
            return _finite(self._nodes_proba(nodes))


class LinkBaseline(Baseline):
    """Predicts links. A model overrides `_fit_pairs`, `_pairs_proba` and `_is_directed`."""

    # Whether millions of pairs can be scored, as a ranking of all entities needs.
    scores_all_pairs: ClassVar[bool] = True

    def _fit_pairs(self, examples: PairExamples, unlinked: Unlinked | None) -> None:
        """Train on labelled pairs; `unlinked` draws new negatives, None if the user gave all pairs."""
        raise NotImplementedError

    def _pairs_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        """Return the probability [B] that each of the pairs [B, 2] is linked."""
        raise NotImplementedError

    def fit(
        self, X: NamePairs | None = None, y: Labels | None = None, *, exclude: NamePairs | None = None
    ) -> Any:
        """Train on pairs X [n, 2] with labels y (1: linked), or on pairs of the network; see `exclude` there.

        `exclude` names pairs that are held out for a test: they and their ways back are no examples.
        """
        name, clock = type(self).__name__, Clock()
        network = check.network(name, self.network)
        self._check()
        self.seed_ = root_seed(self.random_state)
        given = (network, X, y, exclude, self._is_directed, self.seed_)
        examples, unlinked = check_links.training_pairs(name, *given)
        self.classes_ = np.array([0, 1])
        with threads(self.n_threads, name):
            self._fit_pairs(examples, unlinked)
        self.fit_facts_ = clock.facts("pairs", examples.labels, examples.pairs)
        return self

    @property
    def _is_directed(self) -> bool:
        """Whether (u, v) is another pair than (v, u)."""
        raise NotImplementedError

    def predict_proba(self, X: NamePairs) -> NDArray[np.float32]:
        """Return the probabilities that each pair is not, and is, linked: [B, 2], as in ``classes_``."""
        check_is_fitted(self, "state_")
        pairs = check_links.pair_codes(type(self).__name__, self.network, X, "predict_proba")
        linked = self._codes_proba(pairs)
        return np.stack([1.0 - linked, linked], 1).astype(np.float32)

    def _codes_proba(self, pairs: Pairs) -> NDArray[np.float32]:
        """Return the probability [B] of a link of pairs of entity codes [B, 2]."""
        with threads(self.n_threads, type(self).__name__):
            pairs = check_links.in_order(pairs, self._is_directed)
            return _finite(self._pairs_proba(pairs)) if len(pairs) else np.zeros(0, np.float32)

    def recommend(self, node: object, top: int = 10) -> pandas.DataFrame:
        """Return the entities that `node` is most likely linked to and has no edge to yet, best first.

        A table with neighbor and probability.
        """
        import pandas as pd

        check_is_fitted(self, "state_")
        check_integer(f"{type(self).__name__}.recommend", "top", top, 1)
        names = self.network.vocabulary
        new = check_links.new_pairs(self.network, names.index(node), self._is_directed)
        linked = self._codes_proba(new)
        best = np.argsort(-linked, kind="stable")[:top]
        others = [names[int(code)] for code in new[best, 1]]
        return pd.DataFrame({"neighbor": others, "probability": linked[best]})


@dataclass(eq=False, repr=False)
class DirectedBaseline(LinkBaseline):
    """Predicts links; with `directed` (u, v) is the link u → v, without it order never counts."""

    directed: bool = True

    def _check(self) -> None:
        super()._check()
        if not isinstance(self.directed, (bool, np.bool_)):
            raise ParameterError(
                f"The 'directed' parameter of {type(self).__name__} must be True or False. "
                f"Got {self.directed!r} instead."
            )

    @property
    def _is_directed(self) -> bool:
        return bool(self.directed)


def _finite(proba: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the probabilities, or raise where a training or a file left weights that overflow."""
    if not np.isfinite(proba).all():
        raise InputError(
            "the predictions are not finite: the weights of this model are too large; train again"
        )
    return proba


@contextmanager
def threads(count: int | None, owner: str) -> Iterator[None]:
    """Run torch on one thread inside the block, as before after it, whatever `count` allows.

    How torch divides a product or a sum depends on the number of threads, and with it the last bits would.
    """
    before = torch.get_num_threads()
    if count is not None:
        check_integer(owner, "n_threads", count, 1)
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
