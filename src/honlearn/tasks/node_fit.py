"""Fitting a node classifier: the network, what is read of it, the choices, the training, the path kernel.

In: parameters of :class:`honlearn.DGEClassifier`, names and labels. Out: its fitted attributes, most of all
``components_``. A fit with a learner of the user's has one component; ``learner="auto"`` selects components
from a pool (:mod:`honlearn.tasks.pool`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.examples import Examples, n_parts, splits
from honlearn.ensemble.fitting import Fitted, forget_checkpoints
from honlearn.ensemble.groups import unmarked
from honlearn.ensemble.learner_training import Searched
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.node_model import NodeModel, Plan
from honlearn.errors import check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.learners.base import USUAL_POWER
from honlearn.sampling.relatives import RelativeSampler
from honlearn.seeds import root_seed
from honlearn.tasks import held, structure
from honlearn.tasks import parameters as check
from honlearn.tasks.calibrated import Calibrated
from honlearn.tasks.choice import Candidate
from honlearn.tasks.component import Component
from honlearn.tasks.estimator import EnsembleEstimator, with_power
from honlearn.tasks.inputs import Labels, Names, Weights
from honlearn.tasks.kernel_fit import KernelFitting, Prepared
from honlearn.tasks.large import LargeNetworks
from honlearn.tasks.nested import AUTO, as_learners
from honlearn.tasks.pool import Place, Pool, Selected
from honlearn.tasks.settings import Training

POWERS = (USUAL_POWER, 0.0, 0.25, 1.0)


class NodeFitting(KernelFitting, LargeNetworks, Calibrated, EnsembleEstimator):
    """The part of a node classifier that fits."""

    variant: Any
    shared: Any
    n_draws: Any
    components_: list[Component]
    # Which entities of the network were there in the fit.
    in_fit_: NDArray[np.bool_]

    def _fit(self, X: Names, y: Labels, sample_weight: Weights | None) -> None:
        self.seed_ = root_seed(self.random_state)
        self._known_vectors, self._one_step, self._notes = {}, {}, []
        try:
            with self._on_executor():
                fit = self._fit_pool if self._is_auto() else self._fit_plain
                fit(X, y, sample_weight)
            self.notes_ = tuple(self._notes)
        finally:
            for name in ("_known_vectors", "_one_step", "_notes", "_choice"):
                self.__dict__.pop(name, None)
        self.n_parameters_ = sum(one.n_parameters for one in self.components_)
        self.in_fit_ = np.ones(self.network_.n_entities, bool)

    def _is_auto(self) -> bool:
        """Return whether learners are chosen; they are for bags, whose members predict on their own."""
        wanted = isinstance(self.learner, str) and self.learner == AUTO
        return wanted and self.variant == "bag" and not self.shared

    # --- what both ways share ------------------------------------------------------------------------

    def _prepare(self, X: Names, y: Labels, sample_weight: Weights | None) -> Prepared:
        """Return the classes and examples, each of these once; every parameter is checked before a search."""
        nodes = check.node_codes(self._owner, self.network_, X, "fit")
        classes, codes = check.class_codes(y, len(nodes))
        training = self.parameter_object("training")
        weights = check.example_weights(self._owner, training.class_weight, sample_weight, classes, codes)
        examples = Examples(nodes, codes, weights).once()
        self._check(len(classes), len(examples))
        return Prepared(classes, examples)

    def _check(self, n_classes: int, n_nodes: int) -> None:
        """Raise a ParameterError for a parameter that is out of range."""
        self.parameter_object("path_kernel").check(self._owner)
        self._options(self._shape(n_classes), n_nodes)
        check.draws(self._owner, self.n_draws)

    def _shape(self, n_classes: int, kinds: Sequence[Learner] | None = None, on: Any = None) -> Architecture:
        kinds = self._sampled(self._kinds() if kinds is None else kinds, self.network_ if on is None else on)
        return check.architecture(self._owner, self, n_classes, self.network_.n_entities, kinds)

    @property
    def _has_features(self) -> bool:
        """Whether learners read anything of an entity beside its identity."""
        return self.features is not None or bool(self.parameter_object("path_kernel").vectors)

    def _model(self, shape: Architecture) -> NodeModel:
        """Return what is trained: the ensemble on the network that was given or chosen."""
        features = check.user_features(self.features, self.network_, self.path_vectors_)
        return self._model_on(self.network_, shape, features)

    def _model_on(
        self, network: HigherOrderNetwork, shape: Architecture, features: Features | None
    ) -> NodeModel:
        return NodeModel(network, RelativeSampler(network), shape, features, self.seed_)

    def _count_examples(self, examples: tuple[Any, ...]) -> int:
        return len(self._prepare(*examples).examples)

    def _search(
        self, examples: tuple[Any, ...], candidate: Candidate, learners: Sequence[int]
    ) -> list[Searched]:
        prepared, network = self._prepare(*examples), candidate.network
        features = check.user_features(
            self.features, network, self._vectors_of(network, prepared, False).learned
        )
        shape = self._shape(len(prepared.classes), candidate.kinds, network)
        options = self._options(shape, len(prepared.examples), self._judging())
        model = self._model_on(network, shape, features)
        plan = self._plan(model, prepared.examples, options, unmarked)
        with plan.run.threads():
            return model.search(plan, learners)

    def _plan(
        self,
        model: NodeModel,
        known: Examples,
        options: Sequence[TrainingOptions],
        fingerprint: Callable[[str], str],
    ) -> Plan:
        """Return how a model is trained on these examples."""
        size = self._group_size(model, len(known), options)
        return Plan(self._runtime(), known, options, fingerprint, size, self._workers)

    # --- one kind of learner, or a mix that was named ------------------------------------------------

    def _fit_plain(self, *examples: Any) -> None:
        self._resolve_network(*examples)
        prepared = self._prepare(*examples)
        self._resolve_power(examples)
        self._train_one(prepared)

    def _train_one(self, prepared: Prepared) -> None:
        """Train all learners on the network that was given or chosen: one component."""
        classes, known = prepared
        found = self._vectors_of(self.network_, prepared)
        self.path_vectors_ = found.learned
        shape = self._shape(len(classes))
        options, model = self._options(shape, len(known)), self._model(shape)
        plan = self._plan(model, known, options, lambda p: self._fingerprint(p, known.arrays()))
        with plan.run.threads():
            fitted = model.fit(plan)
        kernels = self._kernels_on([("network", self.network_)], prepared)
        self._mix_kernels(kernels, self._kernel_shares(kernels, fitted, known))
        self.classes_ = classes
        given = (fitted.state, 1.0, fitted.best_epochs, found.learned, found.space(self.network_))
        self.components_ = [Component.of(model, *given)]
        self._describe([fitted], shape, options)
        self._calibrate([fitted], known)

    def _resolve_power(self, examples: tuple[Any, ...]) -> None:
        """Set the power of the edge weights where a learner leaves it open: the best for these examples."""
        learners = as_learners(self._owner, self.learner, self.default_learner)
        if not any(isinstance(one.edge_power, str) for one in learners):
            return
        if not hasattr(self, "_choice"):
            self._choice = self._new_choice(examples)
        kinds = self._kinds()
        tried = {
            power: self._choice.add(
                f"edge power {power:g}", self.network_, [with_power(kind, power) for kind in kinds]
            )
            for power in POWERS
        }
        self._choice.train(list(tried.values()), n_parts(held.SHARE), "choosing the edge power")
        chosen = self._choice.best(list(tried.values()), tried[USUAL_POWER])
        self.edge_power_ = next(power for power, one in tried.items() if one is chosen)
        self.selection_results_ = self._choice.results({chosen.key: 1.0}, {chosen.key: self.n_learners})

    # --- learners that are chosen --------------------------------------------------------------------

    def _fit_pool(self, *examples: Any) -> None:
        """Select components from the pool of learners and networks, and train them on all examples."""
        networks = self._pool_networks(examples)
        prepared = classes, known = self._prepare(*examples)
        training = self._judging()
        if not self._can_hold_back(known, training):
            # Nothing to choose by: the usual learner on the network as it is.
            self.network_ = networks[-1][1]
            self._train_one(prepared)
            return
        kernels = self._kernels_on(networks + self._judged_networks(), prepared)
        share = self.parameter_object("path_kernel").share
        pool = Pool(
            self._choice,
            [Place(key, hon) for key, hon in networks],
            {name: one.prediction.of_truth(known) for name, one in kernels.items()},
            known.weights.astype(np.float64),
            check_integer(self._owner, "n_learners", self.n_learners, 1),
            self._round_size(),
            self.seed_,
            None if isinstance(share, str) else float(share),
        )
        selected = pool.select()
        self._mix_kernels(kernels, selected.kernel_shares)
        self.classes_ = classes
        self._train_components(selected, prepared, training, examples)

    def _round_size(self) -> int:
        """Return how many learners in a row hold back every example once."""
        return n_parts(float(self._judging().validation_fraction or held.SHARE))

    def _pool_networks(self, examples: tuple[Any, ...]) -> list[tuple[str, HigherOrderNetwork]]:
        """Return the networks of the pool: first order, then the one given or the best grown."""
        self._forget_choices()
        if structure.is_source(self.network):
            fields = self._grown(examples)
            if len(fields) > 1:
                # Learners that judge in the pool are as many, so that none is trained for the race alone.
                running = self._race(fields, examples, self._round_size())
                kept = [one for one in running if one.is_first_order][:1]
                kept += [one for one in running if not one.is_first_order]
                by_id = {id(one.network): one for one in fields}
                found = [by_id[id(one.network)] for one in kept]
                self.network_ = found[-1].network
                return [(one.key, one.network) for one in found]
            self.network_ = fields[0].network
        else:
            asked = self.parameter_object("structure").given()
            self.network_ = check.network(self._owner, self.network, asked)
        self._choice = self._new_choice(examples)
        first = self.network_.first_order()
        # An entity that is only ever part of a context is not in the first-order network.
        if first is self.network_ or first.n_entities != self.network_.n_entities:
            return [("network", self.network_)]
        return [("first order", first), ("network", self.network_)]

    def _can_hold_back(self, known: Examples, training: Training) -> bool:
        """Return whether there is anything to choose by: examples to hold back, and leave to do so."""
        if self.parameter_object("training").validation_fraction == 0:
            return False
        return bool(splits(known.labels, float(training.validation_fraction or 0), 0, [0])[1].size)

    def _train_components(
        self, selected: Selected, prepared: Prepared, training: Training, examples: tuple[Any, ...]
    ) -> None:
        """Let the learners of each component go on, on all examples."""
        known = prepared.examples
        learned = sum(share for _, _, share in selected.components)
        components, results = [], []
        for number, (candidate, count, share) in enumerate(selected.components):
            # Beside a kernel that predicts alone, learners have nothing to share.
            part = share / learned if learned > 0 else 1 / len(selected.components)
            found = self._vectors_of(candidate.network, prepared, False)
            whole = self._shape(len(prepared.classes), candidate.kinds, candidate.network)
            shape = dataclasses.replace(whole, n_learners=count)
            features = check.user_features(self.features, candidate.network, found.learned)
            model = self._model_on(candidate.network, shape, features)
            options = self._component_options(shape, len(known), training, number)
            mark = lambda p, k=candidate.key: self._fingerprint(p + k, known.arrays())  # noqa: E731
            plan = self._plan(model, known, options, mark)
            with plan.run.threads():
                fitted = model.refit(plan, self._rounds(candidate, count, examples))
            given = (fitted.state, part, fitted.best_epochs, found.learned, found.space(candidate.network))
            components.append(Component.of(model, *given))
            results.append(fitted)
            candidate.searched.clear()
            forget_checkpoints(shape, options)
        self.components_, self.path_vectors_ = components, components[0].path_vectors
        used = [one.model.network for one in sorted(components, key=lambda one: -one.share)]
        self.network_ = next((hon for hon in used if hon.n_conditional), used[0])
        parts = selected.components
        self.selection_results_ = self._choice.results(
            {one.key: share for one, _, share in parts}, {one.key: count for one, count, _ in parts}
        )
        self._describe(
            results, components[0].model.shape, self._options(components[0].model.shape, len(known))
        )
        self._calibrate(results, known)

    def _component_options(
        self, shape: Architecture, n_examples: int, training: Training, number: int
    ) -> list[TrainingOptions]:
        """Return the options of a component's refit, with a checkpoint of its own."""
        (options,) = self._options(shape, n_examples, training)
        checkpoint = self.parameter_object("training").checkpoint
        if checkpoint is None:
            return [options]
        path = Path(checkpoint)
        return [dataclasses.replace(options, checkpoint=path.with_name(f"{path.name}.component{number}"))]

    def _rounds(self, candidate: Candidate, count: int, examples: tuple[Any, ...]) -> list[Searched]:
        """Return the searches of a candidate's learners; after a kill they are repeated."""
        known = sum(len(one.held.positions) for one in candidate.searched)
        if known < count:
            candidate.searched.clear()
            size, last = self._round_size(), candidate.learners
            for start in range(0, last, size):
                # In the company that they were trained in before, so that not a bit differs.
                learners = range(start, min(start + size, last))
                candidate.searched += self._search(examples, candidate, learners)
        return candidate.searched

    def _describe(
        self, results: Sequence[Fitted], shape: Architecture, options: Sequence[TrainingOptions]
    ) -> None:
        """Set the fitted attributes that tell of the training, and remove the checkpoints."""
        import pandas as pd

        several = len(results) > 1
        rows = [
            {**row, "component": number} if several else row
            for number, fitted in enumerate(results)
            for row in fitted.history
        ]
        self.history_ = pd.DataFrame(rows)
        self.best_epochs_ = np.concatenate([fitted.best_epochs for fitted in results])
        self._forget_checkpoints(shape, options)
