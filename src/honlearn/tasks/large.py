"""Large networks: sampled neighbourhoods, groups of learners, and what is told of them.

In: learners, a network and the number of learners. Out: learners with fan-outs, the size of groups, and
sentences for the progress line and the model card. Whole neighbourhoods take time and memory by edges times
learners; a sampled step does not. Fan-outs that are given stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.base import clone

from honlearn.engine.runtime import Runtime
from honlearn.ensemble import memory
from honlearn.ensemble.groups import Workers
from honlearn.ensemble.loop import TrainingOptions
from honlearn.ensemble.memory import Estimate
from honlearn.ensemble.node_model import NodeModel
from honlearn.errors import check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.learners import Learner
from honlearn.progress import say
from honlearn.sizes import shown_size

# Edges times learners above which neighbourhoods are sampled; Wiki with 16 learners has 1.2 million.
SAMPLED_ABOVE = 50_000_000
# The paper's: 64 neighbours each way of a root, then one of each of these.
_FIRST, _LATER = 64, 1


def with_fan_outs(
    kinds: Sequence[Learner], network: HigherOrderNetwork, n_learners: int
) -> tuple[Learner, ...]:
    """Return the learners, those that can sample with fan-outs where the network is large."""
    if network.n_edges * n_learners <= SAMPLED_ABOVE:
        return tuple(kinds)
    return tuple(_sampling(kind) if getattr(kind, "fan_outs", 1) is None else kind for kind in kinds)


def _sampling(kind: Learner) -> Learner:
    fan_outs = (_FIRST, *[_LATER] * (len(kind.layer_widths) - 1))
    out: Learner = clone(kind).set_params(fan_outs=fan_outs)
    return out


def sampled_note(before: Sequence[Learner], after: Sequence[Learner], network: HigherOrderNetwork) -> str:
    """Return a sentence that tells which fan-outs were chosen, empty where none were."""
    chosen = [new for old, new in zip(before, after, strict=True) if new is not old]
    if not chosen:
        return ""
    return (
        f"neighbourhoods are sampled ({chosen[0].kind} fan_outs={getattr(chosen[0], 'fan_outs', None)}): "
        f"{network.n_edges:,} edges are many; set fan_outs to choose otherwise"
    )


def group_note(found: Estimate, size: int) -> str:
    """Return a sentence that tells of groups."""
    waiting = (
        f"; {shown_size(found.n_learners * found.kept)} of weights wait on disk" if found.on_disk else ""
    )
    return (
        f"{found.n_learners} learners would need {shown_size(found.total(found.n_learners))}: trained "
        f"{size} at a time, {shown_size(found.total(size))}{waiting}"
    )


class LargeNetworks:
    """What an estimator of nodes decides where a network is large: fan-outs and groups."""

    n_learners: Any
    verbose: bool | None
    # What a fit has decided, in sentences.
    notes_: tuple[str, ...] = ()
    _notes: list[str]
    _workers: Workers | None
    _owner: Any
    _runtime: Callable[[], Runtime]
    parameter_object: Callable[[str], Any]

    def _sampled(self, kinds: Sequence[Learner], network: HigherOrderNetwork) -> tuple[Learner, ...]:
        """Return the learners, with fan-outs where the network is large."""
        n_learners = check_integer(self._owner, "n_learners", self.n_learners, 1)
        found = with_fan_outs(kinds, network, n_learners)
        self._tell(sampled_note(kinds, found, network))
        return found

    def _tell(self, note: str) -> None:
        """Show a sentence once in a fit, and keep it for the model card."""
        notes = self.__dict__.get("_notes")
        if note and notes is not None and note not in notes:
            notes.append(note)
            say(note, self.verbose)

    def _group_size(
        self, model: NodeModel, n_examples: int, options: Sequence[TrainingOptions]
    ) -> int | None:
        """Return how many learners train at a time, None for all; raise where not one of them can."""
        shape = model.shape
        if self._runtime().device.type != "cpu":
            return None
        given, workers = self.parameter_object("training").memory, self._workers
        found = memory.estimate(model.network, shape, model.features, n_examples, options)
        apart = shape.variant == "bag" and not shape.shared
        if workers is not None and apart and given is None and not workers.n_local:
            # What memory the machines of a cluster have is not known here.
            return None
        processes = max(workers.n_local, 1) if workers is not None and apart else 1
        size = memory.group_size(found, given, self._owner, apart, processes)
        if size is not None:
            self._tell(group_note(found, size))
        return size
