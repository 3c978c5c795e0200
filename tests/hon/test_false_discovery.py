"""The q-values of Benjamini and Hochberg are those of scipy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from honlearn.hon.false_discovery import q_values


@given(st.lists(st.floats(0, 1), max_size=40))
def test_q_values_are_those_of_scipy(p: list[float]) -> None:
    expected = false_discovery_control(p) if p else np.empty(0)
    np.testing.assert_allclose(q_values(np.array(p)), expected, atol=1e-12)


def test_tests_that_are_left_out_count() -> None:
    p = np.array([0.001, 0.004])
    np.testing.assert_allclose(q_values(p, 10), q_values(np.append(p, np.ones(8)))[:2])
