"""What comes next, and how surprising was it? A smoothed model of steps over all contexts of the counts.

In: :class:`~honlearn.hon.build.GramCounts`. Out: :class:`StepModel`: the likeliest next steps after a
history, one or a million, and the bits of paths and steps. Every entity has a probability above 0 after
every history, END is an outcome, and so is "an entity never seen", once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, check_integer
from honlearn.hon.steps.automaton import END, UNKNOWN, Automaton, follow, follow_steps, likeliest
from honlearn.hon.steps.contexts import context_tree
from honlearn.hon.steps.scoring import path_bits
from honlearn.hon.steps.smoothing import smooth
from honlearn.hon.trie import Trie
from honlearn.jit import njit
from honlearn.paths.paths import Paths, as_whole, check_offsets
from honlearn.paths.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas

END_NAME = "<end>"
"""How the end of a path is shown in tables."""


@dataclass(frozen=True, eq=False)
class NextSteps:
    """The likeliest next steps of many histories, best first.

    codes: int32 [n, top]; −2 is END, −1 nothing more. probabilities: float64 [n, top].
    """

    codes: NDArray[np.int32]
    probabilities: NDArray[np.float64]
    vocabulary: Vocabulary

    def names(self, row: int) -> list[str]:
        """Return the names of one history's steps; END is ``<end>``."""
        return [step_name(self.vocabulary, code) for code in self.codes[row].tolist() if code != UNKNOWN]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class PathScores:
    """−log2 of the probabilities of paths: float64 [n] per path, float32 [T] per step.

    The steps of path i are ``steps[offsets[i]:offsets[i + 1]]``; where the model knows END it is the last.
    """

    bits: NDArray[np.float64]
    steps: NDArray[np.float32]
    offsets: NDArray[np.int64]

    @property
    def bits_per_step(self) -> NDArray[np.float64]:
        """Bits of each path over its number of steps [n]."""
        return self.bits / np.maximum(np.diff(self.offsets), 1)

    def hardest(self) -> NDArray[np.int64]:
        """Return which step of each path took most bits, 0 for the first [n]; −1 for a path without any."""
        return _hardest(self.steps, self.offsets)

    def __len__(self) -> int:
        return len(self.bits)


@njit
def _hardest(steps: NDArray[np.float32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    out = np.full(len(offsets) - 1, -1, np.int64)
    for i in range(len(out)):
        for at in range(offsets[i], offsets[i + 1]):
            if out[i] < 0 or steps[at] > steps[offsets[i] + out[i]]:
                out[i] = at - offsets[i]
    return out


def step_name(vocabulary: Vocabulary, code: int) -> str:
    """Return the name of a step; END is ``<end>``."""
    return END_NAME if code == END else vocabulary[code]


class StepModel:
    """The distribution of the next step after any history.

    >>> from honlearn.hon.build import count_grams
    >>> model = StepModel.of(count_grams([["A", "C", "D"], ["B", "C", "E"]] * 20, order=2))
    >>> model.next_steps(["A", "C"], top=2)["step"].tolist()
    ['D', 'E']
    >>> scores = model.score([["A", "C", "D"], ["A", "C", "E"]])
    >>> bool(scores.bits[0] < scores.bits[1]), scores.hardest().tolist()[1]
    (True, 2)
    """

    def __init__(self, automaton: Automaton, vocabulary: Vocabulary) -> None:
        self.automaton = automaton
        self.vocabulary = vocabulary

    @classmethod
    def of(cls, counts: Any, order: int | None = None, *, weighted: bool = True) -> StepModel:
        """Return the model of counts, of at most `order`; `weighted` False trusts every context."""
        order = check_integer("StepModel", "order", counts.order if order is None else order, 1, counts.order)
        trie: Trie = counts.levels[: order + 1]
        tree = context_tree(trie)
        smoothed = smooth(tree, weighted=weighted)
        n = tree.n_contexts
        target = np.arange(len(tree), dtype=np.int32)
        target[n:] = tree.suffix[n:]
        automaton = Automaton(
            tree.first, tree.newest, smoothed.bits, target, smoothed.end, smoothed.backoff,
            tree.suffix[:n].astype(np.int32), tree.start, smoothed.base, tree.n_entities,
            order,
        )  # fmt: skip
        return cls(automaton, counts.vocabulary)

    @property
    def knows_end(self) -> bool:
        """Whether END is an outcome; it is not for the model of a network."""
        return self.automaton.knows_end

    def states(self, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the state after each history [n]; a code of −1 is an entity that the model never saw."""
        codes, offsets = _checked(codes, offsets, self.automaton.n_entities)
        a = self.automaton
        return follow(codes, offsets, a.first, a.symbol, a.target, a.backoff, a.shorter, a.start, a.memory)

    def states_of_steps(self, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the state before each step of paths from their start [T]."""
        codes, offsets = _checked(codes, offsets, self.automaton.n_entities)
        a = self.automaton
        return follow_steps(codes, offsets, a.first, a.symbol, a.target, a.backoff, a.shorter, a.start)

    def next_codes(self, codes: NDArray[np.int32], offsets: NDArray[np.int64], top: int = 5) -> NextSteps:
        """Return the `top` likeliest next steps of many histories, given as codes and offsets."""
        top = check_integer("next_steps", "top", top, 1)
        top = min(top, self.automaton.n_entities + self.knows_end)
        return self.likeliest(self.states(codes, offsets), top)

    def likeliest(self, states: NDArray[np.int32], top: int) -> NextSteps:
        """Return the likeliest next steps from states."""
        a = self.automaton
        found, bits = np.empty((len(states), top), np.int32), np.empty((len(states), top))
        by_state = np.argsort(states, kind="stable")
        likeliest(states, by_state, a.first, a.symbol, a.bits, a.end, a.backoff, a.shorter, found, bits)
        np.negative(bits, out=bits)
        return NextSteps(found, np.exp2(bits, out=bits), self.vocabulary)

    def next_steps(self, history: Iterable[object], top: int = 5) -> pandas.DataFrame:
        """Return the likeliest next steps after a path so far, given by names: step, probability."""
        import pandas as pd

        if isinstance(history, (str, bytes)):
            raise InputError(f"a history is a list of names, oldest first. Got the text {history!r} instead.")
        codes = np.array([self.vocabulary.index(name) for name in history], np.int32)
        found = self.next_codes(codes, np.array([0, len(codes)]), top)
        names = found.names(0)
        return pd.DataFrame({"step": names, "probability": found.probabilities[0, : len(names)]})

    def score(self, paths: Any, **reader_options: Any) -> PathScores:
        """Return the bits of each path and step; paths are what :func:`honlearn.read_paths` takes."""
        from honlearn.paths.source import read_paths

        return self.score_codes(*self.translated(read_paths(paths, **reader_options)))

    def translated(self, paths: Paths) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return codes in the model's own vocabulary, −1 for names that it does not have, and offsets."""
        if paths.vocabulary is self.vocabulary or paths.vocabulary == self.vocabulary:
            return paths.codes, paths.offsets
        return paths.vocabulary.codes_in(self.vocabulary)[paths.codes], paths.offsets

    def score_codes(self, codes: NDArray[np.int32], offsets: NDArray[np.int64]) -> PathScores:
        """Return the bits of paths that are given as codes of the model's vocabulary and offsets."""
        codes, offsets = _checked(codes, offsets, self.automaton.n_entities)
        return PathScores(*path_bits(self.automaton, codes, offsets))

    def __deepcopy__(self, memo: dict[int, Any]) -> StepModel:
        return self

    def __repr__(self) -> str:
        return f"StepModel({len(self.vocabulary):,} entities, {len(self.automaton.end):,} contexts)"


def _checked(
    codes: NDArray[Any], offsets: NDArray[Any], n_entities: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return both in the types of compiled loops, which trust them."""
    codes, offsets = as_whole("codes of entities", codes, np.int32), as_whole("offsets", offsets, np.int64)
    check_offsets(offsets, len(codes))
    if codes.size and (codes.min() < UNKNOWN or codes.max() >= n_entities):
        raise InputError(
            f"codes of entities must be 0 to {n_entities - 1:,}, places in the vocabulary, or −1 for an "
            f"unknown one. Got {codes.min()} to {codes.max()} instead."
        )
    return codes, offsets
