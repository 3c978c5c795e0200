"""What can be learnt without labels: next steps, links to expect, communities.

In: paths and their counts. Out: a :class:`~honlearn.pipeline.outcome.Learned` whose tables hold how much
memory helps, which links to expect, and communities where infomap is installed.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from honlearn.experiments.artefacts import link_candidates
from honlearn.experiments.machine import machine
from honlearn.experiments.next_steps import SCORES, NextData, evaluate_next, keep_memory, plan_next
from honlearn.hon.build import GramCounts
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.steps.memory import memory_gain
from honlearn.paths.paths import Paths
from honlearn.pipeline.outcome import Learned
from honlearn.pipeline.reading import ReadSummary
from honlearn.pipeline.words import Memories, headline
from honlearn.results.summary import summarise, write_summary

if TYPE_CHECKING:
    import pandas

    from honlearn.pipeline.learn import _Asked

# Pairs without a link that are scored, and those that are kept.
_CANDIDATES, _KEPT = 5000, 200


def learn_unlabelled(
    paths: Paths, counts: GramCounts, summary: ReadSummary, found: Memories, run: Path, asked: _Asked
) -> Learned:
    """Return how well next steps are predicted, which links to expect, and communities."""
    from honlearn.tasks.links import DGELinkPredictor

    asked.reports.step("how much memory helps to predict the next step")
    gain = memory_gain(paths, counts.order, parts=min(asked.folds, paths.total), seed=asked.seed)
    _next_steps(paths, counts.order, run, asked)
    network = counts.grow(2, alpha=0.05)
    asked.reports.step("links to expect")
    model = DGELinkPredictor(network, random_state=asked.seed, **asked.settings).fit()
    tables = {"memory": gain.table(), "links": _links(model, network)}
    if find_spec("infomap") is not None:
        asked.reports.step("communities")
        named = network.communities(seed=asked.seed)
        tables["communities"] = _communities(named)
    best = gain.best
    remembers = "where one is alone" if best == 1 else f"the last {best} entities"
    links = tables["links"]
    text = (
        f"Next steps are predicted best from {remembers}: the likeliest is right for "
        f"{gain.orders[best - 1].top1:.0%} of the steps of held-out paths. {len(links):,} links that were "
        "not seen are listed by how much they are to be expected."
    )
    return Learned(
        headline(None, found, gain.sentence()),
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


def _next_steps(paths: Paths, order: int, run: Path, asked: _Asked) -> None:
    """Compare orders on held-out paths, for the page."""
    data = NextData.by_path(paths, min(asked.folds, paths.total), asked.seed)
    jobs = plan_next(data, ["next"], order)
    with asked.reports.watch(len(jobs)) as watch:
        records = [
            record for _, record, _ in evaluate_next(data, jobs, run, processes=asked.processes, watch=watch)
        ]
    about: dict[str, Any] = {"task": "next", "folds": data.division, "machine": machine()}
    about |= {"command": asked.command} if asked.command else {}
    if order > 1:
        about["sentence"] = keep_memory(data, order, run).sentence
    write_summary(run, summarise(records, SCORES), about)


def _links(model: Any, network: HigherOrderNetwork) -> pandas.DataFrame:
    """Return pairs without a link, the likeliest first."""
    import pandas as pd

    pairs = link_candidates(network, _CANDIDATES)
    if not pairs:
        return pd.DataFrame({"source": [], "target": [], "probability": []})
    probability = np.asarray(model.predict_proba(pairs))[:, 1]
    best = np.argsort(-probability, kind="stable")[:_KEPT]
    return pd.DataFrame(
        {
            "source": [pairs[i][0] for i in best],
            "target": [pairs[i][1] for i in best],
            "probability": probability[best],
        }
    )


def _communities(found: Any) -> pandas.DataFrame:
    """Return the community of each entity as a table."""
    import pandas as pd

    if isinstance(found, pd.DataFrame):
        return found
    series = pd.Series(found)
    return pd.DataFrame({"node": series.index.astype(str), "community": series.to_numpy()})
