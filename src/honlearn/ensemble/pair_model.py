"""An ensemble over pairs of nodes: what is trained, restored and asked for predictions.

In: a network, the shape of the ensemble, features and a seed. Out: a fit on pairs, and inference. The
counterpart of :mod:`honlearn.ensemble.node_model`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Surroundings, surroundings
from honlearn.ensemble.fitting import (
    Fitted,
    MakeTrainer,
    Part,
    Schedule,
    Searched,
    fit_ensemble,
    search_only,
)
from honlearn.ensemble.loop import State, TrainingOptions
from honlearn.ensemble.pair_inference import PairInference
from honlearn.ensemble.pair_training import PairExamples, PairProblem, PairTrainer, Unlinked
from honlearn.ensemble.pairs import PairArchitecture, PairEnsemble
from honlearn.ensemble.training import Trainer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.pairs import Pairs, PairSampler


@dataclass(frozen=True)
class PairModel:
    """An ensemble over pairs; `hide` gives the network without the edges between some pairs."""

    network: HigherOrderNetwork
    sampler: PairSampler
    shape: PairArchitecture
    features: Features | None
    seed: int
    hide: Callable[[HigherOrderNetwork, Pairs], HigherOrderNetwork]
    hide_own: bool = True
    joint: bool = False

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
    ) -> Fitted:
        """Train all learners; `fingerprint` marks the checkpoint of a phase."""
        learners = range(self.shape.n_learners)
        return fit_ensemble(self.shape, learners, options, self._maker(run, examples, unlinked, fingerprint))

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
        return search_only(alone, learners, options, make)

    def _maker(
        self,
        run: Runtime,
        examples: PairExamples,
        unlinked: Unlinked | None,
        fingerprint: Callable[[str], str],
    ) -> MakeTrainer:
        def make(part: Part, options: TrainingOptions, schedule: Schedule, phase: str) -> Trainer:
            def hide(pairs: Pairs) -> Surroundings:
                return surroundings(self.hide(self.network, pairs), part.shape, self.features is not None)

            near = self.near if part.kind is None else Surroundings((self.near.of_kind[part.kind],))
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
            )
            return PairTrainer(ensemble, problem, options, run, schedule, fingerprint(phase))

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
        return PairInference(ensemble, self.near, self.sampler, self.seed, run, n_draws, self.joint)
