"""Link prediction: deep graph ensembles that say how likely an edge between two entities is.

In: a higher-order network, and pairs with labels or nothing. Out: a fitted :class:`DGELinkPredictor` that
scores pairs, gives the prediction of each member, and recommends new neighbours.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from honlearn.ensemble.fitting import Searched
from honlearn.ensemble.pair_inference import PairInference
from honlearn.ensemble.pair_model import PairModel
from honlearn.ensemble.pair_training import PairExamples, Unlinked
from honlearn.ensemble.pairs import PairArchitecture, PairEnsemble
from honlearn.errors import InputError, check_integer, listed
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.paths.paths import Paths
from honlearn.sampling.pairs import Pairs as PairCodes
from honlearn.sampling.pairs import PairSampler
from honlearn.seeds import root_seed
from honlearn.tasks import link_parameters as check_links
from honlearn.tasks import parameters as check
from honlearn.tasks.choice import Candidate
from honlearn.tasks.estimator import EnsembleEstimator, disagreement
from honlearn.tasks.fit_facts import Clock
from honlearn.tasks.inputs import Labels, NamePairs
from honlearn.tasks.link_split import hide_pairs
from honlearn.tasks.nested import refuse_old
from honlearn.tasks.settings import Pairs, Structure, Training

if TYPE_CHECKING:
    import pandas

    from honlearn.tasks.explain.value import Explanation


class _Prepared(NamedTuple):
    """The pairs to train on, and where new unlinked ones may come from."""

    examples: PairExamples
    unlinked: Unlinked | None


class DGELinkPredictor(EnsembleEstimator):
    """Predicts links between the entities of a higher-order network with an ensemble of neural networks.

    Parameters
    ----------
    network, learner, n_learners, variant, shared, n_heads, features, training, structure
        As for :class:`honlearn.DGEClassifier`. Where a network is grown from paths or counts and links are
        tested, the tested links must be left out of the paths.
    pairs : Pairs, optional
        How two ends are joined, whether order counts, how relatives of a pair are drawn, what is hidden.
    n_draws, n_threads, random_state, verbose
        As for :class:`honlearn.DGEClassifier`; over ``"all"`` relatives either end is its expected
        representation under Eq. 3.

    Examples
    --------
    >>> from honlearn import Training
    >>> from honlearn.hon.edgelist import from_edges
    >>> from honlearn.learners import SAGE
    >>> ring = [(f"{s}{i}", f"{s}{(i + k) % 8}") for s in "ab" for i in range(8) for k in (1, 2, 3)]
    >>> hon = from_edges(*zip(*ring), [1] * len(ring))
    >>> lp = DGELinkPredictor(hon, SAGE(widths=(12, 12)), 4, training=Training(max_epochs=30), random_state=0)
    >>> lp = lp.fit()
    >>> lp.predict_proba([("a0", "a1"), ("a0", "b1")]).shape, lp.recommend("a0", top=3).columns.tolist()
    ((2, 2), ['neighbor', 'probability', 'disagreement'])
    """

    task: ClassVar[str] = "links"
    ensemble_: PairEnsemble
    _fitted_model: PairModel
    parameter_objects: ClassVar[Mapping[str, type]] = {
        "training": Training,
        "structure": Structure,
        "pairs": Pairs,
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
        pairs: Pairs | None = None,
        training: Training | None = None,
        structure: Structure | None = None,
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
        self.pairs = pairs
        self.training = training
        self.structure = structure
        self.n_draws = n_draws
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose

    # --- fitting -------------------------------------------------------------------------------------

    def fit(
        self, X: NamePairs | None = None, y: Labels | None = None, *, exclude: NamePairs | None = None
    ) -> DGELinkPredictor:
        """Train on pairs X [n, 2] with labels y (1: linked, 0: not), or on pairs of the network itself.

        Without X every linked pair is trained on, and as many pairs that are not; `exclude` names pairs that
        are held out for a test: they and their ways back are no examples of either kind.
        """
        clock = Clock()
        self.seed_ = root_seed(self.random_state)
        # Pairs are read more than once, which an iterator does not survive.
        X, exclude = (list(pairs) if isinstance(pairs, Iterator) else pairs for pairs in (X, exclude))
        self._resolve_network(X, y, exclude)
        examples, unlinked = self._prepare(X, y, exclude)
        shape = self._shape()
        options, run = self._options(shape, len(examples)), self._runtime()
        taken = [] if unlinked is None else [unlinked.taken]
        arrays: list[NDArray[Any]] = [examples.pairs, examples.labels, *taken]
        with run.threads():
            fitted = self._model(shape).fit(
                run, examples, unlinked, options, lambda phase: self._fingerprint(phase, arrays)
            )
        self.classes_ = np.array([0, 1])
        self.n_linked_ = int(examples.labels.sum())
        self._remember(shape, fitted, options)
        self.fit_facts_ = clock.facts("pairs", examples.labels, examples.pairs)
        return self

    @property
    def _reads(self) -> Pairs:
        """How pairs are read."""
        out: Pairs = self.parameter_object("pairs")
        return out

    def _prepare(self, X: NamePairs | None, y: Labels | None, exclude: NamePairs | None) -> _Prepared:
        """Return the pairs to train on; every parameter is checked, before anything is searched for."""
        self._reads.check(self._owner)
        shape = self._shape()
        check.draws(self._owner, self.n_draws)
        examples, unlinked = self._training_pairs(self.network_, X, y, exclude)
        self._options(shape, len(examples))
        return _Prepared(examples, unlinked if self._reads.new_negatives else None)

    def _training_pairs(
        self, network: HigherOrderNetwork, X: NamePairs | None, y: Labels | None, exclude: NamePairs | None
    ) -> tuple[PairExamples, Unlinked | None]:
        directed = self._reads.directed
        return check_links.training_pairs(self._owner, network, X, y, exclude, directed, self.seed_)

    def _shape(self) -> PairArchitecture:
        reads = self._reads
        base = check.architecture(self._owner, self, 2, self.network_.n_entities, self._kinds())
        return PairArchitecture(
            **{field.name: getattr(base, field.name) for field in dataclasses.fields(base)},
            operator=reads.operator,
            pair_width=reads.width,
            directed=bool(reads.directed),
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
        return shape

    def _model(self, shape: PairArchitecture) -> PairModel:
        """Return what is trained: the ensemble over pairs of the network that was given or chosen."""
        reads, network = self._reads, self.network_
        given = (network, PairSampler(network, reads.directed), shape, self._inputs(), self.seed_)
        return PairModel(*given, hide_pairs, bool(reads.hide_own), reads.draw == "joint")

    def _count_examples(self, examples: tuple[Any, ...]) -> int:
        return len(self._training_pairs(self.network_, *examples)[0])

    def _search(
        self, examples: tuple[Any, ...], candidate: Candidate, learners: Sequence[int]
    ) -> list[Searched]:
        self.network_ = candidate.network
        known, unlinked = self._prepare(*examples)
        shape, run = self._shape(), self._runtime()
        options = self._options(shape, len(known), self._judging())
        with run.threads():
            return self._model(shape).search(run, known, unlinked, options, learners)

    # --- predicting ----------------------------------------------------------------------------------

    def predict_proba(self, X: NamePairs) -> NDArray[np.float32]:
        """Return the probabilities that each pair is not, and is, linked: [B, 2], as in ``classes_``."""
        pairs, inference = self._inference(X, "predict_proba")
        if not len(pairs):
            return np.zeros((0, 2), np.float32)
        with inference.run.threads():
            return inference.proba(pairs)

    def _codes_proba(self, pairs: PairCodes) -> NDArray[np.float32]:
        """Return the probability [B] of a link of pairs of entity codes [B, 2], without a look at names."""
        _, inference = self._inference([], "predict_proba")
        with inference.run.threads():
            return np.asarray(inference.proba(check_links.in_order(pairs, self._reads.directed))[:, 1])

    def predict(self, X: NamePairs) -> NDArray[Any]:
        """Return 1 for each pair that is more likely linked than not, else 0: [B]."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    def member_proba(self, X: NamePairs) -> NDArray[np.float32]:
        """Return the probabilities of each member, [L, B, 2]; for members see ``DGEClassifier``."""
        pairs, inference = self._inference(X, "member_proba")
        if not len(pairs):
            return np.zeros((self.architecture_.n_learners, 0, 2), np.float32)
        with inference.run.threads():
            return inference.member_proba(pairs)

    def recommend(self, node: object, top: int = 10) -> pandas.DataFrame:
        """Return the entities that `node` is most likely linked to and has no edge to yet, best first.

        A table with neighbor, probability and, of members, disagreement. Candidates are scored in blocks,
        each relative represented once.
        """
        import pandas as pd

        check_is_fitted(self, "ensemble_")
        check_integer(f"{self._owner}.recommend", "top", top, 1)
        network, entity = self.network_, self.network_.vocabulary.index(node)
        new = check_links.new_pairs(network, entity, self._reads.directed)
        _, inference = self._inference([], "recommend")
        pairs = check_links.in_order(new, self._reads.directed)
        if not len(pairs):
            return pd.DataFrame({"neighbor": [], "probability": [], "disagreement": []})
        with inference.run.threads():
            probability = inference.proba(pairs)[:, 1]
            best = np.argsort(-probability, kind="stable")[:top]
            members = inference.member_proba(pairs[best])
        others = [network.vocabulary[int(code)] for code in new[best, 1]]
        table = {"neighbor": others, "probability": probability[best], "disagreement": disagreement(members)}
        return pd.DataFrame(table)

    def explain(
        self, source: object, target: object, *, paths: Paths | None = None, top: int = 7
    ) -> Explanation:
        """Return why a link is expected or not: its probability without memories and neighbours of its ends.

        Reasons are deleted from the network one at a time, the heaviest ``2 * top`` at either end; `top` of
        them are told. `paths` are observed paths; without them support is counted in the network.
        """
        from honlearn.tasks.explain.links import explain_link

        check_is_fitted(self, "ensemble_")
        return explain_link(self, source, target, paths, top)

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
