"""One task on a worker: a function and its arguments → its value, or its error as a value.

In: a function and arguments that pickle. Out: what every executor carries back. An error that the
function raises is a :class:`Failure`, not an exception of the engine: it is not worth repeating, a task that
needs the value of a failed one fails by the same error, and every engine reports it alike.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from honlearn.errors import HonlearnError

# How often a task is repeated whose worker died: what Ray and Dask do by default.
RETRIES = 3


class TaskError(HonlearnError, RuntimeError):
    """A task raised an error that is none of honlearn; its traceback is in the message."""


class WorkerDiedError(HonlearnError, RuntimeError):
    """The worker of a task died, and so did those that repeated it."""


@dataclass(frozen=True)
class Failure:
    """The error of a task, in place of its value; other processes get it in a form that they can read."""

    error: Exception

    def __reduce__(self) -> tuple[Any, ...]:
        return Failure, (_portable(self.error),)


def _portable(error: Exception) -> Exception:
    """Return an error that another process can read: itself, or its message as the nearest kind that can.

    Python makes an error anew from its arguments, which fails where a class takes others than it hands on.
    """
    import cloudpickle

    for kind in (None, *type(error).__mro__):
        if kind is not None and not issubclass(kind, HonlearnError):
            break
        try:
            made = error if kind is None else kind(str(error))
            pickle.loads(cloudpickle.dumps(made))
        except Exception:  # of any kind, as the class has it
            continue
        return made
    return unforeseen(error)


def run_task(function: Callable[..., Any], pieces: int | None, *args: Any) -> Any:
    """Return the value of a call or its :class:`Failure`; with `pieces`, a tuple of so many values.

    One piece is returned by itself, since engines do not tell a tuple of one from its value.
    """
    failed = next((argument for argument in args if isinstance(argument, Failure)), None)
    value: Any = failed or _called(function, args)
    if pieces is None:
        return value
    if isinstance(value, Failure):
        value = [value] * pieces
    assert len(value) == pieces, "a task returns as many pieces as were asked for"
    return value[0] if pieces == 1 else tuple(value)


def _called(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return function(*args)
    except HonlearnError as error:
        return Failure(error)
    except Exception as error:
        return Failure(unforeseen(error))


def unforeseen(error: Exception) -> TaskError:
    """Return an error that pickles, with the traceback of one that may not."""
    lines = "".join(traceback.format_exception(error))
    return TaskError(f"{type(error).__name__}: {error}\n{lines}")


def pickled(value: Any) -> bytes:
    """Return a value as bytes; one that does not pickle becomes a :class:`Failure` that names it.

    Functions and classes of the user's script or notebook, and lambdas, are sent by value: other processes
    do not run that script.
    """
    return _pickled(value, None)


def pickled_apart(value: Any) -> tuple[bytes, list[memoryview]]:
    """Return a value as :func:`pickled`, but the memory of its arrays as it is and not copied."""
    apart: list[pickle.PickleBuffer] = []
    content = _pickled(value, apart)
    return content, [one.raw() for one in apart]


def _pickled(value: Any, apart: list[pickle.PickleBuffer] | None) -> bytes:
    import cloudpickle

    keep = None if apart is None else apart.append
    try:
        return bytes(cloudpickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL, buffer_callback=keep))
    except Exception as error:  # what pickling raises is of any kind
        if apart is not None:
            apart.clear()
        return pickle.dumps(Failure(unforeseen(error)), protocol=pickle.HIGHEST_PROTOCOL)


def value_of(outcome: Any) -> Any:
    """Return the value of a task; raise the error of a failed one."""
    if isinstance(outcome, Failure):
        raise outcome.error
    return outcome
