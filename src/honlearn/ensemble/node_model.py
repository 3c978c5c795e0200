"""An ensemble over the nodes of a network: what is trained, restored and asked for predictions.

In: a network, the shape of the ensemble, features and a seed. Out: a fit, and inference with its weights. The
estimators and the single models are made around it; it knows no names and no labels, only codes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Architecture, Ensemble, Surroundings, empty_ensemble, surroundings
from honlearn.ensemble.examples import Examples
from honlearn.ensemble.fitting import Fitted, fit_ensemble, refit_only, search_only
from honlearn.ensemble.groups import Fingerprint, Groups, WorkerGroups, Workers, unmarked
from honlearn.ensemble.inference import Inference
from honlearn.ensemble.learner_training import MakeTrainer, Part, Schedule, Searched
from honlearn.ensemble.loop import State, TrainingOptions
from honlearn.ensemble.training import Problem, Trainer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.sampling.relatives import RelativeSampler


@dataclass(frozen=True)
class Plan:
    """How learners are trained: on which examples, with which options for each kind, and where.

    `fingerprint` marks the checkpoint of a phase. A bag is trained in groups of `group_size`; with `workers`
    the groups are trained there, to the same bytes.
    """

    run: Runtime
    examples: Examples
    options: Sequence[TrainingOptions]
    fingerprint: Fingerprint = unmarked
    group_size: int | None = None
    workers: Workers | None = None


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

    def fit(self, plan: Plan) -> Fitted:
        """Train all learners."""
        return fit_ensemble(self.shape, range(self.shape.n_learners), plan.options, self._groups(plan))

    def search(self, plan: Plan, learners: Sequence[int]) -> list[Searched]:
        """Train some learners by themselves on their training parts: a search for each kind."""
        alone = dataclasses.replace(self.shape, variant="bag", shared=False)
        return search_only(alone, learners, plan.options, self._groups(plan))

    def refit(self, plan: Plan, rounds: Sequence[Searched]) -> Fitted:
        """Let learners that were searched in rounds go on, on all examples."""
        return refit_only(self.shape, rounds, plan.options, self._groups(plan))

    def _groups(self, plan: Plan) -> Groups:
        make, workers = self.maker(plan.run, plan.examples, plan.fingerprint), plan.workers
        if workers is None:
            return Groups(make, plan.group_size)
        return WorkerGroups(
            make,
            plan.group_size,
            workers=workers,
            inputs=NodeInputs(self.network, self.features, plan.examples),
            shape=self.shape,
            seed=self.seed,
            device=str(plan.run.device),
            fingerprint=plan.fingerprint,
        )

    def maker(self, run: Runtime, examples: Examples, fingerprint: Fingerprint) -> MakeTrainer:
        """Return what makes trainers of some learners on these examples."""

        def make(part: Part, options: TrainingOptions, schedule: Schedule, phase: str) -> Trainer:
            ensemble = Ensemble(part.shape, self.seed, part.learners, self.features)
            near = self.near if part.kind is None else self.near.only(part.kind)
            near = near.for_batches(min(options.batch_size, len(examples)))
            if part.shape.variant == "bag" and not part.shape.shared:
                near = near.for_bag(part.shape.kinds)
            problem = Problem(near, self.sampler, examples, self.seed, part.learners)
            mark = "" if options.checkpoint is None else fingerprint(phase)
            return Trainer(ensemble, problem, options, run, schedule, mark)

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


class NodeInputs(NamedTuple):
    """What all learners of a fit read: sent to each worker once."""

    network: HigherOrderNetwork
    features: Features | None
    examples: Examples

    def maker(self, shape: Architecture, seed: int, run: Runtime, fingerprint: Fingerprint) -> MakeTrainer:
        """Return what makes trainers of some learners."""
        network, features, examples = self
        model = NodeModel(network, RelativeSampler(network), shape, features, seed)
        return model.maker(run, examples, fingerprint)
