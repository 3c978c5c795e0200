"""GIN: graph isomorphism network (Xu et al., ICLR 2019).

h' = ‖ over in and out of MLP((1 + ε) h + Σ h of these neighbours), ε learned, in minibatches. In: the
identity (or features) of each node's base. Out: [B, d] of the base nodes asked for.

This is our learner with the ``"gin"`` aggregator by itself: sums are weighted, in- and out-neighbours are
kept apart, which PyTorch Geometric's ``GINConv`` does not do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from honlearn.baselines.one_learner import LinkLearner, NodeLearner


@dataclass(eq=False, repr=False)
class GINClassifier(NodeLearner):
    """GIN for nodes; see :class:`honlearn.baselines.one_learner.OneLearner` for the parameters."""

    _settled: ClassVar[Mapping[str, Any]] = {**NodeLearner._settled, "aggregator": "gin"}


@dataclass(eq=False, repr=False)
class GINLinkPredictor(LinkLearner):
    """GIN for links; see :class:`honlearn.baselines.one_learner.OneLearner` for the parameters."""

    _settled: ClassVar[Mapping[str, Any]] = {**LinkLearner._settled, "aggregator": "gin"}
