"""What can be learnt without labels: next steps, links to expect, communities.

In: paths and their counts. Out: a :class:`~honlearn.pipeline.outcome.Learned` whose tables hold how much
memory helps, which links to expect, and communities where infomap is installed.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from honlearn.errors import InputError
from honlearn.experiments.expected_links import expected_links
from honlearn.experiments.machine import machine
from honlearn.experiments.next_steps import SCORES, NextData, evaluate_next, keep_memory, plan_next
from honlearn.experiments.registry import find_model
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.paths import Paths
from honlearn.pipeline.outcome import Learned
from honlearn.pipeline.reading import ReadSummary
from honlearn.pipeline.words import Memories, headline
from honlearn.results.artefacts import Memory
from honlearn.results.summary import summarise, write_summary

if TYPE_CHECKING:
    import pandas

    from honlearn.pipeline.learn import LearnOptions


def learn_unlabelled(
    paths: Paths, counts: GramCounts, summary: ReadSummary, found: Memories, run: Path, asked: LearnOptions
) -> Learned:
    """Return how well next steps are predicted, which links to expect, and communities."""
    import pandas as pd

    asked.reports.step("how much memory helps to predict the next step")
    memory = _next_steps(paths, counts.order, run, asked)
    network = counts.grow(2, alpha=0.05)
    asked.reports.step("links to expect")
    entry = find_model("dge-bag", "links")
    model: Any = entry.make(network, random_state=asked.seed, **asked.settings)
    try:
        model.fit()
    except InputError as error:  # as where every two entities are linked: all else is learnt
        asked.reports.note(f"no links are predicted: {str(error).partition(': ')[2]}")
        model = None
    tables = {"memory": pd.DataFrame(memory.rows), "links": _links(model, network)}
    if find_spec("infomap") is not None:
        asked.reports.step("communities")
        tables["communities"] = network.communities(seed=asked.seed)
    best = memory.best_order
    known = "the current entity alone" if best == 1 else f"the last {best} entities"
    links, right = tables["links"], memory.rows[best - 1]["top1"]
    text = (
        f"Next steps are predicted best from {known}: the likeliest is right for "
        f"{right:.0%} of the steps of held-out paths, the end of a path being one. "
    )
    if model is None:
        text += "No links are predicted: there are too few pairs with one, or without one, to learn from."
    else:
        text += (
            f"Links to expect that were not observed: {len(links):,}, in links.csv the most probable first."
        )
    return Learned(
        headline(None, found, memory.sentence),
        text,
        summary,
        paths,
        counts,
        network,
        found,
        model,
        None,
        None,
        tables,
    )


def _next_steps(paths: Paths, order: int, run: Path, asked: LearnOptions) -> Memory:
    """Compare orders on held-out paths, for the page; return how much each saves."""
    data = _parts(paths, asked)
    jobs = plan_next(data, ["back-off"], order)
    with asked.reports.watch(len(jobs)) as watch:
        records = [
            record for _, record, _ in evaluate_next(data, jobs, run, processes=asked.processes, watch=watch)
        ]
    about: dict[str, Any] = {"task": "next", "folds": data.division, "machine": machine()}
    about |= {"command": asked.command} if asked.command else {}
    memory = keep_memory(data, order, run)
    write_summary(run, summarise(records, SCORES), about | {"sentence": memory.sentence})
    return memory


def _parts(paths: Paths, asked: LearnOptions) -> NextData:
    """Return the paths in the parts that were asked for, or fewer, each with a step to predict."""
    times = np.ones(len(paths.lengths), np.int64) if paths.counts is None else paths.counts
    usable = int(times[paths.lengths > 1].sum())
    for folds in range(min(asked.folds, usable), 1, -1):
        with suppress(InputError):
            return NextData.by_path(paths, folds, asked.seed)
    raise InputError(
        f"{usable:,} of {paths.total:,} paths have two entities or more: too few to hold some out and learn "
        "from the others; 'honlearn grow' makes the network alone"
    )


def _links(model: Any, network: HigherOrderNetwork) -> pandas.DataFrame:
    """Return pairs without a link, the likeliest first."""
    import pandas as pd

    if model is None:
        return pd.DataFrame({"source": [], "target": [], "probability": []})
    found = expected_links(model, network)
    return pd.DataFrame(
        {
            "source": [source for source, _ in found.pairs],
            "target": [target for _, target in found.pairs],
            "probability": found.probability,
        }
    )
