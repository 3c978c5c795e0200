"""The catalogue: which data sets there are, and one function that loads any of them.

In: a name of the catalogue, or a folder. Out: a :class:`Dataset`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from honlearn.datasets.dataset import Dataset
from honlearn.errors import InputError, did_you_mean, listed


@dataclass(frozen=True)
class Entry:
    """One line of the catalogue; sizes are None where they depend on the files or parameters given."""

    name: str
    what: str
    paths: int | None
    nodes: int | None
    classes: int | None
    licence: str
    source: str
    offline: bool
    needs: str


def available() -> tuple[Entry, ...]:
    """Return the catalogue.

    >>> [entry.name for entry in available()]
    ['us_flights', 'wikispeedia', 'db1b', 'synthetic', 'rail_grid']
    """
    from honlearn.datasets import coupons, flights, wiki

    return (
        Entry(
            "us_flights",
            "US airline itineraries, federal regions",
            286_810,
            175,
            11,
            flights.LICENCE,
            flights.SOURCE,
            offline=True,
            needs="nothing, bundled",
        ),
        Entry(
            "wikispeedia",
            "clicks between Wikipedia articles, subjects",
            76_193,
            4_182,
            10,
            wiki.LICENCE,
            wiki.SOURCE,
            offline=False,
            needs="a download, or its archive or folder",
        ),
        Entry(
            "db1b",
            "US airline itineraries of any quarter, federal regions",
            None,
            None,
            11,
            coupons.LICENCE,
            coupons.SOURCE,
            offline=False,
            needs="DB1BCoupon files that you downloaded",
        ),
        Entry(
            "synthetic",
            "planted memory of order 2 or higher, with the truth",
            None,
            None,
            None,
            "made by honlearn, no rights claimed",
            "honlearn.datasets.synthetic",
            offline=True,
            needs="nothing, made from a seed",
        ),
        Entry(
            "rail_grid",
            "journeys on a grid of rail lines without hubs, quarters of the map",
            20_000,
            250,
            4,
            "made by honlearn, no rights claimed",
            "honlearn.datasets.rail_grid",
            offline=True,
            needs="nothing, made from a seed",
        ),
    )


def load(name: str | os.PathLike[str], **options: Any) -> Dataset:
    """Return a data set by its name in the catalogue, or from a folder with ``paths.txt``.

    Parameters
    ----------
    name : str or path
        A name that :func:`honlearn.datasets.available` lists, or a folder. A name of the catalogue wins over
        a folder of the same name; write ``./us_flights`` for the folder.
    **options
        Parameters of the function of that name, e.g. ``load("db1b", files=["q1.zip"])``.
    """
    from honlearn import datasets

    loaders: dict[str, Callable[..., Dataset]] = {
        entry.name: getattr(datasets, entry.name) for entry in available()
    }
    if str(name) in loaders:
        return loaders[str(name)](**options)
    if Path(name).exists():
        return datasets.load_folder(name, **options)
    raise InputError(
        f"no data set and no folder is called {str(name)!r}{did_you_mean(name, loaders)}; "
        f"there are {listed(loaders)}"
    )
