"""The rail grid: connected, without hubs, and every journey a shortest way."""

from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest

from honlearn import grow
from honlearn.datasets import load, rail_grid
from honlearn.errors import ParameterError


def tracks(data: object) -> networkx.Graph:
    paths = data.paths  # type: ignore[attr-defined]
    graph = networkx.Graph()
    for path in paths:
        graph.add_edges_from(itertools.pairwise(path))
    return graph


def test_the_default_has_250_stations_and_no_hub() -> None:
    data = rail_grid()
    assert len(data.paths.vocabulary) == 250
    assert len(data.paths) == 20_000
    graph = tracks(data)
    assert networkx.is_connected(graph)
    assert graph.number_of_nodes() == 250
    assert max(dict(graph.degree).values()) <= 4
    # 465 tracks of the whole grid, a tenth of them missing.
    assert 400 <= graph.number_of_edges() <= 419
    assert grow(data.paths, order=1).n_edges <= 2 * 419


def test_neighbours_are_beside_each_other_and_journeys_are_shortest_ways() -> None:
    data = rail_grid(5, 6, n_paths=2000, missing=0.3, seed=3)
    graph = tracks(data)
    for u, v in graph.edges:
        (i, j), (k, m) = ((int(name[1:3]), int(name[4:])) for name in (u, v))
        assert abs(i - k) + abs(j - m) == 1
    away = dict(networkx.all_pairs_shortest_path_length(graph))
    for path in data.paths:
        assert len(path) > 1
        assert len(path) - 1 == away[path[0]][path[-1]]


def test_most_journeys_are_short_and_a_larger_reach_lengthens_them() -> None:
    short, long = (rail_grid(8, 8, n_paths=3000, reach=reach).paths.lengths for reach in (1.0, 50.0))
    assert short.mean() + 2 < long.mean()
    assert np.median(short) <= 5


def test_the_smallest_reach_goes_to_neighbours() -> None:
    assert rail_grid(3, 4, n_paths=50, reach=1e-4).paths.lengths.tolist() == [2] * 50


def test_the_seed_decides_and_the_catalogue_has_it() -> None:
    assert list(rail_grid(4, 4, n_paths=50, seed=1).paths) == list(rail_grid(4, 4, n_paths=50, seed=1).paths)
    assert list(rail_grid(4, 4, n_paths=50, seed=1).paths) != list(rail_grid(4, 4, n_paths=50, seed=2).paths)
    data = load("rail_grid", n_rows=2, n_columns=4, n_paths=9)
    assert data.classes == {"north-east": 2, "north-west": 2, "south-east": 2, "south-west": 2}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_rows": 1}, "'n_rows' parameter of rail_grid must be a whole number, at least 2"),
        ({"missing": 1.0}, "'missing' parameter of rail_grid must be a number"),
        ({"reach": 0}, "'reach' parameter of rail_grid must be a number"),
        ({"n_paths": 0}, "'n_paths' parameter"),
        ({"n_rows": 200, "n_columns": 200}, "40,000 stations, more than 10,000"),
    ],
)
def test_what_is_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        rail_grid(**sizes)  # type: ignore[arg-type]
