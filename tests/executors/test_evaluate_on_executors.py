"""``hl.evaluate`` on an executor of the user's own: the same table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import honlearn as hl
from honlearn.errors import ParameterError


def test_evaluate_in_python_on_an_executor() -> None:
    made = hl.datasets.synthetic(2, n_nodes=18, n_hubs=2, n_destinations=2)
    one = hl.evaluate(made.paths, made.labels, models="majority", folds=2)
    with ThreadPoolExecutor(2) as pool:
        two = hl.evaluate(made.paths, made.labels, models="majority", folds=2, executor=pool)
    kept = [name for name in one.table.columns if "seconds" not in name]
    assert one.table[kept].equals(two.table[kept])
    with pytest.raises(ParameterError, match="give one of the two"):
        hl.evaluate(made.paths, made.labels, processes=2, executor=3)
