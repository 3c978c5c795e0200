"""Groups of learners: how a bag is divided, and where its groups are trained.

In: a part of an ensemble, and what is to be done with each group of it. Out: the results in the order of the
groups. Learners of a bag do not depend on their company (:mod:`honlearn.ensemble.learner_training`), so the
groups may be trained in this process, one after another, or on the workers of an executor
(:mod:`honlearn.executors`), to the same bytes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

from honlearn.engine.runtime import Runtime
from honlearn.engine.weights import Features
from honlearn.ensemble.ensemble import Architecture
from honlearn.ensemble.learner_training import MakeTrainer, Part, Searched
from honlearn.ensemble.loop import TrainingOptions
from honlearn.executors import Executor, is_here, open_executor, read_spec, threads_on
from honlearn.hon.network import HigherOrderNetwork
from honlearn.progress import progress

# What is done with a group: train_learners, search_learners or refit_learners, which also takes a search.
Work = Callable[..., Any]
# Gives the mark of the checkpoint of a phase.
Fingerprint = Callable[[str], str]


def unmarked(phase: str) -> str:
    """Return no mark: of checkpoints that are not kept."""
    return ""


def groups_of(part: Part, size: int | None) -> list[Part]:
    """Return the groups of at most `size` learners that a part is trained in; one where they depend.

    Learners that share weights, and those that are pooled, are one group.
    """
    shape, learners = part.shape, part.learners
    apart = shape.variant == "bag" and not shape.shared
    if size is None or not apart or size >= len(learners):
        return [part]
    some = [learners[start : start + size] for start in range(0, len(learners), size)]
    return [part.only(learners) for learners in some]


@dataclass(frozen=True)
class Groups:
    """Groups of at most `size` learners, trained in this process; `make` makes a trainer."""

    make: MakeTrainer
    size: int | None = None

    @property
    def is_short(self) -> bool:
        """Whether groups are small because memory is short."""
        return self.size is not None

    def of(self, part: Part) -> list[Part]:
        """Return the groups that a part is trained in."""
        return groups_of(part, self.size)

    def each(
        self,
        work: Work,
        groups: Sequence[Part],
        options: TrainingOptions,
        found: Callable[[Part], Searched] | None = None,
    ) -> Iterator[Any]:
        """Yield what comes of each group, which begins when it is asked for."""
        for group in groups:
            yield work(group, options, self.make, *([] if found is None else [found(group)]))


class Workers:
    """The executor of a fit: opened when it is first needed, closed with the block.

    `n_local` is how many workers share the memory of this machine, 0 where that is not known; `n_threads` is
    how many threads a task uses.
    """

    def __init__(self, spec: Any, n_threads: int | None = None) -> None:
        self.spec = read_spec(spec)
        self.n_threads = threads_on(spec) if n_threads is None else n_threads
        self.n_local = self.spec if isinstance(self.spec, int) else 0
        self._stack = ExitStack()
        self._pool: Executor | None = None
        self._sent: dict[Hashable, tuple[Any, Any]] = {}

    @classmethod
    def of(cls, spec: Any, n_threads: int | None = None) -> Workers | None:
        """Return the workers that `spec` means, None where it means this process."""
        return None if is_here(spec) else cls(spec, n_threads)

    @property
    def pool(self) -> Executor:
        """The executor, open."""
        if self._pool is None:
            self._pool = self._stack.enter_context(open_executor(self.spec))
        return self._pool

    def send(self, key: Hashable, value: Any) -> Any:
        """Return the handle of an input that is sent to each worker once; `key` tells inputs apart."""
        if key not in self._sent:
            # The value is kept as well: a key may be the identity of a part of it.
            self._sent[key] = self.pool.share(value), value
        return self._sent[key][0]

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._pool is not None:
            self._pool.release([handle for handle, _ in self._sent.values()])
        self._sent.clear()
        self._stack.__exit__(kind, error, trace)


class Inputs(Protocol):
    """What all learners of a fit read, of nodes or of pairs: sent to each worker once."""

    @property
    def network(self) -> HigherOrderNetwork:
        """The network."""

    @property
    def features(self) -> Features | None:
        """What is known of the entities beside their identity."""

    def maker(self, shape: Any, seed: int, run: Runtime, fingerprint: Fingerprint) -> MakeTrainer:
        """Return what makes trainers of some learners."""


@dataclass(frozen=True)
class WorkerGroups(Groups):
    """Groups that are trained on workers: one for each, unless `size` is less.

    `inputs`, `shape`, `seed` and `device` are what a worker makes trainers of; `fingerprint` marks the
    checkpoint of a phase. Parts whose learners depend on each other stay in this process.
    """

    workers: Workers = dataclasses.field(kw_only=True)
    inputs: Inputs = dataclasses.field(kw_only=True)
    shape: Architecture = dataclasses.field(kw_only=True)
    seed: int = dataclasses.field(kw_only=True)
    device: str = dataclasses.field(kw_only=True)
    fingerprint: Fingerprint = dataclasses.field(kw_only=True)

    def of(self, part: Part) -> list[Part]:
        """Return as many groups as there are workers, or more."""
        even = -(-len(part.learners) // self.workers.pool.n_workers)
        return groups_of(part, even if self.size is None else min(even, self.size))

    def each(
        self,
        work: Work,
        groups: Sequence[Part],
        options: TrainingOptions,
        found: Callable[[Part], Searched] | None = None,
    ) -> Iterator[Any]:
        """Yield what comes of each group, all of which begin as soon as there are workers."""
        if not all(group.is_group for group in groups):
            yield from super().each(work, groups, options, found)
            return
        quiet, inputs = dataclasses.replace(options, show=False), self.inputs
        # Models of one fit differ by their shape, and may have the network in common.
        sent = self.workers.send((id(inputs.network), inputs.features is None), inputs)
        given = (sent, self.shape, self.seed, self.device, self.workers.n_threads)
        calls = [
            (*given, self._marks(group, options), work, group, quiet)
            + (() if found is None else (found(group),))
            for group in groups
        ]
        with progress("groups of learners", total=len(calls), show=options.show) as advance:
            for outcome in self.workers.pool.map(on_worker, calls):
                advance(1)
                yield outcome

    def _marks(self, group: Part, options: TrainingOptions) -> dict[str, str]:
        """Return the marks of the checkpoints that a group may write."""
        if options.checkpoint is None:
            return {}
        return {phase: self.fingerprint(phase) for phase in map(group.mark, (group.search, "refit"))}


def on_worker(
    inputs: Inputs,
    shape: Architecture,
    seed: int,
    device: str,
    n_threads: int | None,
    marks: Mapping[str, str],
    work: Work,
    part: Part,
    options: TrainingOptions,
    *found: Searched,
) -> Any:
    """Do the work on one group of learners; a checkpoint is kept where its folder is there."""
    run = Runtime(device, n_threads)
    if options.checkpoint is not None and not options.checkpoint.parent.is_dir():
        options = dataclasses.replace(options, checkpoint=None)
    with run.threads():
        return work(part, options, inputs.maker(shape, seed, run, marks.__getitem__), *found)
