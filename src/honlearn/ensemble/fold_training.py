"""Training on folds of pairs: a batch is of one fold and passes messages in the network without that fold.

In: :class:`~honlearn.ensemble.pair_folds.FoldedPairs`. Out: as for nodes. An epoch visits the folds in random
order and trains on all linked pairs and, for each of them, on one unlinked pair that is drawn from the pool
anew. The validation part is some folds, for all learners the same, each read in the network without it, as a
test is. While other folds are trained on, their links are part of the network that passes messages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from honlearn.engine.context import ForwardContext
from honlearn.ensemble.pair_folds import FoldedPairs
from honlearn.ensemble.pair_training import PairTrainer
from honlearn.ensemble.pairs import pair_batch, with_extras
from honlearn.seeds import Label, generator


class FoldTrainer(PairTrainer):
    """A :class:`PairTrainer` over folds."""

    @property
    def _folded(self) -> FoldedPairs:
        examples = self.problem.examples
        assert isinstance(examples, FoldedPairs)
        return examples

    def _start(self) -> None:
        """Set random streams and which folds are trained on; relatives go by pair."""
        self._streams = self._dropout_streams()
        folded, held = self._folded, 0
        if self.schedule is None:
            held = validation_folds(len(folded.views), self.options.validation_fraction)
        train, kept = np.flatnonzero(folded.folds >= held), np.flatnonzero(folded.folds < held)
        parts = (train, self._balanced(kept, "validation"))
        self._train, self._held = (np.repeat(part[None], len(self.owners), 0) for part in parts)
        self._drawn: dict[int, NDArray[np.int32]] = {}

    def _balanced(self, positions: NDArray[np.int64], *labels: Label) -> NDArray[np.int64]:
        """Return all linked pairs at these positions and, from a pool, as many of the others; ascending."""
        folded = self._folded
        linked = folded.labels[positions] == 1
        if not folded.pooled:
            return positions
        others = positions[~linked]
        random = generator(self.problem.seed, "negatives", *labels)
        drawn = random.permutation(len(others))[: int(linked.sum())]
        return np.sort(np.concatenate([positions[linked], others[drawn]]))

    def _batches(self) -> list[NDArray[np.int64]]:
        """Return the positions [G, b] of each batch of this epoch, each of one fold."""
        epoch, folded, seed = (self.at.stage, self.at.epoch), self._folded, self.problem.seed
        train, random = self._train[0], generator(self.problem.seed, "order", "folds", *epoch)
        out = []
        for fold in random.permutation(np.unique(folded.folds[train])).tolist():
            some = self._balanced(train[folded.folds[train] == fold], fold, *epoch)
            some = generator(seed, "order", "joint", fold, *epoch).permutation(some)
            parts = np.array_split(some, max(1, -(-len(some) // self.options.batch_size)))
            out += [np.repeat(part[None], len(self.owners), 0) for part in parts if len(part)]
        return out

    def _roots(self, positions: NDArray[np.int64], *occasion: Label) -> Any:
        """Return the :class:`PairBatch` of pairs of one fold, the same for all groups."""
        problem, folded, some = self.problem, self._folded, positions[0]
        view = folded.views[int(folded.folds[some[0]])]
        pairs = folded.pairs[some]
        drawn = self._relatives_of(some, *occasion)
        near = view.near[0] if problem.part is None else view.near[0].only(problem.part)
        batch = pair_batch(drawn, view.sampler.possible(pairs, False), near)
        return with_extras(batch, folded.read(some))

    def _relatives_of(self, positions: NDArray[np.int64], *occasion: Label) -> NDArray[np.int32]:
        """Return the relatives of pairs of one fold, [L, b, 2].

        No pair of a fold has an edge in its network, so Eq. 4 is Eq. 3 here, as it is for tested pairs. A
        learner has the same relatives of a pair in every epoch, so they are drawn once.
        """
        folded, seed = self._folded, self.problem.seed
        fold = int(folded.folds[positions[0]])
        draw = folded.views[fold].sampler.draw
        if occasion:
            return draw(folded.pairs[positions], seed, self.members, *occasion, joint=False)
        if fold not in self._drawn:
            own = folded.pairs[folded.folds == fold]
            self._drawn[fold] = draw(own, seed, self.members, joint=False)
        return self._drawn[fold][:, folded.places[positions]]

    @torch.no_grad()
    def _held_logits(self) -> torch.Tensor:
        """Return the logits of each group on the validation part, [G, h, 2]."""
        self.ensemble.eval()
        occasion: tuple[Label, ...] = ("validation",) if self.shape.variant == "batch" else ()
        folded, near, size = self._folded, self.problem.near, self._pairs_at_once
        held, parts, order = self._held[0], [], []
        for fold in np.unique(folded.folds[held]).tolist():
            places = np.flatnonzero(folded.folds[held] == fold)
            for start in range(0, len(places), size):
                # Steps of their own, so that parts do not share the neighbours they sample.
                ctx = ForwardContext(self.run, self._streams, (self.at.epoch << 20) + int(places[start]))
                some = self._held[:, places[start : start + size]]
                with self.run.step():
                    parts.append(self.ensemble(self._roots(some, *occasion), near, ctx))
                order.append(places[start : start + size])
        back = torch.from_numpy(np.argsort(np.concatenate(order)))
        return torch.cat(parts, 1)[:, back.to(parts[0].device)]


def validation_folds(n_folds: int, fraction: float) -> int:
    """Return how many folds are held back: at least one unless the fraction is 0, and never all.

    >>> [validation_folds(10, fraction) for fraction in (0.0, 0.02, 0.1, 0.25, 0.9)]
    [0, 1, 1, 2, 9]
    """
    if fraction <= 0 or n_folds < 2:
        return 0
    return min(max(1, round(n_folds * fraction)), n_folds - 1)
