"""An ensemble over the nodes of a network: what is trained, restored and asked for predictions.

In: a network, the shape of the ensemble, features and a seed. Out: a fit, and inference with its weights. The
estimators and the single models are made around it; it knows no names and no labels, only codes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Architecture, Ensemble, Surroundings, surroundings
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import (
    Fitted,
    MakeTrainer,
    Part,
    Schedule,
    Searched,
    fit_ensemble,
    refit_only,
    search_only,
)
from honlearn.ensemble.inference import Inference
from honlearn.ensemble.loop import State, TrainingOptions
from honlearn.ensemble.training import Problem, Trainer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.relatives import RelativeSampler


@dataclass(frozen=True)
class NodeModel:
    """An ensemble of learners on a network; `sampler` draws the node that stands for an entity."""

    network: HigherOrderNetwork
    sampler: RelativeSampler
    shape: Architecture
    features: Features | None
    seed: int

    @cached_property
    def near(self) -> Surroundings:
        """What each kind of learner reads of the network."""
        return surroundings(self.network, self.shape, self.features is not None)

    def fit(
        self,
        run: Runtime,
        examples: Examples,
        options: Sequence[TrainingOptions],
        fingerprint: Callable[[str], str],
    ) -> Fitted:
        """Train all learners; `fingerprint` marks the checkpoint of a phase."""
        learners = range(self.shape.n_learners)
        return fit_ensemble(self.shape, learners, options, self._maker(run, examples, fingerprint))

    def search(
        self, run: Runtime, examples: Examples, options: Sequence[TrainingOptions], learners: Sequence[int]
    ) -> list[Searched]:
        """Train some learners by themselves on their training parts: a search for each kind."""
        alone = dataclasses.replace(self.shape, variant="bag", shared=False)
        return search_only(alone, learners, options, self._maker(run, examples, lambda phase: ""))

    def refit(
        self,
        run: Runtime,
        examples: Examples,
        options: Sequence[TrainingOptions],
        rounds: Sequence[Searched],
        fingerprint: Callable[[str], str],
    ) -> Fitted:
        """Let learners that were searched in rounds go on together, on all examples."""
        return refit_only(self.shape, rounds, options, self._maker(run, examples, fingerprint))

    def _maker(self, run: Runtime, examples: Examples, fingerprint: Callable[[str], str]) -> MakeTrainer:
        def make(part: Part, options: TrainingOptions, schedule: Schedule, phase: str) -> Trainer:
            ensemble = Ensemble(part.shape, self.seed, part.learners, self.features)
            near = self.near if part.kind is None else Surroundings((self.near.of_kind[part.kind],))
            problem = Problem(near, self.sampler, examples, self.seed, part.learners)
            return Trainer(ensemble, problem, options, run, schedule, fingerprint(phase))

        return make

    def restore(self, state: State) -> Ensemble:
        """Return the ensemble that predicts; learners of bag* now have weights of their own."""
        shape = self.shape
        if shape.is_sequential:
            shape = dataclasses.replace(shape, shared=False)
        ensemble = Ensemble(shape, self.seed, range(shape.n_learners), self.features)
        ensemble.load_state_dict(state)
        return ensemble

    def inference(self, ensemble: Ensemble, run: Runtime, n_draws: int) -> Inference:
        """Return what predicts with an ensemble that was restored."""
        return Inference(ensemble, self.near, self.sampler, self.seed, run, n_draws)
