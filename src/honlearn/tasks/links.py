"""Link prediction: deep graph ensembles that say how likely an edge between two entities is.

In: a higher-order network, and pairs with labels or nothing. Out: a fitted :class:`DGELinkPredictor` that
scores pairs, says what each learner thinks, and recommends new neighbours.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from honlearn.errors import InputError, check_integer, check_real, listed
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.models.pair_inference import PairInference
from honlearn.models.pair_training import PairExamples, PairProblem, PairTrainer, Unlinked
from honlearn.models.pairs import PairArchitecture, PairEnsemble
from honlearn.models.runtime import Runtime
from honlearn.models.training import Trainer, TrainingOptions
from honlearn.paths.paths import Paths
from honlearn.sampling.pairs import Pairs, PairSampler
from honlearn.seeds import root_seed
from honlearn.tasks import link_parameters as check_links
from honlearn.tasks import parameters as check
from honlearn.tasks.fitting import (
    EnsembleEstimator,
    MakeTrainer,
    Schedule,
    disagreement,
    judged,
    of_members,
)
from honlearn.tasks.held import Held
from honlearn.tasks.link_split import hide_pairs

if TYPE_CHECKING:
    import pandas


class DGELinkPredictor(EnsembleEstimator):
    """Predicts links between the entities of a higher-order network with an ensemble of neural networks.

    Most parameters are those of :class:`honlearn.DGEClassifier`. Of its own:

    `operator` joins the representations of the two ends: ``"concat"``, ``"hadamard"``, ``"average"``,
    ``"l1"``, ``"l2"``, or several with ``+`` between: by default which ends they are, and how much they have
    in common. A dense layer of `pair_width` numbers follows (0: none; concatenation alone is then a sum
    of two scores, one an end). With `directed` (u, v) is the link u → v; of the operators only concatenation
    can tell it from v → u. Without it a pair is linked if either direction is, and order never counts.

    `pair_draw` is how relatives of a pair are drawn: ``"joint"`` by Eq. 4 where the pair has an edge, as in
    the paper, or ``"independent"``, each end by Eq. 3. Eq. 4 draws ``v|u`` for training pairs (u, v) only:
    a learner may take that for the answer, which no tested pair ever gives.

    `hide_own` passes messages without the edges between the pairs of the batch, in both directions, as
    tested pairs must do without theirs; `new_negatives` draws the unlinked training pairs of ``fit()`` anew
    in every epoch. Paths or counts in place of a network, `order`, `tau` and `min_support` are as for nodes;
    whoever tests must then leave the tested links out of the paths. `batch_size` None is a 48th of the
    pairs, 32 to 2048; `max_epochs` None lets two million pairs pass, in 8 to 50 epochs. `refit` and `n_draws`
    are as for nodes; over ``"all"`` relatives either end is its expected representation under Eq. 3.

    >>> from honlearn.hon.edgelist import from_edges
    >>> ring = [(f"{s}{i}", f"{s}{(i + k) % 8}") for s in "ab" for i in range(8) for k in (1, 2, 3)]
    >>> hon = from_edges(*zip(*ring), [1] * len(ring))
    >>> lp = DGELinkPredictor(hon, n_learners=4, widths=(12, 12), max_epochs=30, random_state=0).fit()
    >>> lp.predict_proba([("a0", "a1"), ("a0", "b1")]).shape, lp.recommend("a0", top=3).columns.tolist()
    ((2, 2), ['neighbor', 'probability', 'disagreement'])
    """

    _ensemble = PairEnsemble
    # Ends of a pair are known by their names, and what is near them must not tell a link that is hidden.
    _settled: ClassVar[Mapping[str, Any]] = {"echo": True, "path_features": 0, "kernel_share": 0.0}
    ensemble_: PairEnsemble

    def __init__(
        self,
        network: HigherOrderNetwork | GramCounts | Paths,
        variant: str = "bag",
        shared: bool = False,
        n_learners: int = 16,
        aggregator: str = "mean",
        widths: int | Sequence[int] = (128, 128),
        fan_outs: Sequence[int] | None = None,
        edge_power: float = 0.5,
        normalize: bool = False,
        features: Any = None,
        identity: bool = True,
        n_heads: int = 5,
        operator: str = "concat+hadamard",
        pair_width: int = 64,
        directed: bool = True,
        pair_draw: str = "independent",
        hide_own: bool = True,
        new_negatives: bool = True,
        order: int | str | None = None,
        tau: float | str | None = None,
        min_support: int | str | None = None,
        learning_rate: float = 0.01,
        batch_size: int | None = None,
        max_epochs: int | None = None,
        patience: int = 5,
        validation_fraction: float = 0.1,
        refit: float = 0.0,
        input_dropout: float = 0.4,
        hidden_dropout: float = 0.2,
        weight_decay: float = 0.0,
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
        self.operator = operator
        self.pair_width = pair_width
        self.directed = directed
        self.pair_draw = pair_draw
        self.hide_own = hide_own
        self.new_negatives = new_negatives
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
        self.n_draws = n_draws
        self.device = device
        self.n_threads = n_threads
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.random_state = random_state
        self.verbose = verbose

    # --- fitting -------------------------------------------------------------------------------------

    def fit(self, X: Any = None, y: Any = None, *, exclude: Any = None) -> DGELinkPredictor:
        """Train on pairs X [n, 2] with labels y (1: linked, 0: not), or on pairs of the network itself.

        Without X every linked pair is trained on, and as many pairs that are not; `exclude` names pairs that
        are held out for a test: they and their ways back are no examples of either kind.
        """
        with check_links.named_as_links():
            self.seed_ = root_seed(self.random_state)
            # Pairs are read more than once, which an iterator does not survive.
            X, exclude = (list(pairs) if isinstance(pairs, Iterator) else pairs for pairs in (X, exclude))
            self._settle_network(X, y, exclude)
            shape, options, examples, unlinked = self._prepared(X, y, exclude)
            make, run = self._trainers(shape, examples, unlinked)
            with run.threads():
                state, trainers = self._train_twice(make, options)
        self.classes_ = np.array([0, 1])
        self.n_linked_ = int(examples.labels.sum())
        self._remember(shape, state, trainers, options.checkpoint)
        return self

    def _prepared(
        self, X: Any, y: Any, exclude: Any
    ) -> tuple[PairArchitecture, TrainingOptions, PairExamples, Unlinked | None]:
        """Return what parameters and arguments come to, all of it checked."""
        given, network = self._given(), self.network_
        shape, _ = self._checked(None, 1)
        examples, unlinked = check_links.training_pairs(network, X, y, exclude, self.directed, self.seed_)
        options = check_links.training_options(given, len(examples))
        return shape, options, examples, unlinked if given["new_negatives"] else None

    def _checked(self, classes: Any, n_pairs: int) -> tuple[PairArchitecture, TrainingOptions]:
        """Return what the parameters alone come to, for a fit or for a model that was loaded."""
        given = self._given()
        with check_links.named_as_links():
            if classes is not None and classes.tolist() != [0, 1]:
                raise InputError(
                    f"the classes of links are 0 and 1. Got {listed(classes.tolist(), 5)} instead"
                )
            shape = check_links.architecture(given, self.network_.n_entities)
            check.draws(given["n_draws"])
            check_real("DGELinkPredictor", "edge_power", given["edge_power"], 0, 10)
            check.refit(given["refit"])
            if given["fan_outs"] is not None:
                check.check_fan_outs(given["fan_outs"], len(shape.widths))
            return shape, check_links.training_options(given, n_pairs)

    def _trainers(
        self,
        shape: PairArchitecture,
        examples: PairExamples,
        unlinked: Unlinked | None,
        learners: Sequence[int] | None = None,
    ) -> tuple[MakeTrainer, Runtime]:
        """Return what makes trainers of the ensemble, or of some of its learners, and where they run."""
        learners = range(shape.n_learners) if learners is None else learners
        network, given, features = self.network_, self._given(), self._inputs()
        run = Runtime(self.device, self.n_threads)

        def hide(pairs: Pairs) -> Any:
            return check.neighborhood(hide_pairs(network, pairs), shape, given)

        problem = PairProblem(
            check.neighborhood(network, shape, given),
            self._sampler(),
            examples,
            self.seed_,
            learners,
            hide=hide,
            hide_own=bool(given["hide_own"]),
            joint=given["pair_draw"] == "joint",
            unlinked=unlinked,
        )

        def make(options: TrainingOptions, schedule: Schedule, phase: str) -> Trainer:
            ensemble = PairEnsemble(shape, self.seed_, learners, features)
            arrays: list[NDArray[Any]] = [
                examples.pairs,
                examples.labels,
                *([] if unlinked is None else [unlinked.taken]),
            ]
            mark = self._fingerprint(phase, arrays)
            return PairTrainer(ensemble, problem, options, run, schedule, mark)

        return make, run

    def _count_examples(self, counts: GramCounts, examples: tuple[Any, ...]) -> int:
        pairs, y, exclude = examples
        first = counts.grow(1)
        return len(check_links.training_pairs(first, pairs, y, exclude, self.directed, self.seed_)[0])

    def _held(self, learners: Sequence[int], *examples: Any) -> Held:
        self.seed_ = root_seed(self.random_state)
        self._settle_network(*examples)
        shape, options, known, unlinked = self._prepared(*examples)
        # Structure is judged by learners on their own, however the ensemble will pool them.
        shape = dataclasses.replace(shape, variant="bag", shared=False)
        make, run = self._trainers(shape, known, unlinked, learners)
        with run.threads():
            return judged(make(options, None, "structure"))

    def _sampler(self) -> PairSampler:
        """Return what says which nodes of two families stand for a pair."""
        return PairSampler(self.network_, self.directed)

    # --- predicting ----------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float32]:
        """Return the probabilities that each pair is not, and is, linked: [B, 2], as in ``classes_``."""
        pairs, inference = self._inference(X, "predict_proba")
        if not len(pairs):
            return np.zeros((0, 2), np.float32)
        with inference.run.threads():
            return inference.proba(pairs)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return 1 for each pair that is more likely linked than not, else 0: [B]."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(1)])

    @of_members
    def member_proba(self, X: Any) -> NDArray[np.float32]:
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
        check_integer("DGELinkPredictor.recommend", "top", top, 1)
        network, entity = self.network_, self.network_.vocabulary.index(node)
        new = check_links.new_pairs(network, entity, self.directed)
        _, inference = self._inference([], "recommend")
        pairs = check_links.in_order(new, self.directed)
        if not len(pairs):
            return pd.DataFrame({"neighbor": [], "probability": [], "disagreement": []})
        with inference.run.threads():
            probability = inference.proba(pairs)[:, 1]
            best = np.argsort(-probability, kind="stable")[:top]
            members = inference.member_proba(pairs[best]) if self._has_members else None
        others = [network.vocabulary[int(code)] for code in new[best, 1]]
        table = pd.DataFrame({"neighbor": others, "probability": probability[best]})
        return table if members is None else table.assign(disagreement=disagreement(members))

    def _inference(self, X: Any, what: str) -> tuple[Pairs, PairInference]:
        check_is_fitted(self, "ensemble_")
        pairs = check_links.in_order(check_links.pair_codes(self.network_, X, what), self.directed)
        given = self._given()
        near = check.neighborhood(self.network_, self.architecture_, given)
        run, sampler = Runtime(self.device, self.n_threads), self._sampler()
        count, joint = check.draws(given["n_draws"]), given["pair_draw"] == "joint"
        return pairs, PairInference(self.ensemble_, near, sampler, self.seed_, run, count, joint)
