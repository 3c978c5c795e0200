"""What every executor does: tasks on workers, values that stay with the workers, inputs sent once.

In: top-level functions and arguments that pickle. Out: handles of values, and the values of those that are
asked for. The engines (this process, local processes, Ray, Dask, any ``concurrent.futures.Executor``) differ
in five methods; what is done with them is written once, here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any

from honlearn.errors import HonlearnError

# A value that is somewhere: with a worker, in a file, or on its way. Each engine has its own.
Handle = Any


class Executor(ABC):
    """Runs tasks on `n_workers` workers; a context manager that leaves nothing behind.

    A task whose worker dies is repeated, a few times at most; a task that raises is not. The value of a task
    does not depend on the engine or on the number of workers.

    >>> from honlearn.executors import open_executor
    >>> with open_executor(None) as pool:
    ...     list(pool.map(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """

    n_workers: int = 1

    @abstractmethod
    def share(self, value: Any) -> Handle:
        """Return a handle of a large input, which is sent to each worker once."""

    @abstractmethod
    def submit(self, function: Callable[..., Any], *args: Any, pieces: int | None = None) -> Any:
        """Start a task; return a handle of its value, which stays with the workers until it is asked for.

        Handles among `args` are replaced by their values, on the worker. With `pieces` the function returns
        so many values, and there is a list of handles, one for each.
        """

    @abstractmethod
    def wait(self, handles: Sequence[Handle]) -> list[Handle]:
        """Wait until the value of one of these is known, or its error; return those of which it is."""

    @abstractmethod
    def get(self, handle: Handle) -> Any:
        """Return a value; raise the error of its task."""

    @abstractmethod
    def release(self, handles: Iterable[Handle]) -> None:
        """Forget values that nobody will ask for."""

    def open(self) -> None:  # noqa: B027  (not every engine has something to start)
        """Get ready to run tasks."""

    @abstractmethod
    def close(self, broken_off: bool) -> None:
        """End all that this executor has started; `broken_off` if tasks may still run."""

    def __enter__(self) -> Executor:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(kind is not None)

    def outcomes(
        self,
        function: Callable[..., Any],
        calls: Sequence[tuple[Any, ...]],
        started: Callable[[int], None] | None = None,
    ) -> Generator[tuple[int, Any], None, None]:
        """Yield the place of each call with its value, or the error that it raised, as they finish.

        As many calls are under way as there are workers; `started` is called with the place of each.
        """
        waiting, running = iter(range(len(calls))), dict[Handle, int]()
        try:
            while True:
                while len(running) < self.n_workers and (place := next(waiting, None)) is not None:
                    if started is not None:
                        started(place)
                    running[self.submit(function, *calls[place])] = place
                if not running:
                    return
                handle = self.wait(list(running))[0]
                place, outcome = running.pop(handle), self._outcome(handle)
                self.release([handle])
                yield place, outcome
        finally:
            self.release(list(running))

    def _outcome(self, handle: Handle) -> Any:
        try:
            return self.get(handle)
        except HonlearnError as error:
            return error

    def map(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the values of the calls in their order; the error of the first that fails is raised."""
        known: dict[int, Any] = {}
        listed = list(calls)
        found = self.outcomes(function, listed)
        for place in range(len(listed)):
            while place not in known:
                other, outcome = next(found)
                known[other] = outcome
            outcome = known.pop(place)
            if isinstance(outcome, HonlearnError):
                found.close()
                raise outcome
            yield outcome
