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
from typing import NamedTuple

from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features
from honlearn.ensemble.count_model import CountModel
from honlearn.ensemble.ensemble import Surroundings, surroundings
from honlearn.ensemble.fitting import Fitted, fit_ensemble, search_only
from honlearn.ensemble.fold_training import FoldTrainer
from honlearn.ensemble.groups import Fingerprint, Groups, WorkerGroups, Workers, unmarked
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
class PairPlan:
    """How learners are trained: on which pairs, with which options for each kind, and where.

    `unlinked` is where new unlinked pairs come from, None for no new ones. `fingerprint` marks the checkpoint
    of a phase. With `workers` the learners of a bag are trained there, to the same bytes.
    """

    run: Runtime
    examples: PairExamples
    unlinked: Unlinked | None
    options: Sequence[TrainingOptions]
    fingerprint: Fingerprint = unmarked
    workers: Workers | None = None


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

    def fit(self, plan: PairPlan, grows: bool = False) -> tuple[Fitted, int]:
        """Train the learners and return how many there are.

        A bag that `grows` has as many learners as improve it (:mod:`honlearn.ensemble.growing_bag`), at most
        `shape.n_learners`; any other has so many.
        """
        groups = self._groups(plan)
        if grows:
            return grow_bag(self.shape, plan.options, groups)
        learners = range(self.shape.n_learners)
        return fit_ensemble(self.shape, learners, plan.options, groups), self.shape.n_learners

    def search(self, plan: PairPlan, learners: Sequence[int]) -> list[Searched]:
        """Train some learners by themselves on their training parts: a search for each kind."""
        alone = dataclasses.replace(self.shape, variant="bag", shared=False)
        return search_only(alone, learners, plan.options, self._groups(plan))

    def _groups(self, plan: PairPlan) -> Groups:
        make = self._maker(plan.run, plan.examples, plan.unlinked, plan.fingerprint)
        if plan.workers is None:
            return Groups(make)
        return WorkerGroups(
            make,
            workers=plan.workers,
            inputs=PairInputs.of(self, plan),
            shape=self.shape,
            seed=self.seed,
            device=str(plan.run.device),
            fingerprint=plan.fingerprint,
        )

    def _maker(
        self,
        run: Runtime,
        examples: PairExamples,
        unlinked: Unlinked | None,
        fingerprint: Fingerprint,
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


class PairInputs(NamedTuple):
    """What all learners of a fit on pairs read: sent to each worker once."""

    model: PairModel
    examples: PairExamples
    unlinked: Unlinked | None

    @classmethod
    def of(cls, model: PairModel, plan: PairPlan) -> PairInputs:
        """Return what is read in a training, and nothing that is read in a prediction alone."""
        bare, examples = dataclasses.replace(model, source=None, scaling=None, counts=None), plan.examples
        if isinstance(examples, FoldedPairs):
            examples = examples.for_training()
        return cls(bare, examples, plan.unlinked)

    @property
    def network(self) -> HigherOrderNetwork:
        """The network."""
        return self.model.network

    @property
    def features(self) -> Features | None:
        """What is known of the entities beside their identity."""
        return self.model.features

    def maker(
        self, shape: PairArchitecture, seed: int, run: Runtime, fingerprint: Fingerprint
    ) -> MakeTrainer:
        """Return what makes trainers of some learners."""
        examples, model = self.examples, dataclasses.replace(self.model, shape=shape, seed=seed)
        if isinstance(examples, FoldedPairs):  # which models of other shapes may read at the same time
            examples = examples.for_one_model()
        return model._maker(run, examples, self.unlinked, fingerprint)
