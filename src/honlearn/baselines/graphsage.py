"""GraphSAGE: sample and aggregate (Hamilton, Ying & Leskovec, NeurIPS 2017).

h' = relu([W_s h ‖ W_i AGG h of in-neighbours ‖ W_o AGG h of out-neighbours] + b), in minibatches. In: the
identity (or features) of each node's base. Out: [B, d] of the base nodes asked for.

This is the learner of our ensembles by itself: directed and weighted, as the paper ran it, with whole or
sampled neighbourhoods. PyTorch Geometric's ``SAGEConv`` knows neither weights nor direction, so ours fits
better.
"""

from __future__ import annotations

from dataclasses import dataclass

from honlearn.baselines.one_learner import LinkLearner, NodeLearner, OneLearner
from honlearn.errors import check_choice

AGGREGATORS = ("mean", "max")


@dataclass(eq=False, repr=False)
class GraphSAGE(OneLearner):
    """GraphSAGE; `aggregator` is ``"mean"`` or ``"max"``, the rest is of :class:`OneLearner`."""

    aggregator: str = "mean"

    def _check(self) -> None:
        check_choice(type(self).__name__, "aggregator", self.aggregator, AGGREGATORS)


@dataclass(eq=False, repr=False)
class GraphSAGEClassifier(GraphSAGE, NodeLearner):
    """GraphSAGE for nodes."""


@dataclass(eq=False, repr=False)
class GraphSAGELinkPredictor(LinkLearner, GraphSAGE):
    """GraphSAGE for links."""
