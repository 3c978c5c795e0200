"""Kernels over ranges of learners: which calls are divided among threads."""

import threading
import time

import numpy as np
import pytest

from honlearn.engine.runtime import _WORTH_DIVIDING, Runtime, _Cost

LEARNERS = 6


class Recorded:
    """A kernel that keeps its ranges and threads, and takes so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.calls: list[tuple[int, int, int]] = []

    def __call__(self, first: int, last: int, out: np.ndarray) -> None:
        self.calls.append((first, last, threading.get_ident()))
        out[first:last] += 1
        time.sleep(self.seconds)


def test_long_calls_are_divided_once_they_have_been_timed() -> None:
    run, kernel, out = Runtime(n_threads=2), Recorded(10 * _WORTH_DIVIDING), np.zeros(LEARNERS)
    with run.threads():
        for _ in range(4):
            run.each(kernel, LEARNERS, out)
    whole, divided = kernel.calls[:3], sorted(kernel.calls[3:])
    assert [(first, last) for first, last, _ in whole] == 3 * [(0, LEARNERS)]
    assert [(first, last) for first, last, _ in divided] == [(0, 3), (3, LEARNERS)]
    assert len({thread for _, _, thread in divided}) == 2
    assert out.tolist() == LEARNERS * [4]


def test_another_size_is_timed_anew() -> None:
    run, kernel = Runtime(n_threads=2), Recorded(10 * _WORTH_DIVIDING)
    with run.threads():
        for size in (LEARNERS, LEARNERS, LEARNERS, 100 * LEARNERS):
            run.each(kernel, LEARNERS, np.zeros(size))
    assert [(first, last) for first, last, _ in kernel.calls] == 4 * [(0, LEARNERS)]


@pytest.mark.parametrize("options", [{"serial": True}, {}])
def test_calls_on_one_thread_are_never_divided(options: dict[str, bool]) -> None:
    run, kernel = Runtime(n_threads=2 if options else 1), Recorded(2 * _WORTH_DIVIDING)
    with run.threads():
        for _ in range(5):
            run.each(kernel, LEARNERS, np.zeros(LEARNERS), **options)
    assert [(first, last) for first, last, _ in kernel.calls] == 5 * [(0, LEARNERS)]


def test_short_calls_stay_whole_however_long_the_first_one_took() -> None:
    cost = _Cost()
    for seconds in (1.0, _WORTH_DIVIDING / 10, 1.0, 1.0):
        cost.add(seconds)
    assert not cost.is_divided


def test_an_error_of_a_divided_call_arrives() -> None:
    run, kernel = Runtime(n_threads=2), Recorded(2 * _WORTH_DIVIDING)

    def failing(first: int, last: int, out: np.ndarray) -> None:
        kernel(first, last, out)
        if first and len(kernel.calls) > 3:
            raise ValueError("learner 3")

    with run.threads():
        for _ in range(3):
            run.each(failing, LEARNERS, np.zeros(LEARNERS))
        with pytest.raises(ValueError, match="learner 3"):
            run.each(failing, LEARNERS, np.zeros(LEARNERS))
