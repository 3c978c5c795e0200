"""Small planted graphs, small settings, and fits that several tests share."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import honlearn as hl
from honlearn.baselines.catalogue import BASELINES, Listed
from honlearn.experiments.registry import Entry, find_model
from honlearn.hon.network import HigherOrderNetwork
from honlearn.tasks.link_split import LinkSplit, hide_pairs, split_links

# What is set where a model has the parameter; the rest is as it comes.
SMALL: dict[str, Any] = {
    "width": 16,
    "widths": (16, 16),
    "batch_size": 128,
    "dimensions": 16,
    "n_heads": 2,
    "max_epochs": 4,
    "patience": 4,
    "n_epochs": 4,
    "n_batches": 2,
    "n_walks": 40,
    "n_roots": 20,
    "max_pairs": 200,
    "n_threads": 1,
    "random_state": 0,
}
# Enough to learn what is planted, whatever the learning rate of the paper.
ENOUGH: dict[str, Any] = {
    **SMALL,
    "widths": (32, 32),
    "max_epochs": 50,
    "n_epochs": 10,
    "learning_rate": 0.02,
    # A subgraph of 20 roots holds the ends of eight pairs.
    "n_roots": 200,
    "validation_fraction": 0.0,
    "dropout": 0.2,
    "input_dropout": 0.2,
    "hidden_dropout": 0.0,
}
# An epoch has many steps, or a step moves little.
OWN_EPOCHS = {"seal": 10, "graphsage": 30, "gin": 30, "gcnii": 80}
GROUPS, SIZE = ("ash", "elm", "oak"), 14
LONE = "ash00"


def label(listed: Listed) -> str:
    """Return the name of a test of this baseline."""
    return f"{listed.name}-{listed.task}"


def entry(listed: Listed) -> Entry:
    """Return the registered model."""
    return find_model(listed.name, listed.task)


def settings_for(listed: Listed, wanted: dict[str, Any] = SMALL) -> dict[str, Any]:
    """Return those of the wanted settings that the model has."""
    known = entry(listed).keywords()
    settings = {name: value for name, value in wanted.items() if name in known}
    if wanted is ENOUGH and listed.name in OWN_EPOCHS:
        settings["max_epochs"] = OWN_EPOCHS[listed.name]
    return settings


@cache
def paths() -> list[list[str]]:
    """Return walks over three communities, sparse inside and rarely linked, where the past steers."""
    random = np.random.default_rng(0)
    names = [f"{word}{i:02d}" for word in GROUPS for i in range(SIZE)]
    total = len(names)
    same = np.arange(total)[:, None] // SIZE == np.arange(total) // SIZE
    linked = random.random((total, total)) < np.where(same, 0.6, 0.01)
    np.fill_diagonal(linked, False)
    weight = linked * random.exponential(1.0, linked.shape)
    walks = []
    for _ in range(1500):
        walk = [int(random.integers(total))]
        for _ in range(3):
            share = weight[walk[-1]].copy()
            if len(walk) > 1:
                share[(np.arange(total) + walk[-2]) % 3 == 0] *= 6
            walk.append(int(random.choice(total, p=share / share.sum())))
        walks.append([names[i] for i in walk])
    return walks


@cache
def network(order: int = 2) -> HigherOrderNetwork:
    """Return the network of the walks."""
    return hl.grow(paths(), order=order, tau=0.5, min_support=3)


@cache
def nodes() -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the names of all entities, in no order, and the community of each as a word."""
    names = np.random.default_rng(1).permutation(np.array(list(network().vocabulary)))
    return names, np.array([name[:3] for name in names])


@cache
def held_out() -> LinkSplit:
    """Return test pairs and the network without them."""
    return split_links(network(), 0.15, seed=0)


@cache
def lonely() -> HigherOrderNetwork:
    """Return the network without the edges of one entity."""
    whole = network()
    code = whole.vocabulary.index(LONE)
    others = np.delete(np.arange(whole.n_entities), code)
    return hide_pairs(whole, np.stack([np.full_like(others, code), others], 1).astype(np.int32))


def train(listed: Listed, on: HigherOrderNetwork, **settings: Any) -> Any:
    """Return the model, fitted to two thirds of the nodes, or to the links."""
    model = entry(listed).make(on, **{**settings_for(listed), **settings})
    if listed.task == "links":
        return model.fit()
    names, groups = nodes()
    part = len(names) * 2 // 3
    return model.fit(names[:part], groups[:part])


def answers(listed: Listed, model: Any) -> NDArray[np.float32]:
    """Return probabilities of all nodes, or of the test pairs."""
    asked = nodes()[0] if listed.task == "nodes" else held_out().names
    return np.asarray(model.predict_proba(asked))


@cache
def trained(name: str, task: str) -> Any:
    """Return a fit that is shared, so do not change it."""
    return train(next(one for one in BASELINES if (one.name, one.task) == (name, task)), network())
