"""Over- and under-represented steps, against scipy's hypergeometric and every cell of every table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, hypergeom

from honlearn.errors import ParameterError
from honlearn.hon.build import count_grams
from honlearn.hon.steps.edge_anomalies import tails

PATHS = st.lists(st.lists(st.sampled_from("ABC"), min_size=3, max_size=8), min_size=5, max_size=40)


@given(st.data())
def test_tails_are_those_of_scipy(data: st.DataObject) -> None:
    whole = data.draw(st.integers(1, 400))
    column, row = data.draw(st.integers(0, whole)), data.draw(st.integers(0, whole))
    x = data.draw(st.integers(max(0, row + column - whole), min(row, column)))
    law = hypergeom(whole, column, row)
    low, high = tails(x, whole, column, row)
    assert low == pytest.approx(law.cdf(x), rel=1e-8, abs=1e-12)
    assert high == pytest.approx(law.sf(x - 1), rel=1e-8, abs=1e-12)


def by_hand(paths: list[list[str]], order: int) -> dict[tuple[str, ...], tuple[int, float, float]]:
    """Return count, expected and q of every cell of every table."""
    grams = [tuple(p[i : i + order + 1]) for p in paths for i in range(len(p) - order)]
    count = {gram: grams.count(gram) for gram in set(grams)}
    cells, p = [], []
    for middle in {gram[1:-1] for gram in grams}:
        own = [gram for gram in grams if gram[1:-1] == middle]
        rows, columns = {gram[0] for gram in own}, {gram[-1] for gram in own}
        for a, b in itertools.product(sorted(rows), sorted(columns)):
            gram = (a, *middle, b)
            n, k = sum(g[0] == a for g in own), sum(g[-1] == b for g in own)
            law, x = hypergeom(len(own), k, n), count.get(gram, 0)
            cells.append((gram, x, n * k / len(own)))
            p.append(min(1.0, 2 * min(law.cdf(x), law.sf(x - 1))))
    q = false_discovery_control(np.clip(p, 0, 1))
    return {gram: (x, expected, float(v)) for (gram, x, expected), v in zip(cells, q, strict=True)}


@settings(max_examples=30)
@given(PATHS, st.integers(2, 3), st.sampled_from([0.05, 0.3, 1.0]))
def test_every_significant_cell_is_found(paths: list[list[str]], order: int, alpha: float) -> None:
    found = count_grams(paths, order=order).anomalies(order, alpha)
    wanted = {gram: row for gram, row in by_hand(paths, order).items() if row[2] <= alpha - 1e-9}
    shown = {
        row.path: (row.count_, row.expected, row.q_value)
        for row in found.rename(columns={"count": "count_"}).itertuples()
    }
    for gram, (count, expected, q) in wanted.items():
        assert shown[gram] == pytest.approx((count, expected, q), rel=1e-6)
    for gram in shown:
        assert by_hand(paths, order)[gram][2] <= alpha + 1e-9


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_cells_that_were_never_seen_are_found_in_small_tables(alpha: float) -> None:
    paths = [["A", "C", "D"]] * 3 + [["B", "C", "E"]] * 4
    shown = count_grams(paths, order=2).anomalies(2, alpha)
    assert dict(zip(shown["path"], shown["q_value"], strict=True)) == pytest.approx(
        {gram: q for gram, (_, _, q) in by_hand(paths, 2).items()}
    )


def test_planted_memory_is_over_and_what_it_forbids_is_under() -> None:
    found = count_grams([["A", "C", "D"], ["B", "C", "E"]] * 20, order=2).anomalies()
    kinds = dict(zip(found["path"], found["kind"], strict=True))
    assert kinds == {
        ("A", "C", "D"): "over", ("B", "C", "E"): "over", ("A", "C", "E"): "under", ("B", "C", "D"): "under"
    }  # fmt: skip
    assert found.set_index("path").loc[[("A", "C", "E")], "count"].tolist() == [0]


def test_no_memory_no_anomalies() -> None:
    random = np.random.default_rng(1)
    paths = random.choice(list("ABCDEFGH"), (2000, 6)).tolist()
    assert len(count_grams(paths, order=2).anomalies()) <= 2


def test_the_order_is_one_that_was_counted() -> None:
    counts = count_grams([["A", "B", "C"]], order=2)
    for order in (1, 3):
        with pytest.raises(ParameterError, match=r"'order' parameter of anomalies must be .* from 2 to 2"):
            counts.anomalies(order)
    with pytest.raises(ParameterError, match="'alpha' parameter of anomalies must be"):
        counts.anomalies(2, 0)
