"""Models of the next step that are compared, each asked the same: bits and rank of every step of test paths.

In: training paths, test paths, an order and a seed. Out: :class:`StepScores`. What is asked is the next
entity after at least one, given that the path goes on: a network does not know where paths end, so models
that do are scaled to p(x) / (1 − p(END)), and END is in no list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from honlearn.experiments.registry import find_among
from honlearn.hon.build import count_grams
from honlearn.hon.steps.automaton import END
from honlearn.hon.steps.model import StepModel
from honlearn.paths.paths import Paths

if TYPE_CHECKING:
    from honlearn.baselines.gru import StepGRU

LONGEST_LIST = 100
"""Ranks beyond this count as never: their reciprocal is 0."""


@dataclass(frozen=True, eq=False)
class StepScores:
    """Of every step asked about: bits, rank (1 the likeliest, 0 beyond the list), and how many came before.

    float64 [n], int64 [n], int64 [n].
    """

    bits: NDArray[np.float64]
    rank: NDArray[np.int64]
    position: NDArray[np.int64]


Predict = Callable[[Paths, Paths, int, int], StepScores]


def positions(paths: Paths) -> NDArray[np.int64]:
    """Return how many entities came before each entity of its path [T]."""
    return np.arange(len(paths.codes)) - np.repeat(paths.offsets[:-1], paths.lengths)


def ask(model: StepModel, test: Paths) -> StepScores:
    """Return bits and ranks of the steps of test paths, by a model of steps."""
    position = positions(test)
    asked = position > 0
    codes, offsets = model.translated(test)  # a network lacks entities that only the test paths have
    scores = model.score_codes(codes, offsets)
    ends = np.zeros(len(scores.steps), bool)
    if model.knows_end:
        ends[scores.offsets[1:] - 1] = True
    states = model.states_of_steps(codes, offsets)[asked]
    bits = scores.steps[~ends].astype(np.float64)[asked]
    if model.knows_end:
        bits = bits + np.log2(np.maximum(-np.expm1(-model.automaton.end[states] * np.log(2.0)), 1e-300))
    return StepScores(bits, _ranks(model, states, codes[asked]), position[asked])


def _ranks(model: StepModel, states: NDArray[np.int32], codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the place of each code in the list of its state, END left out; 0 beyond the list."""
    distinct, which = np.unique(states, return_inverse=True)
    top = min(LONGEST_LIST + 1, len(model.vocabulary) + model.knows_end)
    rank = np.zeros(len(codes), np.int64)
    by = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[by], np.arange(len(distinct) + 1))
    for begin in range(0, len(distinct), 4096):
        lists = model.likeliest(distinct[begin : begin + 4096], top).codes
        rows = by[starts[begin] : starts[min(begin + 4096, len(distinct))]]
        own = lists[which[rows] - begin]
        hit = own == codes[rows][:, None]
        place = hit.argmax(axis=1)
        end_before = (own == END).argmax(axis=1)
        has_end = (own == END).any(axis=1)
        rank[rows] = np.where(hit.any(axis=1), place + 1 - (has_end & (end_before < place)), 0)
    rank[(rank > LONGEST_LIST) | (codes < 0)] = 0
    return rank


def back_off(train: Paths, test: Paths, order: int, seed: int) -> StepScores:
    """Return the scores of the smoothed model of all orders up to `order`."""
    return ask(StepModel.of(count_grams(train, order)), test)


def first_order(train: Paths, test: Paths, order: int, seed: int) -> StepScores:
    """Return the scores of the smoothed model that knows where one is, and no more."""
    return ask(StepModel.of(count_grams(train, 1)), test)


def network(train: Paths, test: Paths, order: int, seed: int) -> StepScores:
    """Return the scores of the network grown from the training paths."""
    from honlearn.hon.steps.network_model import network_model

    return ask(network_model(count_grams(train, order).grow()), test)


def popular(train: Paths, test: Paths, order: int, seed: int) -> StepScores:
    """Return the scores of how often each entity is entered, whatever came before."""
    times = np.ones(len(train), np.int64) if train.counts is None else train.counts
    entered = positions(train) > 0
    weight = np.repeat(times, train.lengths)[entered]
    count = np.bincount(train.codes[entered], weight, len(train.vocabulary)) + 0.5
    place = np.empty(len(count), np.int64)
    place[np.argsort(-count, kind="stable")] = np.arange(1, len(count) + 1)
    position = positions(test)
    codes = test.codes[position > 0]
    rank = np.where(place <= LONGEST_LIST, place, 0)[codes]
    return StepScores(-np.log2(count / count.sum())[codes], rank, position[position > 0])


def gru(train: Paths, test: Paths, order: int, seed: int) -> StepScores:
    """Return the scores of a recurrent network; see :mod:`honlearn.baselines.gru`."""
    from honlearn.baselines.contract import threads
    from honlearn.baselines.gru import fit_gru

    with threads(1, "gru"):  # small products: more threads only wait for each other
        return _asked_gru(fit_gru(train, seed), test)


def _asked_gru(model: StepGRU, test: Paths) -> StepScores:
    import torch

    from honlearn.baselines.gru import batches

    found: list[tuple[NDArray[np.int64], ...]] = []
    bits: list[NDArray[np.float64]] = []
    n = len(test.vocabulary)
    with torch.no_grad():
        for rows, codes, then in batches(test, np.arange(len(test)), 256):
            asked = (then >= 0) & (then < n)
            scores = torch.log_softmax(model(codes)[asked][:, :n].double(), 1)
            own = scores.gather(1, then[asked][:, None])
            better = (scores > own).sum(1)
            row, at = np.nonzero(asked.numpy())
            found.append((rows[row], at + 1, 1 + better.numpy()))
            bits.append(-own[:, 0].numpy() / np.log(2.0))
    row, position, rank = (np.concatenate(part) for part in zip(*found, strict=True))
    by = np.lexsort((position, row))
    rank = np.where(rank <= LONGEST_LIST, rank, 0)
    return StepScores(np.concatenate(bits)[by], rank[by], position[by])


MODELS: dict[str, Predict] = {
    "back-off": back_off,
    "network": network,
    "first-order": first_order,
    "popular": popular,
    "gru": gru,
}
BY_ORDER = ("back-off", "network")
"""Models that are tried with each order."""
WITH_SETS = ("back-off", "first-order")
"""Models whose probabilities can be calibrated for sets, END among the outcomes."""


def find_next_model(name: str) -> str:
    """Return the name as it is known, or raise."""
    return find_among(name, MODELS, "next")
