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
from honlearn.ensemble.ensemble import Architecture, Ensemble, Surroundings, empty_ensemble, surroundings
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted, fit_ensemble, parts_of, refit_only, search_only
from honlearn.ensemble.inference import Inference
from honlearn.ensemble.learner_training import (
    MakeTrainer,
    Part,
    Schedule,
    Searched,
    TrainedLearners,
    train_learners,
)
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
        group_size: int | None = None,
    ) -> Fitted:
        """Train all learners, a bag in groups of `group_size`; `fingerprint` marks a checkpoint."""
        learners, make = range(self.shape.n_learners), self._maker(run, examples, fingerprint)
        return fit_ensemble(self.shape, learners, options, make, group_size)

    def train_learners(
        self,
        run: Runtime,
        examples: Examples,
        options: Sequence[TrainingOptions],
        learners: Sequence[int],
        fingerprint: Callable[[str], str] = lambda phase: "",
    ) -> TrainedLearners:
        """Train some learners of a bag of one kind: the same bytes as in a fit of all, wherever this runs.

        :func:`honlearn.ensemble.fitting.gathered` puts groups together.
        """
        (part,) = parts_of(self.shape, range(self.shape.n_learners))
        group = part.only(tuple(learners))
        return train_learners(group, options[0], self._maker(run, examples, fingerprint))

    def search(
        self,
        run: Runtime,
        examples: Examples,
        options: Sequence[TrainingOptions],
        learners: Sequence[int],
        group_size: int | None = None,
    ) -> list[Searched]:
        """Train some learners by themselves on their training parts: a search for each kind."""
        alone = dataclasses.replace(self.shape, variant="bag", shared=False)
        make = self._maker(run, examples, lambda phase: "")
        return search_only(alone, learners, options, make, group_size)

    def refit(
        self,
        run: Runtime,
        examples: Examples,
        options: Sequence[TrainingOptions],
        rounds: Sequence[Searched],
        fingerprint: Callable[[str], str],
        group_size: int | None = None,
    ) -> Fitted:
        """Let learners that were searched in rounds go on, on all examples."""
        make = self._maker(run, examples, fingerprint)
        return refit_only(self.shape, rounds, options, make, group_size)

    def _maker(self, run: Runtime, examples: Examples, fingerprint: Callable[[str], str]) -> MakeTrainer:
        def make(part: Part, options: TrainingOptions, schedule: Schedule, phase: str) -> Trainer:
            ensemble = Ensemble(part.shape, self.seed, part.learners, self.features)
            near = self.near if part.kind is None else self.near.only(part.kind)
            if part.shape.variant == "bag" and not part.shape.shared:
                near = near.with_all_rows(part.shape.kinds)
            problem = Problem(near, self.sampler, examples, self.seed, part.learners)
            return Trainer(ensemble, problem, options, run, schedule, fingerprint(phase))

        return make

    def restore(self, state: State) -> Ensemble:
        """Return the ensemble that predicts; learners of bag* now have weights of their own."""
        shape = self.shape
        if shape.is_sequential:
            shape = dataclasses.replace(shape, shared=False)
        # Without numbers of its own, so that the weights of a large ensemble are there once.
        ensemble = empty_ensemble(shape, self.seed, range(shape.n_learners), self.features)
        same = all(
            state[name].dtype == own.dtype for name, own in ensemble.state_dict().items() if name in state
        )
        if not same:  # of a file; who loads it says what is wrong
            ensemble.to_empty(device="cpu")
        ensemble.load_state_dict(state, assign=same)
        return ensemble

    def inference(self, ensemble: Ensemble, run: Runtime, n_draws: int) -> Inference:
        """Return what predicts with an ensemble that was restored."""
        return Inference(ensemble, self.near, self.sampler, self.seed, run, n_draws)
