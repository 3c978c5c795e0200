"""An ensemble over pairs of nodes: what is trained, restored and asked for predictions.

In: a network, the shape of the ensemble, features and a seed. Out: a fit on pairs, and inference. The
counterpart of :mod:`honlearn.ensemble.node_model`. With folds a batch passes messages in a network that has
no trace of its fold, and pairs may read counts and common neighbours; without them the links of each batch
are hidden batch by batch, and a pair reads its two ends alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features
from honlearn.ensemble.count_model import CountModel
from honlearn.ensemble.ensemble import Surroundings, surroundings
from honlearn.ensemble.fitting import Fitted, fit_ensemble, search_only
from honlearn.ensemble.fold_training import FoldTrainer
from honlearn.ensemble.groups import Groups
from honlearn.ensemble.growing_bag import grow_bag
from honlearn.ensemble.learner_training import MakeTrainer, Part, Schedule, Searched
from honlearn.ensemble.loop import State, TrainingOptions
from honlearn.ensemble.pair_folds import FoldedPairs
from honlearn.ensemble.pair_inference import PairInference
from honlearn.ensemble.pair_inputs import PairSource, Scaling
from honlearn.ensemble.pair_training import PairExamples, PairProblem, PairTrainer, Unlinked
from honlearn.ensemble.pairs import PairArchitecture, PairEnsemble
from honlearn.ensemble.training import Trainer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import Pairs, PairSampler


@dataclass(frozen=True)
class PairModel:
    """An ensemble over pairs; `hide` gives the network without the edges between some pairs.

    `source` is what pairs read beside their ends, None for nothing; `scaling` standardises their features and
    `counts` has its share of predictions once a model is fitted.
    """

    network: HigherOrderNetwork
    sampler: PairSampler
    shape: PairArchitecture
    features: Features | None
    seed: int
    hide: Callable[[HigherOrderNetwork, Pairs], HigherOrderNetwork]
    hide_own: bool = True
    joint: bool = False
    source: PairSource | None = None
    scaling: Scaling | None = None
    counts: CountModel | None = None

    @cached_property
    def near(self) -> Surroundings:
        """What each kind of learner reads of the network."""
        return surroundings(self.network, self.shape, self.features is not None)

    def fit(
        self,
        run: Runtime,
        examples: PairExamples,
        unlinked: Unlinked | None,
        options: Sequence[TrainingOptions],
        fingerprint: Callable[[str], str],
        grows: bool = False,
    ) -> tuple[Fitted, int]:
        """Train the learners and return how many there are; `fingerprint` marks the checkpoint of a phase.

        A bag that `grows` has as many learners as improve it (:mod:`honlearn.ensemble.growing_bag`), at most
        `shape.n_learners`; any other has so many.
        """
        make = self._maker(run, examples, unlinked, fingerprint)
        if grows:
            return grow_bag(self.shape, options, make)
        learners = range(self.shape.n_learners)
        return fit_ensemble(self.shape, learners, options, Groups(make)), self.shape.n_learners

    def search(
        self,
        run: Runtime,
        examples: PairExamples,
        unlinked: Unlinked | None,
        options: Sequence[TrainingOptions],
        learners: Sequence[int],
    ) -> list[Searched]:
        """Train some learners by themselves on their training parts: a search for each kind."""
        alone = dataclasses.replace(self.shape, variant="bag", shared=False)
        make = self._maker(run, examples, unlinked, lambda phase: "")
        return search_only(alone, learners, options, Groups(make))

    def _maker(
        self,
        run: Runtime,
        examples: PairExamples,
        unlinked: Unlinked | None,
        fingerprint: Callable[[str], str],
    ) -> MakeTrainer:
        if isinstance(examples, FoldedPairs):
            for view in examples.views:
                view.near[:] = [surroundings(view.network, self.shape, self.features is not None)]

        def make(part: Part, options: TrainingOptions, schedule: Schedule, phase: str) -> Trainer:
            def hide(pairs: Pairs) -> Surroundings:
                return surroundings(self.hide(self.network, pairs), part.shape, self.features is not None)

            near = self.near if part.kind is None else self.near.only(part.kind)
            ensemble = PairEnsemble(part.shape, self.seed, part.learners, self.features)
            problem = PairProblem(
                near,
                self.sampler,
                examples,
                self.seed,
                part.learners,
                hide=hide,
                hide_own=self.hide_own,
                joint=self.joint,
                unlinked=unlinked,
                part=part.kind,
            )
            kind = FoldTrainer if isinstance(examples, FoldedPairs) else PairTrainer
            mark = "" if options.checkpoint is None else fingerprint(phase)
            return kind(ensemble, problem, options, run, schedule, mark)

        return make

    def restore(self, state: State) -> PairEnsemble:
        """Return the ensemble that predicts; learners of bag* now have weights of their own."""
        shape = self.shape
        if shape.is_sequential:
            shape = dataclasses.replace(shape, shared=False)
        ensemble = PairEnsemble(shape, self.seed, range(shape.n_learners), self.features)
        ensemble.load_state_dict(state)
        return ensemble

    def inference(self, ensemble: PairEnsemble, run: Runtime, n_draws: int) -> PairInference:
        """Return what predicts with an ensemble that was restored."""
        view = None if self.source is None else self.source.whole
        given = (ensemble, self.near, self.sampler, self.seed, run, n_draws, self.joint)
        return PairInference(*given, view, self.scaling, self.counts)
