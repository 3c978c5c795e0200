"""``--task links`` of train and predict: what these commands do for pairs instead of nodes.

In: what the commands were given. Out: a model folder, a table of scored pairs or of recommendations.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas

    from honlearn.experiments.evaluate import ModelSpec
    from honlearn.hon.build import GramCounts
    from honlearn.hon.network import HigherOrderNetwork


class Execution(NamedTuple):
    """How an evaluation runs, not what comes out of it."""

    jobs: int = 1
    dry_run: bool = False
    as_json: bool = False
    artefacts: bool = True
    executor: str | None = None

    @property
    def width(self) -> int:
        """How many jobs run at once, as far as the command line tells."""
        return int(self.executor) if self.executor and self.executor.isdecimal() else self.jobs


def checked(how: Execution) -> Execution:
    """Return how an evaluation runs; raise where that is known to fail, before anything is read."""
    if how.executor is not None:
        from honlearn.experiments.runner import executor_for

        executor_for(how.jobs, how.executor)
    return how


def fit_links(
    spec: ModelSpec,
    network: HigherOrderNetwork | GramCounts,
    pairs: Path | None,
    folder: Path,
    seed: int,
) -> dict[str, Any]:
    """Fit on the pairs of a file, or on the network's own links, and save; return what is worth saying."""
    from honlearn.cli.train import fit_in_folder, training_facts

    started = time.perf_counter()
    named, labels = ([], []) if pairs is None else read_pairs(pairs, network, labelled=True)
    estimator = fit_in_folder(
        spec,
        network,
        folder,
        seed,
        ["links", named, labels],
        lambda made: made.fit() if pairs is None else made.fit(named, labels),
    )
    facts = {"linked_pairs": getattr(estimator, "n_linked_", None)}
    return facts | training_facts(estimator, time.perf_counter() - started)


def predicted_links(
    fitted: Any, pairs: Path | None, node: str | None, top: int, max_fdr: float | None = None
) -> pandas.DataFrame:
    """Return the scored pairs of a file, or the neighbours recommended for a node."""
    import pandas as pd

    from honlearn.errors import ParameterError

    if (pairs is None) == (node is None):
        raise ParameterError(
            "a model of links needs either --pairs FILE.csv (pairs to score) or --node NAME (recommend)"
        )
    if max_fdr is not None and (node is None or not hasattr(fitted, "unlinked_scores_")):
        what = "--node" if node is None else f"dge models; {type(fitted).__name__} holds no pairs back"
        raise ParameterError(f"--max-fdr ends a list of recommended neighbours and is for {what}")
    if node is not None:
        table = fitted.recommend(node, top) if max_fdr is None else fitted.recommend(node, top, max_fdr)
        table.insert(0, "node", node)
        # A cell of a CSV or of a screen holds text, not a list.
        for column in ("common_neighbors", "paths"):
            if column in table:
                table[column] = ["; ".join(found) for found in table[column]]
        return table  # type: ignore[no-any-return]
    assert pairs is not None
    named, _ = read_pairs(pairs, fitted.network)
    table = pd.DataFrame(
        {
            "source": [source for source, _ in named],
            "target": [target for _, target in named],
            "probability": fitted.predict_proba(named)[:, 1],
        }
    )
    has_members = hasattr(fitted, "disagreement")
    return table.assign(disagreement=fitted.disagreement(named)) if has_members else table


def read_pairs(
    path: Path, network: HigherOrderNetwork | GramCounts, labelled: bool = False
) -> tuple[list[tuple[str, str]], list[int]]:
    """Return the pairs in the first two columns of a CSV, and the column ``label`` (1 or 0) where asked."""
    from honlearn.errors import FormatError
    from honlearn.labels import csv_rows

    rows = csv_rows(path)
    _, header = next(rows, (0, []))
    if len(header) < 2:
        raise FormatError(f"{path}: expected a header with two columns or more, such as: source,target")
    if header[0] in network.vocabulary and header[1] in network.vocabulary:
        raise FormatError(f"{path}:1: no header; write one such as source,target above the first pair")
    place = [i for i, name in enumerate(header) if i > 1 and name.strip().casefold() == "label"]
    if labelled and not place:
        raise FormatError(f"{path}: no column 'label' after the pair; give 1 (linked) or 0 for each pair")
    pairs, labels = [], []
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(f"{path}:{line}: {len(row)} fields, but the header has {len(header)}")
        for name in row[:2]:
            if name not in network.vocabulary:
                from honlearn.errors import UnknownNodeError, did_you_mean

                hint = did_you_mean(name, network.vocabulary.names)
                raise UnknownNodeError(f"{path}:{line}: no entity {name!r} in the network{hint}")
        if row[0] == row[1]:
            raise FormatError(f"{path}:{line}: equal ends {row[0]!r}; a pair is two different nodes")
        if labelled and row[place[0]].strip() not in ("0", "1"):
            raise FormatError(f"{path}:{line}: label {row[place[0]]!r}; give 1 (linked) or 0 (not)")
        pairs.append((row[0], row[1]))
        labels.append(int(row[place[0]]) if labelled else 0)
    if not pairs:
        raise FormatError(f"{path}: no pair below the header")
    return pairs, labels
