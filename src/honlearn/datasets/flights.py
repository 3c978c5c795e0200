"""US flights: the bundled data set, 286,810 airline itineraries between 175 airports.

In: the two files in ``us_flights/`` beside this module, written by ``scripts/make_us_flights.py``.
Out: a :class:`Dataset`: distinct itineraries with counts, airports labelled by federal region.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np

from honlearn.datasets.dataset import Dataset
from honlearn.datasets.regions import NAMES
from honlearn.paths.paths import Paths
from honlearn.paths.vocabulary import Vocabulary

if TYPE_CHECKING:
    import pandas as pd

FOLDER = files("honlearn.datasets") / "us_flights"
LICENCE = "public domain (US government work); airport facts MIT"
SOURCE = "US DOT BTS, DB1B survey, as excerpted in honyx 0.1.1; airports from airportsdata"


def us_flights() -> Dataset:
    """Return the bundled airline itineraries of the United States, labelled by federal region.

    The nodes' table has the columns node, name, city, state, latitude, longitude, region,
    region_name. The airports' higher-order dependencies are strong: most itineraries are round trips.

    >>> data = us_flights()
    >>> data.paths.total, len(data.paths), data.labels["ATL"]
    (286810, 60228, '4')
    """
    nodes = _airports()
    return Dataset(
        "us_flights",
        _itineraries(list(nodes["node"])),
        dict(zip(nodes["node"], nodes["region"], strict=True)),
        nodes,
        "Airline itineraries between US airports, an excerpt of the DB1B survey; classes are federal regions",
        LICENCE,
        SOURCE,
    )


def _airports() -> pd.DataFrame:
    import pandas as pd

    with as_file(FOLDER / "airports.csv") as file:
        text = dict.fromkeys(("node", "name", "city", "state", "region"), str)
        nodes = pd.read_csv(file, dtype=text, keep_default_na=False)
    nodes["region_name"] = nodes["region"].map(NAMES)
    return nodes


def _itineraries(airports: list[str]) -> Paths:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    with as_file(FOLDER / "itineraries.parquet") as file:
        table = pq.read_table(file).combine_chunks()
    lists = table["path"].chunk(0)
    # Codes follow the airports' table, whatever dictionary the Parquet reader made.
    stops = lists.values.cast(pa.string())
    codes = pc.index_in(stops, value_set=pa.array(airports, pa.string())).to_numpy(zero_copy_only=False)
    offsets = lists.offsets.to_numpy().astype(np.int64)
    counts = table["count"].to_numpy().astype(np.int64)
    return Paths(codes.astype(np.int32), offsets, Vocabulary.from_names(airports), counts)
