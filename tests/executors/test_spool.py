"""Values in files between local processes: the same on the other side, and arrays written as they lie."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

from honlearn.executors.spool import Spool
from honlearn.executors.tasks import Failure, TaskError


def test_arrays_come_back_as_they_were_and_may_be_written() -> None:
    rows = np.arange(12.0).reshape(3, 4)
    given = {"rows": rows, "columns": np.asfortranarray(rows), "every other": rows[:, ::2], "text": "ä"}
    given |= {"none": np.empty((0, 3), np.int32), "one": np.array(7), "names": np.array(["a", None], object)}
    spool = Spool()
    ticket = spool.share(given)
    found = ticket.read()
    spool.close()
    assert list(found) == list(given)
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            assert found[name].dtype == value.dtype
            assert np.array_equal(found[name], value)
            assert found[name].flags.writeable
        else:
            assert found[name] == value


def test_a_large_array_is_written_without_a_copy() -> None:
    spool, values = Spool(), np.ones(1 << 20)
    ticket = spool.ticket()
    tracemalloc.start()
    ticket.write([values])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    spool.close()
    assert peak < values.nbytes / 4


def test_what_does_not_pickle_is_told_beside_arrays() -> None:
    spool = Spool()
    ticket = spool.ticket()
    ticket.write([np.ones(9), threading.Lock()])
    found = ticket.read()
    spool.close()
    assert isinstance(found, Failure)
    assert isinstance(found.error, TaskError)


def test_a_file_that_was_cut_short_is_noticed() -> None:
    spool = Spool()
    ticket = spool.share(np.ones(100))
    with open(ticket.path, "r+b") as file:
        file.truncate(300)
    with pytest.raises(EOFError, match="cut short"):
        ticket.read()
    spool.close()
