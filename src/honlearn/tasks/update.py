"""A fitted classifier on an updated network: entities and contexts that no fit has seen are predicted.

In: a fitted :class:`~honlearn.DGEClassifier` and more paths, counts of all paths, or a network. Out: another
classifier with the same weights. No learner is trained:

- Entities of the fit keep their identity, their path vectors and the kernel's prediction. They are read, and
  predict, in the contexts and among the neighbours that the updated network has.
- New entities have no identity. In its place learners read the vector that stands for a hidden identity, or
  nothing where they have none (as an entity reads of itself in training). Their path vectors are projected
  into the space of the fitted ones (:mod:`honlearn.hon.path_space`), and the kernel predicts from those,
  fitted again to the labelled entities as the updated network has them.

The networks: from counts each is grown again by the rule that made it; more paths are added to the counts
that the model keeps. A model that was fitted on a network has no counts: more paths are counted on the
contexts that the network has (:func:`honlearn.hon.network_updates.add_paths`).
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.ensemble.loop import State
from honlearn.errors import InputError, ParameterError, listed
from honlearn.hon.build import GramCounts
from honlearn.hon.embedding import unit
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import add_paths, with_entities
from honlearn.hon.statistics import GrowParameters
from honlearn.paths.source import read_paths
from honlearn.tasks import parameters as check
from honlearn.tasks.component import Component
from honlearn.tasks.held_back import HeldBack
from honlearn.tasks.storage import SavedCounts

if TYPE_CHECKING:
    from honlearn.tasks.nodes import DGEClassifier

# A table of identities in the weights of an ensemble, and the vector that stands for a hidden one.
_IDENTITY, _MASK = "identity", "mask"


def updated(model: DGEClassifier, source: Any, features: Any, **reader_options: Any) -> DGEClassifier:
    """Return the classifier on the network that `source` gives; see :meth:`honlearn.DGEClassifier.update`."""
    if isinstance(source, (HigherOrderNetwork, GramCounts)) and reader_options:
        raise ParameterError(
            f"{model._owner}.update: {listed(reader_options)} say how paths are read; this is a "
            f"{type(source).__name__}"
        )
    networks = _Networks(model, source, reader_options)
    main = networks.main
    rows = _rows(model.network_, main)
    out = copy.copy(model)
    out.network_, out.counts_ = main, networks.counts
    grown = isinstance(networks.counts, GramCounts) and not isinstance(model.network, HigherOrderNetwork)
    out.network = networks.counts if grown else main
    out.features = _features(model, main, rows, features)
    in_fit = np.where(rows >= 0, model.in_fit_[rows], False)
    # An entity that came with an earlier update is placed anew, by all of its paths.
    columns = np.where(in_fit, rows, -1)
    out.in_fit_ = in_fit
    out.components_ = [_component(out, one, networks, columns) for one in model.components_]
    out.path_vectors_ = out.components_[0].path_vectors
    _kernels(out, model, networks, columns)
    out.held_back_ = _held_back(model.held_back_, rows, model.network_.n_entities)
    # They are of the entities and paths of the fit.
    out.fit_counts_ = None
    return out


def with_isolated(model: DGEClassifier, names: list[str]) -> DGEClassifier:
    """Return the classifier with entities of which nothing is known but the name."""
    return updated(model, _Isolated(names), None)


class _Isolated(list[str]):
    """Names of entities without paths."""


class _Networks:
    """The updated network for each that a model reads; each is made once."""

    def __init__(self, model: DGEClassifier, source: Any, options: dict[str, Any]) -> None:
        self._owner, self._old, self._source = model._owner, model.network_, source
        self.counts: GramCounts | SavedCounts | None = (
            model.counts_ if isinstance(source, _Isolated) else None
        )
        if isinstance(source, GramCounts):
            self.counts = source
        elif not isinstance(source, (HigherOrderNetwork, _Isolated)):
            self._source = read_paths(source, **options)
            if model.counts_ is not None:
                known = model.counts_
                known = known.load() if isinstance(known, SavedCounts) else known
                self._source = self.counts = known.update(self._source)
        parts = [(one.network, one.rule) for one in model.kernel_parts_]
        read = [(one.model.network, None) for one in model.components_] + parts
        # A network that is given can stand for one with contexts.
        self._higher = {
            rule if hon is None else id(hon) for hon, rule in read if hon is None or hon.n_conditional
        }
        self._made: dict[object, HigherOrderNetwork] = {}
        self.main = self.of(model.network_, model.network_.parameters)

    def of(self, old: HigherOrderNetwork | None, rule: GrowParameters | None) -> HigherOrderNetwork:
        """Return the updated network of one that the model reads, or of one that a rule makes."""
        if old is not None and old is not self._old and not old.n_conditional:
            if "first" not in self._made:
                first = self.main.first_order()
                self._made["first"] = with_entities(first, self.main.vocabulary.names)
            return self._made["first"]
        key = rule if old is None else id(old)
        if key not in self._made:
            self._made[key] = self._make(old, rule)
        return self._made[key]

    def _make(self, old: HigherOrderNetwork | None, rule: GrowParameters | None) -> HigherOrderNetwork:
        if isinstance(self._source, GramCounts):
            if rule is None:
                raise InputError(
                    f"{self._owner}.update: the network of this model was not grown by a rule that counts "
                    "could follow; give the updated network, or the new paths"
                )
            return self._source.grow_by(rule)
        if isinstance(self._source, _Isolated):
            # No network tells anything of them.
            return with_entities(self.main if old is None else old, self._source)
        if isinstance(self._source, HigherOrderNetwork):
            if old is not None and not old.n_conditional:
                return with_entities(self._source.first_order(), self._source.vocabulary.names)
            if len(self._higher) < 2:
                return self._source
        if old is None or isinstance(self._source, HigherOrderNetwork):
            raise InputError(
                f"{self._owner}.update: this model reads several higher-order networks; give the counts of "
                "all paths (honlearn.count_grams), from which each is grown again"
            )
        return add_paths(old, self._source)


def _rows(old: HigherOrderNetwork, new: HigherOrderNetwork) -> NDArray[np.int64]:
    """Return the entity of the old network that each of the new one is, −1 for new ones."""
    known = {name: code for code, name in enumerate(old.vocabulary.names)}
    return np.array([known.get(name, -1) for name in new.vocabulary.names], np.int64)


def _held_back(held: HeldBack, rows: NDArray[np.int64], size: int) -> HeldBack:
    """Return the held-back predictions with places in the updated network, without those who are gone."""
    places = np.full(size, -1, np.int32)
    places[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    there = places[held.nodes] >= 0
    return HeldBack(places[held.nodes][there], held.labels[there], held.proba[there])


def _features(model: DGEClassifier, network: HigherOrderNetwork, rows: NDArray[np.int64], given: Any) -> Any:
    """Return the features of the updated network's entities: those given, or the model's."""
    if given is not None:
        if model.features is None:
            raise ParameterError(f"{model._owner}.update: this model was fitted without features")
        return given
    if model.features is None or hasattr(model.features, "reindex"):
        return model.features
    new = np.flatnonzero(rows < 0)
    if new.size:
        names = [network.vocabulary[int(code)] for code in new]
        raise InputError(
            f"{model._owner}.update: {len(new):,} entities are new and have no features: "
            f"{listed(names, 5)}; pass features= for all entities of the updated network"
        )
    known = model.features
    return (known.tocsr() if hasattr(known, "tocsr") else np.asarray(known))[rows]


def _component(
    out: DGEClassifier,
    old: Component,
    networks: _Networks,
    columns: NDArray[np.int64],
) -> Component:
    """Return the component on its updated network."""
    network = networks.of(old.model.network, old.model.network.parameters)
    if network.vocabulary != out.network_.vocabulary:
        raise InputError(f"{out._owner}.update: the networks of this model would have different entities")
    vectors, space = old.path_vectors, old.space
    if vectors is not None:
        new, vectors = np.flatnonzero(columns < 0), vectors[np.maximum(columns, 0)]
        if new.size:
            if space is None:
                raise _too_old(out._owner)
            vectors[new] = unit(space.vectors(network, new, columns)).astype(np.float32)
        space = None if space is None else space.taken(columns)
    features = check.user_features(out.features, network, vectors)
    shape = dataclasses.replace(old.model.shape, n_entities=network.n_entities)
    state = extended(old.ensemble.state_dict(), columns)
    model = out._model_on(network, shape, features)
    return Component.of(model, state, old.share, old.epochs, vectors, space)


def extended(state: State, rows: NDArray[np.int64]) -> State:
    """Return the weights with identities for other entities: for entity c that of row ``rows[c]``.

    One that has none (−1) gets the vector that stands for a hidden identity, or zeros where there is no such
    vector: what an input that was dropped out is.
    """
    out = {name: tensor.cpu() for name, tensor in state.items()}
    place = torch.from_numpy(np.maximum(rows, 0))
    there = torch.from_numpy(rows >= 0)[None, :, None]
    for name, table in list(out.items()):
        owner, _, last = name.rpartition(".")
        if last == _IDENTITY:
            mask = out.get(f"{owner}.{_MASK}")
            missing = torch.zeros((), dtype=table.dtype) if mask is None else mask
            out[name] = torch.where(there, table[:, place], missing)
    return out


def _kernels(
    out: DGEClassifier, model: DGEClassifier, networks: _Networks, columns: NDArray[np.int64]
) -> None:
    """Set the kernel's predictions for the entities of the updated network, and the terms of these."""
    out.kernel_terms_ = ()
    if model.kernel_proba_ is None:
        return
    new = np.flatnonzero(columns < 0)
    proba = model.kernel_proba_[np.maximum(columns, 0)]
    parts = []
    if new.size:
        if not model.kernel_parts_ and model.kernel_share_ > 0:
            raise _too_old(out._owner)
        proba[new] = np.float32(1 / proba.shape[1])
        made = [(part, networks.of(part.network, part.rule)) for part in model.kernel_parts_]
        if made:
            proba[new] = np.sum([part.proba(hon, new, columns) for part, hon in made], axis=0)
    for part in model.kernel_parts_:
        network = None if part.network is None else networks.of(part.network, part.rule)
        read = part.rows(networks.of(part.network, part.rule), new, columns) if new.size else None
        parts.append(part.updated(network, read, columns))
    out.kernel_proba_, out.kernel_parts_ = proba, parts
    known = [(part.share, part.terms) for part in parts if part.terms is not None]
    # Without any labelled entity left there is nothing to tell.
    if len(known) == len(parts) and all(len(terms.labelled.nodes) for _, terms in known):
        out.kernel_terms_ = tuple(known)


def _too_old(owner: str) -> InputError:
    return InputError(
        f"{owner}.update: this model was saved by an older honlearn, without the space of its path vectors; "
        "train it again"
    )
