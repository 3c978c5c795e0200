"""Link prediction: deep graph ensembles that say how likely an edge between two entities is.

In: a higher-order network, paths where there are any, and pairs with labels or nothing. Out: a fitted
:class:`DGELinkPredictor` that scores pairs, gives the prediction of each member, and recommends new
neighbours with their evidence.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from honlearn.ensemble.count_model import CountModel
from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.growing_bag import forget_rounds
from honlearn.ensemble.learner_training import Searched
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.pair_inference import PairInference
from honlearn.ensemble.pair_inputs import FEATURES, PairSource, Scaling
from honlearn.ensemble.pair_model import PairModel, PairPlan
from honlearn.ensemble.pairs import PairArchitecture, PairEnsemble
from honlearn.errors import InputError, listed
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.paths import read_paths
from honlearn.paths.paths import Paths
from honlearn.sampling.lags import Lags
from honlearn.sampling.pairs import Pairs as PairCodes
from honlearn.sampling.pairs import PairSampler
from honlearn.sampling.paths_within import paths_within
from honlearn.seeds import root_seed
from honlearn.tasks import link_parameters as check_links
from honlearn.tasks import parameters as check
from honlearn.tasks.choice import Candidate
from honlearn.tasks.count_share import count_part
from honlearn.tasks.estimator import EnsembleEstimator
from honlearn.tasks.fit_facts import Clock
from honlearn.tasks.inputs import Labels, NamePairs
from honlearn.tasks.link_examples import HeldPairs, LinkExamples, link_examples
from honlearn.tasks.link_questions import LinkQuestions
from honlearn.tasks.link_split import hide_pairs
from honlearn.tasks.nested import as_learners, refuse_old
from honlearn.tasks.pair_calibration import Calibration
from honlearn.tasks.settings import Pairs, Structure, Training


class DGELinkPredictor(LinkQuestions, EnsembleEstimator):
    """Predicts links between the entities of a higher-order network with an ensemble of neural networks.

    Parameters
    ----------
    network, learner, variant, shared, n_heads, features, training, structure
        As for :class:`honlearn.DGEClassifier`. Where a network is grown from paths or counts and links are
        tested, the tested links must be left out of the paths.
    n_learners : int, default 16
        How many learners there are at most. A bag is trained two learners (of each kind) at a time, until
        two more improve its loss on the validation pairs by no more than the standard error of that gain, or
        by less than half a percent; ``n_learners_`` is how many there are then. Other variants have as many
        as this says.
    pairs : Pairs, optional
        What is read of two ends, whether order counts, how relatives of a pair are drawn, what is hidden.
    paths : Paths, lists of names or a file, optional
        The paths that the network is from: how often v follows u two to four steps later is read from them.
        They are cut at every step that the network does not have, such as a tested one. Where `network` is
        paths, they are these; without any, what the network expects two to four steps later stands for it.
    n_draws, n_threads, random_state, verbose, executor
        As for :class:`honlearn.DGEClassifier`; over ``"all"`` relatives either end is its expected
        representation under Eq. 3.
    **old
        Keywords of version 0.1 that are parameters of objects now; the error says where each one is.

    Attributes
    ----------
    count_model_
        Logistic regression on the counts of a pair: ``coefficients`` of the standardised
        :class:`~honlearn.sampling.pair_counts.PairCounts`, ``intercept``, and its ``share`` of the
        prediction. None where there is none.
    members_
        A table of the learners and the count model, with weights.
    calibration_
        Turns a predicted probability into one among all pairs of entities.
    n_learners_
        How many learners there are.

    Examples
    --------
    >>> from honlearn import Training
    >>> from honlearn.hon.edgelist import from_edges
    >>> from honlearn.learners import SAGE
    >>> ring = [(f"{s}{i}", f"{s}{(i + k) % 8}") for s in "ab" for i in range(8) for k in (1, 2, 3)]
    >>> hon = from_edges(*zip(*ring), [1] * len(ring))
    >>> lp = DGELinkPredictor(hon, SAGE(widths=(12, 12)), 4, training=Training(max_epochs=30), random_state=0)
    >>> lp = lp.fit()
    >>> lp.predict_proba([("a0", "a1"), ("a0", "b1")]).shape, lp.recommend("a0", top=3).columns.tolist()[:3]
    ((2, 2), ['neighbor', 'probability', 'q_value'])
    """

    task: ClassVar[str] = "links"
    ensemble_: PairEnsemble
    calibration_: Calibration
    unlinked_scores_: NDArray[np.float32]
    n_learners_: int
    count_model_: CountModel | None = None
    _fitted_model: PairModel
    _scaling: Scaling | None = None
    # Lags of the paths of a model that was loaded.
    _lags: Lags | None = None
    _kept_source: PairSource | None = None
    parameter_objects: ClassVar[Mapping[str, type]] = {
        "training": Training,
        "structure": Structure,
        "pairs": Pairs,
    }
    # With a lower rate learners learn the training pairs by heart: their loss on validation pairs rises.
    learner_defaults: ClassVar[Mapping[str, Any]] = {"input_dropout": 0.8}

    def __init__(
        self,
        network: HigherOrderNetwork | GramCounts | Paths,
        learner: str | Learner | Sequence[str | Learner] = "sage",
        n_learners: int = 16,
        variant: str = "bag",
        shared: bool = False,
        n_heads: int = 5,
        features: Any = None,
        pairs: Pairs | None = None,
        paths: Any = None,
        training: Training | None = None,
        structure: Structure | None = None,
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
        self.pairs = pairs
        self.paths = paths
        self.training = training
        self.structure = structure
        self.n_draws = n_draws
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose
        self.executor = executor

    # --- fitting -------------------------------------------------------------------------------------

    def fit(
        self, X: NamePairs | None = None, y: Labels | None = None, *, exclude: NamePairs | None = None
    ) -> DGELinkPredictor:
        """Train on given pairs, or on pairs of the network itself.

        Parameters
        ----------
        X : list of pairs of names, optional
            Pairs [n, 2] to train on. Without them every linked pair is trained on, and as many pairs that
            are not linked.
        y : list of 0 and 1, optional
            Whether each pair of X is linked.
        exclude : list of pairs of names, optional
            Pairs that are held out for a test: they and their ways back are no examples of either kind.
        """
        clock = Clock()
        self.seed_ = root_seed(self.random_state)
        for name in ("_lags", "_scaling", "_kept_source", "n_learners_", "count_model_"):
            self.__dict__.pop(name, None)
        # Pairs are read more than once, which an iterator does not survive.
        X, exclude = (list(pairs) if isinstance(pairs, Iterator) else pairs for pairs in (X, exclude))
        with self._on_executor():
            self._resolve_network(X, y, exclude)
            given = self._prepare(X, y, exclude)
            shape, run = self._shape(), self._runtime()
            options = self._options(shape, len(given.balanced))
            with run.threads():
                trained = given.trained(self._source(), self._reads, self.seed_)
                mark = lambda phase: self._fingerprint(phase, trained.arrays())  # noqa: E731
                plan = PairPlan(run, trained.examples, trained.unlinked, options, mark, self._workers)
                fitted, self.n_learners_ = self._model(shape).fit(plan, grows=bool(self._reads.folds))
        self.__dict__.pop("_choice", None)
        self.classes_ = np.array([0, 1])
        self.n_linked_ = int(given.balanced.labels.sum())
        self._scaling = trained.scaling
        share = self._reads.count_share
        counts = count_part(trained.examples, fitted.held, share, self.seed_)
        self.count_model_, held = counts.model, HeldPairs.of(trained, fitted.held, counts.held)
        self.calibration_ = held.calibration(given.share(self.network_.n_entities))
        self.unlinked_scores_ = held.unlinked_scores(self.seed_)
        forget_rounds(shape, options)
        self._remember(dataclasses.replace(shape, n_learners=self.n_learners_), fitted, options)
        self.fit_facts_ = clock.facts("pairs", given.balanced.labels, given.balanced.pairs)
        return self

    @property
    def _reads(self) -> Pairs:
        """How pairs are read."""
        out: Pairs = self.parameter_object("pairs")
        return out

    def _prepare(self, X: NamePairs | None, y: Labels | None, exclude: NamePairs | None) -> LinkExamples:
        """Return the pairs to train on; every parameter is checked, before anything is searched for."""
        self._reads.check(self._owner)
        shape = self._shape()
        check.draws(self._owner, self.n_draws)
        given = link_examples(self._owner, self.network_, X, y, exclude, self._reads.directed, self.seed_)
        self._options(shape, len(given.balanced))
        return given

    def _shape(self) -> PairArchitecture:
        reads = self._reads
        base = check.architecture(self._owner, self, 2, self.network_.n_entities, self._kinds())
        return PairArchitecture(
            **{field.name: getattr(base, field.name) for field in dataclasses.fields(base)},
            operator=reads.operator,
            pair_width=reads.width,
            directed=bool(reads.directed),
            n_features=len(FEATURES) if reads.counts else 0,
            common_width=int(reads.common),
        )

    def _saved_shape(self) -> PairArchitecture:
        """Return the shape of a model that was loaded; its parameters are checked as in a fit."""
        if self.classes_.tolist() != [0, 1]:
            got = listed(self.classes_.tolist(), 5)
            raise InputError(f"the classes of links are 0 and 1. Got {got} instead")
        self._reads.check(self._owner)
        check.draws(self._owner, self.n_draws)
        shape = self._shape()
        self._options(shape, 1)
        return dataclasses.replace(shape, n_learners=self.n_learners_)

    def _kinds(self) -> tuple[Learner, ...]:
        """Return the kinds of learner, resolved and checked, with this estimator's own defaults."""
        kinds = [clone(one) for one in as_learners(self._owner, self.learner, self.default_learner)]
        for one in kinds:
            usual = self.learner_defaults.items()
            one.set_params(**{name: value for name, value in usual if getattr(one, name) is None})
        if isinstance(self.learner, str) and self.learner == "auto":
            return super()._kinds()
        return check.learners(self._owner, kinds, self.default_learner, self.task, self._has_features)

    def _options(
        self, shape: Architecture, n_examples: int, training: Training | None = None
    ) -> list[TrainingOptions]:
        """Return the training options of each kind; with folds, a batch is a fold unless the user says.

        Folds are not all of one size: batches have room for a tenth more, so that none is cut in two.
        """
        if not self._reads.folds:
            return super()._options(shape, n_examples, training)
        training = self.parameter_object("training") if training is None else training
        usual = {"n_batches": self._reads.folds, "max_epochs": 40}
        given, n_examples = (self._owner, self.task), n_examples + n_examples // 10
        return [training.options(*given, kind, n_examples, self.verbose, usual) for kind in shape.kinds]

    def _read_paths(self) -> Paths | None:
        """Return the paths, cut at every step that the network does not have, such as a tested one."""
        given = self.network if self.paths is None and isinstance(self.network, Paths) else self.paths
        return None if given is None else paths_within(read_paths(given), self.network_)

    def _source(self) -> PairSource | None:
        """Return what pairs read beside their ends, None where they read nothing and nothing is in folds."""
        reads = self._reads
        if not reads.folds:
            return None
        # Lags and counts of a network are counted once in a fit.
        if self._kept_source is not None and self._kept_source.network is self.network_:
            return self._kept_source
        self._kept_source = PairSource(
            self.network_,
            self._read_paths(),
            partial(PairSampler, directed=bool(reads.directed)),
            bool(reads.counts),
            bool(reads.common),
            self._lags,
        )
        return self._kept_source

    def _model(self, shape: PairArchitecture) -> PairModel:
        """Return what is trained: the ensemble over pairs of the network that was given or chosen."""
        reads, network = self._reads, self.network_
        given = (network, PairSampler(network, reads.directed), shape, self._inputs(), self.seed_)
        hidden = (hide_pairs, bool(reads.hide_own), reads.draw == "joint")
        return PairModel(*given, *hidden, self._source(), self._scaling, self.count_model_)

    def _fingerprint(
        self, phase: str, examples: Iterable[NDArray[Any]], networks: Sequence[HigherOrderNetwork] = ()
    ) -> str:
        source = self._source()
        paths = None if source is None else source.paths
        more: list[NDArray[Any]] = [] if paths is None else [paths.codes, paths.offsets]
        if paths is not None and paths.counts is not None:
            more.append(paths.counts)
        return super()._fingerprint(phase, [*examples, *more], networks)

    def _count_examples(self, examples: tuple[Any, ...]) -> int:
        given, reads = self._prepare(*examples), self._reads
        return len(given.pooled(reads, self.seed_)[0] if reads.folds else given.balanced)

    def _search(
        self, examples: tuple[Any, ...], candidate: Candidate, learners: Sequence[int]
    ) -> list[Searched]:
        self.network_ = candidate.network
        given = self._prepare(*examples)
        shape, run = self._shape(), self._runtime()
        options = self._options(shape, len(given.balanced), self._judging())
        with run.threads():
            trained = given.trained(self._source(), self._reads, self.seed_)
            plan = PairPlan(run, trained.examples, trained.unlinked, options, workers=self._workers)
            return self._model(shape).search(plan, learners)

    # --- predicting ----------------------------------------------------------------------------------

    def predict_proba(self, X: NamePairs) -> NDArray[np.float32]:
        """Return the probabilities that each pair is not, and is, linked: [B, 2], as in ``classes_``.

        They are those of pairs as they are trained on, half of them linked; :meth:`recommend` gives
        probabilities among all pairs of entities, and ``calibration_`` turns one into the other.

        Parameters
        ----------
        X : list of pairs of names
            The two ends of each pair, source first.
        """
        pairs, inference = self._inference(X, "predict_proba")
        if not len(pairs):
            return np.zeros((0, 2), np.float32)
        with inference.run.threads():
            return inference.proba(pairs)

    def _codes_proba(self, pairs: PairCodes) -> NDArray[np.float32]:
        """Return the probability [B] of a link of pairs of entity codes [B, 2], without a look at names."""
        _, inference = self._inference([], "predict_proba")
        with inference.run.threads():
            return inference.link_proba(check_links.in_order(pairs, self._reads.directed))

    def predict(self, X: NamePairs) -> NDArray[Any]:
        """Return 1 for each pair that is more likely linked than not, else 0: [B].

        Parameters
        ----------
        X : list of pairs of names
            The two ends of each pair, source first.
        """
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def member_proba(self, X: NamePairs) -> NDArray[np.float32]:
        """Return the probabilities of each member, [L, B, 2]; for members see ``DGEClassifier``.

        The count model is no member.

        Parameters
        ----------
        X : list of pairs of names
            The two ends of each pair, source first.
        """
        pairs, inference = self._inference(X, "member_proba")
        if not len(pairs):
            return np.zeros((self.architecture_.n_learners, 0, 2), np.float32)
        with inference.run.threads():
            return inference.member_proba(pairs)

    def _on_network(self, network: HigherOrderNetwork) -> DGELinkPredictor:
        """Return the same learners, reading another network of the same entities."""
        twin = copy.copy(self)
        twin.network_ = network
        twin._fitted_model = twin._model(self.architecture_)
        return twin

    def _inference(self, X: NamePairs, what: str) -> tuple[PairCodes, PairInference]:
        check_is_fitted(self, "ensemble_")
        codes = check_links.pair_codes(self._owner, self.network_, X, what)
        count = check.draws(self._owner, self.n_draws)
        self._fitted_model = self._predicting(self._fitted_model, joint=self._reads.draw == "joint")
        inference = self._fitted_model.inference(self.ensemble_, self._runtime(), count)
        return check_links.in_order(codes, self._reads.directed), inference
