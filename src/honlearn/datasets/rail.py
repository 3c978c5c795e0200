"""Synthetic journeys on a rail network without hubs: a grid of lines, and shortest ways between stations.

In: sizes and a seed. Out: a :class:`Dataset` of itineraries. Stations stand on a grid whose rows and columns
are lines, some tracks are missing, and a journey takes a shortest way between two stations. Every station has
at most four neighbours, so degrees tell nothing of links; what tells is where journeys lead.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from honlearn.datasets.dataset import Dataset
from honlearn.errors import ParameterError, check_integer, check_real
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary
from honlearn.seeds import generator, root_seed

Codes = NDArray[np.int64]


def rail_grid(
    n_rows: int = 10,
    n_columns: int = 25,
    *,
    n_paths: int = 20_000,
    missing: float = 0.1,
    reach: float = 6.0,
    seed: int = 0,
) -> Dataset:
    """Return journeys between the `n_rows` · `n_columns` stations of a grid of rail lines.

    A share `missing` of the tracks between neighbours is not built, as far as all stations stay connected.
    Each journey starts at a station drawn uniformly and ends at one drawn with probability falling as
    exp(−distance / `reach`), on a shortest way; of several shortest ways each traveller has one at random.
    The label of a station is the quarter of the map that it is in.

    Parameters
    ----------
    n_rows, n_columns
        Size of the grid.
    n_paths
        Number of journeys.
    missing
        Share of tracks that are left out.
    reach
        Scale of the distances of journeys.
    seed
        Decides everything random.

    Examples
    --------
    >>> data = rail_grid(3, 4, n_paths=200)
    >>> data
    Dataset('rail_grid': 200 paths, 12 entities, 12 labelled in 4 classes)
    >>> sorted(data.labels)[:3]
    ['r00c00', 'r00c01', 'r00c02']
    """
    owner = "rail_grid"
    rows = check_integer(owner, "n_rows", n_rows, 2)
    columns = check_integer(owner, "n_columns", n_columns, 2)
    wanted = check_integer(owner, "n_paths", n_paths, 1)
    share = check_real(owner, "missing", missing, 0.0, 0.9)
    scale = check_real(owner, "reach", reach, 0.0, open_below=True)
    if rows * columns > 10_000:
        raise ParameterError(
            f"rail_grid would have {rows * columns:,} stations, more than 10,000; "
            "lower 'n_rows' or 'n_columns'"
        )
    root = root_seed(seed)
    near = _tracks(rows, columns, share, root)
    walks = _journeys(near, wanted, scale, root)
    names = [f"r{i:02d}c{j:02d}" for i in range(rows) for j in range(columns)]
    codes = np.array([code for walk in walks for code in walk], np.int32)
    offsets = np.concatenate([[0], np.cumsum([len(walk) for walk in walks])]).astype(np.int64)
    quarters = {
        names[i * columns + j]: ("north" if 2 * i < rows else "south")
        + ("-west" if 2 * j < columns else "-east")
        for i in range(rows)
        for j in range(columns)
    }
    return Dataset(
        owner,
        Paths(codes, offsets, Vocabulary.from_names(names)),
        quarters,
        None,
        f"Journeys on a grid of rail lines, {rows} x {columns} stations, missing {share:g}, seed {root}",
        "made by honlearn, no rights claimed",
        "honlearn.datasets.rail_grid",
    )


def _tracks(rows: int, columns: int, missing: float, seed: int) -> list[list[int]]:
    """Return the neighbours of each station: a random spanning tree, and of the other tracks those built."""
    random = generator(seed, "rail", "tracks")
    grid = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([grid[:, :-1].ravel(), grid[:, 1:].ravel()], 1)
    down = np.stack([grid[:-1].ravel(), grid[1:].ravel()], 1)
    tracks = random.permutation(np.concatenate([across, down]))
    spare = round(missing * len(tracks))
    group = np.arange(grid.size)
    near: list[list[int]] = [[] for _ in range(grid.size)]
    for u, v in tracks.tolist():
        joins = group[u] != group[v]
        if joins:
            group[group == group[v]] = group[u]
        elif spare > 0:
            spare -= 1
            continue
        near[u].append(v)
        near[v].append(u)
    return [sorted(some) for some in near]


def _distances(near: list[list[int]], start: int) -> Codes:
    """Return how many tracks lie between a station and every other, [V]."""
    found = np.full(len(near), -1, np.int64)
    found[start] = 0
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for there in near[here]:
            if found[there] < 0:
                found[there] = found[here] + 1
                waiting.append(there)
    return found


def _journeys(near: list[list[int]], count: int, reach: float, seed: int) -> list[list[int]]:
    """Return journeys from the end backwards: of the neighbours that are nearer to the start, any."""
    random = generator(seed, "rail", "journeys")
    starts = np.sort(random.integers(0, len(near), count))
    walks = []
    for start in np.unique(starts).tolist():
        away = _distances(near, start)
        # Of the nearest, one track away, it is 1, so that the sum is above 0 however small the reach.
        share = np.exp((1 - np.maximum(away, 1)) / reach) * (away > 0)
        for end in random.choice(len(near), int((starts == start).sum()), p=share / share.sum()).tolist():
            walk = [end]
            while walk[-1] != start:
                nearer = [one for one in near[walk[-1]] if away[one] == away[walk[-1]] - 1]
                walk.append(nearer[int(random.integers(len(nearer)))])
            walks.append(walk[::-1])
    return walks
