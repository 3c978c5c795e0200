"""Node classification: deep graph ensembles behind scikit-learn's contract.

In: a higher-order network, names of labelled nodes and their labels. Out: a fitted :class:`DGEClassifier`
that predicts classes, probabilities, the prediction of each member, and how far members disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted, Held
from honlearn.ensemble.inference import Inference
from honlearn.ensemble.node_model import NodeModel
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.learners.base import USUAL_POWER
from honlearn.path_kernel.path_vectors import Vectors, choose_vectors
from honlearn.path_kernel.ridge import best_share, fit_kernel
from honlearn.paths.paths import Paths
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import root_seed
from honlearn.tasks import parameters as check
from honlearn.tasks.estimator import EnsembleEstimator, with_power
from honlearn.tasks.inputs import Labels, Names, Weights
from honlearn.tasks.nested import as_learners, refuse_old
from honlearn.tasks.powers import choose_power
from honlearn.tasks.settings import PathKernel, Structure, Training


class _Prepared(NamedTuple):
    """The classes, and the labelled nodes as codes."""

    classes: NDArray[Any]
    examples: Examples


class DGEClassifier(EnsembleEstimator):
    """Classifies the entities of a higher-order network with an ensemble of graph neural networks.

    Parameters
    ----------
    network : HigherOrderNetwork, GramCounts or Paths
        The network to train on. Of paths (:func:`honlearn.read_paths`) or their counts
        (:func:`honlearn.count_grams`) a network is grown, as `structure` says.
    learner : str, Learner or list of these, default "sage"
        The graph neural network: ``"sage"``, ``"gin"``, ``"gcn"``, ``"gcnii"``, ``"gat"``, ``"gatv2"``, or an
        object of :mod:`honlearn.learners` with parameters of its own; ``TorchLearner(make)`` takes any module
        of PyTorch. Of several, learner i is of kind i modulo their number.
    n_learners : int, default 16
        The number of learners, ℓ.
    variant : {"bag", "pool", "concat", "attn", "batch"}, default "bag"
        How learners are pooled: Eq. 5c, 5b, 5a, the attention of the paper's appendix, or one model that is
        trained on new draws of relatives in every batch.
    shared : bool, default False
        One set of weights for all learners (the paper's ``*``; batch always has one).
    n_heads : int, default 5
        Heads of the attention over learners (variant ``"attn"``).
    features : array, sparse matrix or DataFrame, optional
        Numbers for each entity, [V, F]: rows as in ``network.vocabulary``, or a DataFrame indexed by name.
    training : Training, optional
        Optimiser, epochs, early stopping, checkpoints, device.
    structure : Structure, optional
        Which network is grown from paths or counts; what it leaves open is chosen for the task.
    path_kernel : PathKernel, optional
        Vectors of paths that learners read, and the share of a kernel regression on such vectors.
    n_draws : int or "all", default "all"
        Relatives that each member averages over at prediction: as many draws, or all weighted by Eq. 3.
    n_threads : int, optional
        Threads; None uses all cores. Results do not depend on it.
    random_state : int, Generator, optional
        Decides every random choice.
    verbose : bool, optional
        None shows progress on a terminal.

    Attributes
    ----------
    classes_, network_, n_parameters_
        The classes, the network trained on, the number of trained numbers.
    history_, best_epochs_
        Losses by epoch, and the number of epochs that each learner was trained.
    kernel_share_, edge_power_, search_results_, power_results_
        What was chosen in the fit, and what was tried.

    Examples
    --------
    >>> from honlearn.hon.edgelist import from_edges
    >>> from honlearn.learners import SAGE
    >>> near = [(f"{s}{i}", f"{s}{j}") for s in "ab" for i in range(6) for j in range(6) if i != j]
    >>> hon = from_edges(*zip(*near))
    >>> names = list(hon.vocabulary)
    >>> clf = DGEClassifier(hon, SAGE(widths=(9, 9)), n_learners=4, random_state=0)
    >>> clf = clf.fit(names[1:-1], [name[0] for name in names[1:-1]])
    >>> clf.predict(["a0", "b5"]).tolist(), clf.member_proba(["a0"]).shape
    (['a', 'b'], (4, 1, 2))
    """

    task: ClassVar[str] = "nodes"
    _fitted_model: NodeModel
    parameter_objects: ClassVar[Mapping[str, type]] = {
        "training": Training,
        "structure": Structure,
        "path_kernel": PathKernel,
    }

    def __init__(
        self,
        network: HigherOrderNetwork | GramCounts | Paths,
        learner: str | Learner | Sequence[str | Learner] = "sage",
        n_learners: int = 16,
        variant: str = "bag",
        shared: bool = False,
        n_heads: int = 5,
        features: Any = None,
        training: Training | None = None,
        structure: Structure | None = None,
        path_kernel: PathKernel | None = None,
        n_draws: int | str = "all",
        n_threads: int | None = None,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
        **old: Any,
    ) -> None:
        refuse_old(type(self), old)
        self.network = network
        self.learner = learner
        self.n_learners = n_learners
        self.variant = variant
        self.shared = shared
        self.n_heads = n_heads
        self.features = features
        self.training = training
        self.structure = structure
        self.path_kernel = path_kernel
        self.n_draws = n_draws
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    # --- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Names, y: Labels, sample_weight: Weights | None = None) -> DGEClassifier:
        """Train on the nodes named in X with labels y; other nodes of the network take part unlabelled."""
        self.seed_ = root_seed(self.random_state)
        self._resolve_network(X, y, sample_weight)
        classes, examples = self._prepare(X, y, sample_weight)
        vectors = self._resolve_vectors(len(classes), examples)
        self._one_step = None
        self._resolve_power(X, y, sample_weight)
        shape = self._shape(len(classes))
        options, run = self._options(shape, len(examples)), self._runtime()
        with run.threads():
            fitted = self._model(shape).fit(run, examples, options, lambda p: self._mark(p, examples))
            self._resolve_kernel(vectors, fitted, examples, len(classes))
        self.classes_ = classes
        self._remember(shape, fitted, options)
        return self

    def _prepare(self, X: Names, y: Labels, sample_weight: Weights | None) -> _Prepared:
        """Return the classes and examples; every parameter is checked, before anything is searched for."""
        nodes = check.node_codes(self._owner, self.network_, X, "fit")
        classes, codes = check.class_codes(y, len(nodes))
        training = self.parameter_object("training")
        weights = check.example_weights(self._owner, training.class_weight, sample_weight, classes, codes)
        self._check(len(classes), len(nodes))
        return _Prepared(classes, Examples(nodes, codes, weights))

    def _check(self, n_classes: int, n_nodes: int) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        self.parameter_object("path_kernel").check(self._owner)
        self._options(self._shape(n_classes), n_nodes)
        check.draws(self._owner, self.n_draws)

    def _shape(self, n_classes: int) -> Architecture:
        kinds = self._kinds()
        return check.architecture(self._owner, self, n_classes, self.network_.n_entities, kinds)

    def _saved_shape(self) -> Architecture:
        """Return the shape of a model that was loaded; its parameters are checked as in a fit."""
        self._check(len(self.classes_), 1)
        class_weight = self.parameter_object("training").class_weight
        codes = np.arange(len(self.classes_))
        check.example_weights(self._owner, class_weight, None, self.classes_, codes)
        return self._shape(len(self.classes_))

    @property
    def _has_features(self) -> bool:
        """Whether learners read anything of an entity beside its identity."""
        return self.features is not None or bool(self.parameter_object("path_kernel").vectors)

    def _mark(self, phase: str, examples: Examples) -> str:
        return self._fingerprint(phase, examples.arrays())

    def _model(self, shape: Architecture) -> NodeModel:
        """Return what is trained: the ensemble on the network that was given or chosen."""
        sampler = RelativeSampler(self.network_)
        return NodeModel(self.network_, sampler, shape, self._inputs(), self.seed_)

    def _resolve_vectors(self, n_classes: int, examples: Examples, for_kernel: bool = True) -> Vectors | None:
        """Set the path vectors that learners read; return the kernel's, None where nobody reads any."""
        kernel = self.parameter_object("path_kernel")
        if not kernel.vectors and not (for_kernel and kernel.share):
            return None
        learned, read = choose_vectors(self.network_, examples, n_classes, self.seed_, self._one_step)
        self.path_vectors_ = learned.first(kernel.vectors) if kernel.vectors else None
        return read

    def _resolve_power(self, *examples: Any) -> None:
        """Set the power of the edge weights where a learner leaves it open: the best for these examples."""
        learners = as_learners(self._owner, self.learner, self.default_learner)
        if not any(isinstance(one.edge_power, str) for one in learners):
            return

        def judge(power: float, some: range) -> Held:
            one = self._judge(learner=[with_power(kind, power) for kind in learners])
            one.seed_, one.network_, one.path_vectors_ = self.seed_, self.network_, self.path_vectors_
            return one._held(some, *examples)

        ledger = self._ledger("power", examples)
        self.edge_power_, self.power_results_ = choose_power(
            judge, len(examples[0]), self.n_learners, self.verbose, ledger
        )

    def _resolve_kernel(
        self, vectors: Vectors | None, fitted: Fitted, examples: Examples, n_classes: int
    ) -> None:
        """Set the kernel's prediction for every entity, and its share, chosen on held-back predictions."""
        share = self.parameter_object("path_kernel").share
        self.kernel_share_, self.kernel_proba_ = 0.0, None
        if vectors is None or share == 0:
            return
        kernel = fit_kernel(vectors.values, examples, n_classes, self.seed_)
        self.kernel_proba_ = kernel.proba
        chosen = isinstance(share, str)
        self.kernel_share_ = best_share(kernel, examples, *fitted.held()) if chosen else float(share)

    def _mix_kernel(self, proba: NDArray[np.float32], nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the learners' probabilities, [B, C], with the kernel's share in them."""
        if self.kernel_proba_ is None:
            return proba
        share = np.float32(self.kernel_share_)
        return np.asarray((1 - share) * proba + share * self.kernel_proba_[nodes], np.float32)

    def _count_examples(self, counts: GramCounts, examples: tuple[Any, ...]) -> int:
        return len(examples[0])

    def _held(self, learners: Sequence[int], *examples: Any) -> Held:
        first = not hasattr(self, "network_")
        if first:
            self.seed_ = root_seed(self.random_state)
            self._resolve_network(*examples)
        classes, known = self._prepare(*examples)
        if first:
            self._resolve_vectors(len(classes), known, for_kernel=False)
            self.edge_power_ = USUAL_POWER
        shape, run = self._shape(len(classes)), self._runtime()
        with run.threads():
            return self._model(shape).held(run, known, self._options(shape, len(known)), learners)

    # --- predicting ----------------------------------------------------------------------------------

    def predict_proba(self, X: Names) -> NDArray[np.float32]:
        """Return class probabilities, [B, C]; columns as in ``classes_``."""
        nodes, inference = self._inference(X, "predict_proba")
        if not len(nodes):
            return np.zeros((0, len(self.classes_)), np.float32)
        with inference.run.threads():
            return self._mix_kernel(inference.proba(nodes), nodes)

    def predict(self, X: Names) -> NDArray[Any]:
        """Return the most probable class of each node, [B]."""
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])

    def member_proba(self, X: Names) -> NDArray[np.float32]:
        """Return the class probabilities of each member, [L, B, C].

        Members are the learners of a bag; of the other variants, which have one prediction for all learners,
        L draws of relatives through the whole model. The prediction is their mean and the kernel's share.
        """
        nodes, inference = self._inference(X, "member_proba")
        if not len(nodes):
            return np.zeros((self.architecture_.n_learners, 0, len(self.classes_)), np.float32)
        with inference.run.threads():
            return inference.member_proba(nodes)

    def votes(self, X: Names) -> tuple[NDArray[np.float32], NDArray[np.int32] | None]:
        """Return the prediction of each member from one drawn relative [L, B, C], and the nodes drawn [L, B].

        The prediction may average over more draws. Where learners are pooled before the classes a member has
        no relative of its own, and the second is None.
        """
        nodes, inference = self._inference(X, "votes")
        if not len(nodes):
            members = self.architecture_.n_learners
            empty = np.zeros((members, 0, len(self.classes_)), np.float32)
            return empty, None if self.architecture_.is_joint else np.zeros((members, 0), np.int32)
        with inference.run.threads():
            return inference.votes(nodes)

    def embed(self, X: Names) -> NDArray[np.float32]:
        """Return what the classes are read from, averaged over relatives, [B, d'].

        Learners side by side (bag, concat), their mean (pool), one model's (batch), or the narrow layer
        behind the attention (attn).
        """
        nodes, inference = self._inference(X, "embed")
        with inference.run.threads():
            return inference.embed(nodes)

    def entropy(self, X: Names) -> NDArray[np.float64]:
        """Return the entropy of the predicted probabilities in nats, for each node, [B]."""
        proba = self.predict_proba(X).astype(np.float64)
        return np.asarray(-(proba * np.log(np.maximum(proba, 1e-300))).sum(1), np.float64)

    def _inference(self, X: Names, what: str) -> tuple[NDArray[np.int32], Inference]:
        check_is_fitted(self, "ensemble_")
        nodes = check.node_codes(self._owner, self.network_, X, what)
        count = check.draws(self._owner, self.n_draws)
        return nodes, self._predicting().inference(self.ensemble_, self._runtime(), count)
