"""Node classification: deep graph ensembles behind scikit-learn's contract.

In: a higher-order network, names of labelled nodes and their labels. Out: a fitted :class:`DGEClassifier`
that predicts classes, probabilities, what each learner thinks, and how far the learners disagree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.models.ensemble import Architecture, Ensemble
from honlearn.models.examples import Examples
from honlearn.models.inference import Inference
from honlearn.models.path_vectors import Vectors, choose_vectors
from honlearn.models.reading import best_share, read
from honlearn.models.runtime import Runtime
from honlearn.models.training import Problem, Trainer, TrainingOptions
from honlearn.paths.paths import Paths
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import root_seed
from honlearn.tasks import parameters as check
from honlearn.tasks.fitting import EnsembleEstimator, MakeTrainer, Schedule, judged, of_members
from honlearn.tasks.held import Held
from honlearn.tasks.powers import USUAL, choose_power


class DGEClassifier(EnsembleEstimator):
    """Classifies the entities of a higher-order network with an ensemble of graph neural networks.

    Parameters are flat keywords, though there are many, so that ``GridSearchCV``, ``set_params`` and the
    command line's ``--set key=value`` reach each of them; inside they travel as two frozen dataclasses.

    Ensemble: `variant` is ``"bag"`` (Eq. 5c), ``"pool"`` (5b), ``"concat"`` (5a), ``"attn"`` (appendix; with
    `n_heads` heads) or ``"batch"``; `shared` trains one set of weights for all learners (the paper's ``*``;
    batch always does); `n_learners` is ℓ.

    Learners: `aggregator` is ``"mean"``, ``"max"`` or ``"gin"``; `widths` has one number for each layer;
    `fan_outs` None reads whole neighbourhoods, a sequence samples that many in- and out-neighbours at each
    depth. A neighbour counts by its edge's weight to `edge_power`: the paper's 1 lets a few heavy edges drown
    the rest, 0 forgets the weights, and 0.5 did better than 1 on every data set that we validated on;
    ``"auto"`` chooses among 0, 0.25, 0.5 and 1 on what a few learners hold back (``edge_power_`` tells, and
    ``power_results_`` what was tried).
    `normalize` scales representations to length 1 before the classes, as the published program does.
    `features` are optional numbers for each entity ([V, F], dense or sparse, rows as in
    ``network.vocabulary``, or a DataFrame indexed by name), beside `identity` features or alone.
    `echo` lets a labelled node hear who it is, as published: it then learns its own name by heart, which says
    nothing of nodes without a label (:class:`honlearn.models.neighborhoods.Echo`).

    Paths: `path_features` is how many numbers of each entity stand beside these at most, made of the steps
    that the network remembers (:func:`honlearn.hon.embedding.path_embedding`); which steps, and how many
    numbers, is chosen for the task. `kernel_share` is the share of the answer that a kernel regression on
    them has beside the learners (:mod:`honlearn.models.reading`); ``"auto"`` chooses it on what learners hold
    back, ``kernel_share_`` tells. With 0 for both, the network alone speaks of the paths.

    Structure: `network` may also be paths (:class:`honlearn.Paths`) or their counts
    (:func:`honlearn.count_grams`). Then `order`, `tau` and `min_support` say which network is grown from
    them; those that are None or ``"auto"`` are chosen for the task, on validation parts inside the training
    data (:mod:`honlearn.tasks.structure`). ``network_`` is the network, ``search_results_`` what was tried.

    Training: Adam with `learning_rate` and `weight_decay` on batches of `batch_size` (None: an eighth of the
    nodes, 16 to 512). `input_dropout` drops neighbours (with features alone: their elements),
    `hidden_dropout` hidden numbers. At most `max_epochs`, ended after `patience` epochs without a better loss
    on a stratified `validation_fraction`; in a bag each learner has a validation part and a best epoch of
    its own. Then all is trained anew on all nodes for `refit` times the best number of epochs (an ensemble
    gains from learners that are trained past their own best); with 0 the best epoch is restored instead.
    A `validation_fraction` of 0 trains `max_epochs`. `class_weight` is None, ``"balanced"`` or a mapping.
    `checkpoint` names a file that is written every `checkpoint_seconds`; a `fit` that finds it goes on from
    there to the same result, and removes it when done.

    Inference: each member averages over `n_draws` draws of relatives, or over ``"all"`` relatives weighted
    by Eq. 3. `device` is ``"cpu"``, ``"cuda"`` or ``"mps"``; `n_threads` None uses all cores; `random_state`
    decides every random choice; `verbose` None shows progress on a terminal.

    >>> from honlearn.hon.edgelist import from_edges
    >>> near = [(f"{s}{i}", f"{s}{j}") for s in "ab" for i in range(6) for j in range(6) if i != j]
    >>> hon = from_edges(*zip(*near))
    >>> names = list(hon.vocabulary)
    >>> clf = DGEClassifier(hon, n_learners=4, widths=(9, 9), random_state=0)
    >>> clf = clf.fit(names[1:-1], [name[0] for name in names[1:-1]])
    >>> clf.predict(["a0", "b5"]).tolist(), clf.member_proba(["a0"]).shape
    (['a', 'b'], (4, 1, 2))
    """

    def __init__(
        self,
        network: HigherOrderNetwork | GramCounts | Paths,
        variant: str = "bag",
        shared: bool = False,
        n_learners: int = 16,
        aggregator: str = "mean",
        widths: int | Sequence[int] = (128, 128),
        fan_outs: Sequence[int] | None = None,
        edge_power: float | str = 0.5,
        normalize: bool = True,
        features: Any = None,
        identity: bool = True,
        n_heads: int = 5,
        echo: bool = False,
        path_features: int = 64,
        kernel_share: float | str = "auto",
        order: int | str | None = None,
        tau: float | str | None = None,
        min_support: int | str | None = None,
        learning_rate: float = 0.01,
        batch_size: int | None = None,
        max_epochs: int = 100,
        patience: int = 5,
        validation_fraction: float = 0.15,
        refit: float = 1.4,
        input_dropout: float = 0.6,
        hidden_dropout: float = 0.6,
        weight_decay: float = 0.0,
        class_weight: Any = None,
        n_draws: int | str = "all",
        device: str = "cpu",
        n_threads: int | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_seconds: float = 60.0,
        random_state: int | np.random.Generator | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.network = network
        self.variant = variant
        self.shared = shared
        self.n_learners = n_learners
        self.aggregator = aggregator
        self.widths = widths
        self.fan_outs = fan_outs
        self.edge_power = edge_power
        self.normalize = normalize
        self.features = features
        self.identity = identity
        self.n_heads = n_heads
        self.echo = echo
        self.path_features = path_features
        self.kernel_share = kernel_share
        self.order = order
        self.tau = tau
        self.min_support = min_support
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.input_dropout = input_dropout
        self.hidden_dropout = hidden_dropout
        self.weight_decay = weight_decay
        self.class_weight = class_weight
        self.n_draws = n_draws
        self.device = device
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.random_state = random_state
        self.verbose = verbose

    # --- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DGEClassifier:
        """Train on the nodes named in X with labels y; other nodes of the network take part unlabelled."""
        self.seed_ = root_seed(self.random_state)
        self._settle_network(X, y, sample_weight)
        classes, shape, options, examples = self._prepared(X, y, sample_weight)
        share = check.kernel_share(self._given()["kernel_share"])
        vectors = self._settle_vectors(shape, examples)
        self._one_step = None
        self._settle_power(X, y, sample_weight)
        make, run = self._trainers(shape, examples)
        with run.threads():
            state, trainers = self._train_twice(make, options)
            self._settle_reading(share, vectors, trainers[0])
        self.classes_ = classes
        self._remember(shape, state, trainers, options.checkpoint)
        return self

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[NDArray[Any], Architecture, TrainingOptions, Examples]:
        """Return the classes, and what parameters and arguments come to, all of it checked."""
        given, network = self._given(), self.network_
        nodes = check.node_codes(network, X, "fit")
        classes, codes = check.class_codes(y, len(nodes))
        weights = check.example_weights(given["class_weight"], sample_weight, classes, codes)
        shape, options = self._checked(classes, len(nodes))
        return classes, shape, options, Examples(nodes, codes, weights)

    def _checked(self, classes: NDArray[Any], n_nodes: int) -> tuple[Architecture, TrainingOptions]:
        """Return what the parameters alone come to, for a fit or for a model that was loaded."""
        given = self._given()
        check.path_features(given["path_features"])
        shape = check.architecture(given, len(classes), self.network_.n_entities)
        options = check.training_options(given, n_nodes)
        check.example_weights(given["class_weight"], None, classes, np.arange(len(classes)))
        check.draws(given["n_draws"])
        check.kernel_share(given["kernel_share"])
        check.edge_power(self.edge_power)
        check.refit(given["refit"])
        if given["fan_outs"] is not None:
            check.check_fan_outs(given["fan_outs"], len(shape.widths))
        return shape, options

    def _settle_vectors(self, shape: Architecture, examples: Examples, reads: bool = True) -> Vectors | None:
        """Set the numbers of paths that learners read; return the kernel's, None where nobody reads any."""
        given = self._given()
        count = check.path_features(given["path_features"])
        if not count and not (reads and given["kernel_share"]):
            return None
        learned, read = choose_vectors(self.network_, examples, shape.n_classes, self.seed_, self._one_step)
        self.path_vectors_ = learned.first(count) if count else None
        return read

    def _settle_power(self, *examples: Any) -> None:
        """Set the power that weights of edges are taken to: the one given, or the best for these examples."""
        given = self._given()
        chosen = check.edge_power(given["edge_power"])

        def judge(power: float, learners: range) -> Held:
            one = self._judge(edge_power=power)
            one.seed_, one.network_, one.path_vectors_ = self.seed_, self.network_, self.path_vectors_
            return one._held(learners, *examples)

        if chosen is None:
            ledger = self._ledger("power", examples)
            chosen, self.power_results_ = choose_power(
                judge, len(examples[0]), given["n_learners"], self.verbose, ledger
            )
        self.edge_power_ = chosen

    def _settle_reading(self, share: float | None, vectors: Vectors | None, trainer: Trainer) -> None:
        """Set what the kernel says of every entity, and its share, chosen on what learners held back."""
        self.kernel_share_, self.kernel_proba_ = 0.0, None
        if vectors is None or share == 0:
            return
        examples = trainer.problem.examples
        reading = read(vectors.numbers, examples, trainer.shape.n_classes, self.seed_)
        self.kernel_proba_ = reading.proba
        if share is None:
            share = best_share(reading, examples, *trainer.held_chance())
        self.kernel_share_ = share

    def _spoken(self, proba: NDArray[np.float32], nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return what learners say together, [B, C], with the kernel's share in it."""
        if self.kernel_proba_ is None:
            return proba
        share = np.float32(self.kernel_share_)
        return np.asarray((1 - share) * proba + share * self.kernel_proba_[nodes], np.float32)

    def _trainers(
        self, shape: Architecture, examples: Examples, learners: Sequence[int] | None = None
    ) -> tuple[MakeTrainer, Runtime]:
        """Return what makes trainers of the ensemble, or of some of its learners, and where they run."""
        learners = range(shape.n_learners) if learners is None else learners
        near = check.neighborhood(self.network_, shape, self._given())
        run, features = Runtime(self.device, self.n_threads), self._inputs()
        problem = Problem(near, self._sampler(), examples, self.seed_, learners)

        def make(options: TrainingOptions, schedule: Schedule, phase: str) -> Trainer:
            ensemble = Ensemble(shape, self.seed_, learners, features)
            mark = self._fingerprint(phase, examples.arrays())
            return Trainer(ensemble, problem, options, run, schedule, mark)

        return make, run

    def _count_examples(self, counts: GramCounts, examples: tuple[Any, ...]) -> int:
        return len(examples[0])

    def _held(self, learners: Sequence[int], *examples: Any) -> Held:
        first = not hasattr(self, "network_")
        if first:
            self.seed_ = root_seed(self.random_state)
            self._settle_network(*examples)
        _, shape, options, known = self._prepared(*examples)
        if first:
            self._settle_vectors(shape, known, reads=False)
            power = check.edge_power(self._given()["edge_power"])
            self.edge_power_ = USUAL if power is None else power
        # Structure is judged by learners on their own, however the ensemble will pool them.
        make, run = self._trainers(dataclasses.replace(shape, variant="bag", shared=False), known, learners)
        with run.threads():
            return judged(make(options, None, "structure"))

    def _sampler(self) -> RelativeSampler:
        """Return what says which node of an entity's family stands for it."""
        return RelativeSampler(self.network_)

    # --- predicting ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return class probabilities, [B, C]; columns as in ``classes_``."""
        nodes, inference = self._inference(X, "predict_proba")
        if not len(nodes):
            return np.zeros((0, len(self.classes_)), np.float32)
        with inference.run.threads():
            return self._spoken(inference.proba(nodes), nodes)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each node, [B]."""
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])

    @of_members
    def member_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the class probabilities of each member, [L, B, C].

        Members are the learners of a bag; of the other variants, which have one prediction for all learners,
        L draws of relatives through the whole model. The prediction is their mean and the kernel's share.
        """
        nodes, inference = self._inference(X, "member_proba")
        if not len(nodes):
            return np.zeros((self.architecture_.n_learners, 0, len(self.classes_)), np.float32)
        with inference.run.threads():
            return inference.member_proba(nodes)

    @of_members
    def votes(self, X: Any) -> tuple[NDArray[np.float32], NDArray[np.int32] | None]:
        """Return what each member says from one drawn relative [L, B, C], and the nodes drawn [L, B].

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

    def embed(self, X: Any) -> NDArray[np.float32]:
        """Return what the classes are read from, averaged over relatives, [B, d'].

        Learners side by side (bag, concat), their mean (pool), one model's (batch), or the narrow layer
        behind the attention (attn).
        """
        nodes, inference = self._inference(X, "embed")
        with inference.run.threads():
            return inference.embed(nodes)

    def entropy(self, X: Any) -> NDArray[np.float64]:
        """Return the entropy of the predicted probabilities in nats, for each node, [B]."""
        proba = self.predict_proba(X).astype(np.float64)
        return np.asarray(-(proba * np.log(np.maximum(proba, 1e-300))).sum(1), np.float64)

    def _inference(self, X: Any, what: str) -> tuple[NDArray[np.int32], Inference]:
        check_is_fitted(self, "ensemble_")
        nodes = check.node_codes(self.network_, X, what)
        near = check.neighborhood(self.network_, self.architecture_, self._given())
        run, sampler = Runtime(self.device, self.n_threads), self._sampler()
        count = check.draws(self._given()["n_draws"])
        return nodes, Inference(self.ensemble_, near, sampler, self.seed_, run, count)
