"""A network written by the workers: paths → a folder of Parquet files that no process ever had in one piece.

In: paths, a rule, an executor and the name of a folder. Out: the folder, one file of edges for each range of
nodes (source, target, weight), and what is in it. :func:`honlearn.load_network` reads it back.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, MissingFileError
from honlearn.executors import open_executor
from honlearn.hon.build import checked_order, counted_source
from honlearn.hon.family_network import RangeNetwork, RangeRows
from honlearn.hon.formats.parquet import part_name, write_table
from honlearn.hon.grow_on import Nodes, finished_apart
from honlearn.hon.interop import label_array
from honlearn.hon.partitioned import counted_parts
from honlearn.hon.statistics import GrowParameters
from honlearn.writing.atomic import atomic_folder


@dataclass(frozen=True)
class GrownParts:
    """What was written: the folder, and the numbers of files, entities, nodes and edges, and their weight."""

    folder: Path
    n_files: int
    n_entities: int
    n_nodes: int
    n_edges: int
    weight: int
    parameters: GrowParameters


def grow_parts(
    paths: Any,
    folder: str | os.PathLike[str],
    order: int = 2,
    tau: float | None = None,
    min_support: int | None = None,
    *,
    alpha: float | None = None,
    executor: Any = None,
    **reader_options: Any,
) -> GrownParts:
    """Grow a network on an executor and write it from there, as a folder of Parquet files.

    The edges are those of :func:`honlearn.grow`; the statistics of contexts are not written. This process
    has the names, the contexts that are kept and 8 bytes for each that is tested, not the edges.

    Parameters
    ----------
    paths : Paths, stream, files, table or lists
        The observed paths, as for :func:`honlearn.count_grams`.
    folder : str or path
        A new folder whose name ends in ``.parquet``. The workers see it under the same name.
    order : int, default 2
        Entities in the longest contexts.
    tau, min_support, alpha
        The rule, as for :func:`honlearn.grow`.
    executor : int, str or concurrent.futures.Executor, optional
        Where it is done, as for :func:`honlearn.count_grams`; there is one file for each worker.
    **reader_options
        Options of :func:`honlearn.read_paths`, such as `sequence` and `entity`.

    Examples
    --------
    >>> import tempfile, honlearn as hl
    >>> paths = [["A", "C", "D"], ["B", "C", "E"]] * 5
    >>> with tempfile.TemporaryDirectory() as home:
    ...     grow_parts(paths, f"{home}/net.parquet").n_edges
    ...     hl.load_network(f"{home}/net.parquet").n_nodes
    6
    7
    """
    parameters = GrowParameters.of("grow_parts", checked_order("grow_parts", order), tau, min_support, alpha)
    target = check_parts_target(folder)
    source = counted_source(paths, 1, None, executor, reader_options)
    with open_executor(executor) as pool, counted_parts(source, parameters.order, pool) as counted:
        if not counted.groups:
            raise InputError("the paths are empty, so the network would be; give some")
        with finished_apart(counted, parameters, pool) as made, atomic_folder(target, part_name(0)) as draft:
            nodes = pool.share(made.nodes)
            calls = zip(made.blocks, made.entities, made.contexts, strict=True)
            files = [str(draft.absolute() / part_name(r)) for r in range(len(made.blocks))]
            begun = [
                pool.submit(write_range, nodes, *call, file) for call, file in zip(calls, files, strict=True)
            ]
            try:
                sizes = [pool.get(handle) for handle in begun]
            finally:
                pool.release([nodes, *begun])
    edges, weight = (sum(column) for column in zip(*sizes, strict=True))
    facts = len(made.nodes.names), len(made.nodes.gram_offsets) - 1, edges, weight
    return GrownParts(target, len(sizes), *facts, parameters)


def check_parts_target(folder: str | os.PathLike[str]) -> Path:
    """Return the folder that parts may be written to; raise where they may not."""
    target = Path(folder)
    if target.suffix.lower() != ".parquet":
        raise InputError(f"{target}: parts are Parquet files; name a folder that ends in .parquet")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target}: exists already; parts need a folder of their own, so name a new one")
    if not target.parent.is_dir():
        raise MissingFileError(f"{target}: the folder {target.parent} does not exist; make it first")
    return target


def write_range(
    nodes: Nodes, block: RangeNetwork, entities: int, contexts: int, file: str
) -> tuple[int, int]:
    """Write the rows of a range, whose sources begin at these nodes; return edges and their weight."""
    import pyarrow as pa

    rows = block.entities, block.contexts
    sources = np.concatenate(
        [_sources(one, first) for one, first in zip(rows, (entities, contexts), strict=True)]
    )
    targets = np.concatenate([one.indices for one in rows]).astype(np.int64)
    weights = np.concatenate([one.weights for one in rows])
    used, places = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    labels = _labels(nodes, used)
    columns = {
        "source": labels.take(pa.array(places[: len(sources)])),
        "target": labels.take(pa.array(places[len(sources) :])),
        "weight": pa.array(weights),
    }
    write_table(pa.table(columns), Path(file))
    return len(weights), int(weights.sum())


def _sources(rows: RangeRows, first: int) -> NDArray[np.int64]:
    return np.repeat(np.arange(first, first + len(rows.lengths)), rows.lengths)


def _labels(nodes: Nodes, some: NDArray[np.int64]) -> Any:
    """Return the labels of some nodes."""
    begin, each = nodes.gram_offsets[some], np.diff(nodes.gram_offsets)[some]
    offsets = np.concatenate([[0], np.cumsum(each)])
    at = np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], each)
    return label_array(nodes.names, offsets, nodes.grams[at])
