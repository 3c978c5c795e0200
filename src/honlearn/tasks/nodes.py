"""Node classification: deep graph ensembles behind scikit-learn's contract.

In: a higher-order network, names of labelled nodes and their labels. Out: a fitted :class:`DGEClassifier`
that predicts classes, probabilities, the prediction of each member, and how far members disagree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from honlearn.ensemble.ensemble import Architecture, Ensemble
from honlearn.ensemble.inference import Inference
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.paths.paths import Paths
from honlearn.tasks import parameters as check
from honlearn.tasks.calibrated import entropy
from honlearn.tasks.component import Component, members_table, mixed_proba
from honlearn.tasks.fit_facts import Clock
from honlearn.tasks.held_scores import held_scores, held_set_scores
from honlearn.tasks.inputs import Labels, Names, Weights
from honlearn.tasks.nested import AUTO, refuse_old
from honlearn.tasks.node_fit import NodeFitting
from honlearn.tasks.settings import PathKernel, Structure, Training
from honlearn.tasks.temperature import tempered

if TYPE_CHECKING:
    import pandas

    from honlearn.tasks.explain.value import Explanation


class DGEClassifier(NodeFitting):
    """Classifies the entities of a higher-order network with an ensemble of graph neural networks.

    Parameters
    ----------
    network : HigherOrderNetwork, GramCounts or Paths
        The network to train on. Of paths (:func:`honlearn.read_paths`) or their counts
        (:func:`honlearn.count_grams`) a network is grown, as `structure` says.
    learner : str, Learner or list of these, default "auto"
        The graph neural network. ``"auto"`` selects kinds of learner, networks (first order and the one
        given or grown), edge powers and their shares on held-back predictions, which costs several
        times a plain fit; it is for bags, the other variants take ``"sage"``. One kind is named as
        ``"sage"``, ``"gin"``, ``"gcn"``, ``"gcnii"``, ``"gat"``, ``"gatv2"``, or an object of
        :mod:`honlearn.learners` with parameters of its own; ``TorchLearner(make)`` takes any module of
        PyTorch. Of several, learner i is of kind i modulo their number.
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
    executor : int, str or concurrent.futures.Executor, optional
        Where the learners of a bag are trained: on so many local processes, on ``"ray"`` or ``"dask"`` (or
        their addresses), or on an executor of your own; None is this process. Results do not depend on it.
    **old
        Keywords of version 0.1 that are parameters of objects now; the error says where each one is.

    Attributes
    ----------
    classes_, network_, n_parameters_
        The classes, the network trained on, the number of trained numbers.
    history_, best_epochs_
        Losses by epoch, and the number of epochs that each learner was trained.
    members_
        A table of the members: learner, edge power, network, epochs, weight in the prediction.
    kernel_share_, edge_power_, selection_results_
        What was chosen in the fit, and a table of all that was tried.
    temperature_, held_back_
        How far probabilities are sharpened (below 1) or flattened, and what they were for the nodes trained
        on, each by the learners that did not see its label (``held_temperature_`` is the temperature there).

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
    parameter_objects: ClassVar[Mapping[str, type]] = {
        "training": Training,
        "structure": Structure,
        "path_kernel": PathKernel,
    }

    def __init__(
        self,
        network: HigherOrderNetwork | GramCounts | Paths,
        learner: str | Learner | Sequence[str | Learner] = AUTO,
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
        executor: Any = None,
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
        self.executor = executor

    # --- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Names, y: Labels, sample_weight: Weights | None = None) -> DGEClassifier:
        """Train on the nodes named in X with labels y; other nodes of the network take part unlabelled.

        Parameters
        ----------
        X
            Names of labelled entities.
        y
            Their classes.
        sample_weight
            The weight of each example; None is 1 for all.
        """
        clock = Clock()
        self._fit(X, y, sample_weight)
        classes, known = self._prepare(X, y, sample_weight)
        facts, held = clock.facts("nodes", classes[known.labels], known.nodes), self.held_back_.known()
        proba, truth = tempered(held.proba, self.held_temperature_), held.labels
        scores = held_scores(proba, truth) | held_set_scores(proba, truth)
        self.fit_facts_ = replace(facts, scores=scores, notes=self.notes_)
        return self

    def _saved_shape(self) -> Architecture:
        """Return the shape of a model that was loaded; its parameters are checked as in a fit."""
        self._check(len(self.classes_), 1)
        class_weight = self.parameter_object("training").class_weight
        codes = np.arange(len(self.classes_))
        check.example_weights(self._owner, class_weight, None, self.classes_, codes)
        return self._shape(len(self.classes_))

    # --- updating ------------------------------------------------------------------------------------

    def update(self, source: Any, *, features: Any = None, **reader_options: Any) -> DGEClassifier:
        """Return the classifier on an updated network, with entities and contexts that it has not seen.

        Nothing is trained. Entities of the fit keep what was learned of them; new ones are predicted from
        their neighbours and their path vectors (:mod:`honlearn.tasks.update`). This classifier does not
        change.

        Parameters
        ----------
        source : paths, GramCounts or HigherOrderNetwork
            New paths, as :func:`honlearn.read_paths` takes them; the counts of all paths, old and new
            (:meth:`honlearn.GramCounts.update`); or the updated network. New paths are added to the counts
            of a classifier that was fitted on paths or counts, and its networks are grown again by their
            rules. One that was fitted on a network counts them on the contexts that the network has.
        features : array, sparse matrix or DataFrame, optional
            The features of all entities of the updated network, where the classifier reads features.
        **reader_options
            How paths are read: keywords of :func:`honlearn.read_paths`.
        """
        from honlearn.tasks.update import updated

        check_is_fitted(self, "components_")
        return updated(self, source, features, **reader_options)

    # --- what was fitted -----------------------------------------------------------------------------

    @property
    def members_(self) -> pandas.DataFrame:
        """One row for each member: its learner, edge power, network, epochs and weight in the prediction."""
        check_is_fitted(self, "components_")
        return members_table(self.components_, self.kernel_share_)

    @property
    def ensemble_(self) -> Ensemble:
        """The trained learners; of several components, those of the first."""
        return self._first.ensemble

    @property
    def architecture_(self) -> Architecture:
        """The shape of the ensemble; of several components, that of the first."""
        return self._first.model.shape

    @property
    def _first(self) -> Component:
        if "components_" not in vars(self):
            raise AttributeError(f"{self._owner} is not fitted yet")
        return self.components_[0]

    @property
    def _n_members(self) -> int:
        return sum(one.n_members for one in self.components_)

    # --- predicting ----------------------------------------------------------------------------------

    def predict_proba(self, X: Names) -> NDArray[np.float32]:
        """Return class probabilities, [B, C]; columns as in ``classes_``.

        Parameters
        ----------
        X
            Names of entities, one for each row of the result.
        """
        nodes, inferences = self._inferences(X, "predict_proba")
        if not len(nodes):
            return np.zeros((0, len(self.classes_)), np.float32)
        with inferences[0].run.threads():
            proba = mixed_proba(self.components_, inferences, nodes)
        if self.kernel_proba_ is not None:
            share = np.float32(self.kernel_share_)
            proba = np.asarray((1 - share) * proba + share * self.kernel_proba_[nodes], np.float32)
        return tempered(proba, self.temperature_)

    def predict(self, X: Names) -> NDArray[Any]:
        """Return the most probable class of each node, [B].

        Parameters
        ----------
        X
            Names of entities, one for each row of the result.
        """
        best = self.predict_proba(X).argmax(1)
        return np.asarray(self.classes_[best])

    def member_proba(self, X: Names) -> NDArray[np.float32]:
        """Return the class probabilities of each member, [L, B, C].

        Members are the learners of a bag; of the other variants, which have one prediction for all learners,
        L draws of relatives through the whole model. The prediction is their mean, weighted as ``members_``
        tells, and the kernel's share, at the temperature ``temperature_``.

        Parameters
        ----------
        X
            Names of entities, one for each row of the result.
        """
        nodes, inferences = self._inferences(X, "member_proba")
        if not len(nodes):
            return np.zeros((self._n_members, 0, len(self.classes_)), np.float32)
        with inferences[0].run.threads():
            return np.concatenate([inference.member_proba(nodes) for inference in inferences])

    def votes(self, X: Names) -> tuple[NDArray[np.float32], NDArray[np.int32] | None]:
        """Return the prediction of each member from one drawn relative [L, B, C], and the nodes drawn [L, B].

        The prediction may average over more draws. Where learners are pooled before the classes a member has
        no relative of its own, and the second is None; so it is where members read two networks with memory.
        Nodes are those of ``network_``; a member that reads the first-order network draws base nodes, which
        have the same numbers there.

        Parameters
        ----------
        X
            Names of entities, one for each row of the result.
        """
        nodes, inferences = self._inferences(X, "votes")
        if not len(nodes):
            empty = np.zeros((self._n_members, 0, len(self.classes_)), np.float32)
            return empty, None if self.architecture_.is_joint else np.zeros((self._n_members, 0), np.int32)
        with inferences[0].run.threads():
            parts = [inference.votes(nodes) for inference in inferences]
        votes = np.concatenate([each for each, _ in parts])
        drawn = [relatives for _, relatives in parts if relatives is not None]
        higher = {id(one.model.network) for one in self.components_ if one.model.network.n_conditional}
        return votes, np.concatenate(drawn) if drawn and len(higher) < 2 else None

    def embed(self, X: Names) -> NDArray[np.float32]:
        """Return what the classes are read from, averaged over relatives, [B, d'].

        Learners side by side (bag, concat), their mean (pool), one model's (batch), or the narrow layer
        behind the attention (attn).

        Parameters
        ----------
        X
            Names of entities, one for each row of the result.
        """
        nodes, inferences = self._inferences(X, "embed")
        if not len(nodes):
            # The width is known of a representation alone.
            return self.embed([self.network_.vocabulary[0]])[:0]
        with inferences[0].run.threads():
            return np.concatenate([inference.embed(nodes) for inference in inferences], axis=1)

    def entropy(self, X: Names) -> NDArray[np.float64]:
        """Return the entropy of the predicted probabilities in nats, for each node, [B].

        Parameters
        ----------
        X
            Names of entities, one for each row of the result.
        """
        return entropy(self.predict_proba(X).astype(np.float64))

    # --- explaining ----------------------------------------------------------------------------------

    def explain(
        self, node: object, label: object = None, *, paths: Paths | None = None, top: int = 5
    ) -> Explanation:
        """Return why a node has its prediction: which memories, neighbours and paths moved it, by how much.

        The prediction is that over all relatives and whole neighbourhoods (``n_draws="all"``).

        Parameters
        ----------
        node
            The name of an entity.
        label
            The class whose probability is explained; None for the most probable one.
        paths
            Observed paths; without them, support is counted in the network.
        top
            How many memories, neighbours and paths are told one by one, the others together. The
            values of those that are told do not depend on it up to 5; above, more of them are players. They
            are exact up to 7, and means over sampled orders above.

        Examples
        --------
        >>> from honlearn.hon.edgelist import from_edges
        >>> near = [(f"{s}{i}", f"{s}{j}") for s in "ab" for i in range(4) for j in range(4) if i != j]
        >>> clf = DGEClassifier(from_edges(*zip(*near)), "sage", n_learners=2, random_state=0)
        >>> clf = clf.fit(["a1", "a2", "b1", "b2"], ["a", "a", "b", "b"])
        >>> found = clf.explain("a0", "a")
        >>> sorted(one.name for one in found.of_kind("neighbor")), found.references[0].name
        (['a1', 'a2', 'a3'], 'without neighbours')
        """
        return self.explanations([node], label, paths=paths, top=top)[0]

    def explanations(
        self, X: Names, label: object = None, *, paths: Paths | None = None, top: int = 5
    ) -> list[Explanation]:
        """Return :meth:`explain` for many nodes, computed together.

        Parameters
        ----------
        X : list of names
            The nodes.
        label, paths, top
            As for :meth:`explain`, the same for all nodes.
        """
        from honlearn.tasks.explain.classifier import explain_nodes

        check_is_fitted(self, "components_")
        return list(explain_nodes(self, X, label, paths, top, "explain"))

    def _inferences(self, X: Names, what: str) -> tuple[NDArray[np.int32], list[Inference]]:
        """Return the codes of these nodes, and what predicts with each component."""
        check_is_fitted(self, "components_")
        nodes = check.node_codes(self._owner, self.network_, X, what)
        count, run = check.draws(self._owner, self.n_draws), self._runtime()
        if len(self.components_) == 1 and not self._is_auto():
            self._first.model = self._predicting(self._first.model)
        return nodes, [one.model.inference(one.ensemble, run, count) for one in self.components_]
