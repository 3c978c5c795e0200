"""Components of a fitted bag: learners of one kind on one network, with their share of the prediction.

In: a model (network, shape, features, seed) and its trained weights. Out: predictions of its members. A plain
ensemble has one component; ``learner="auto"`` has as many as were selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from honlearn.ensemble.ensemble import Ensemble, count_parameters
from honlearn.ensemble.inference import pooled
from honlearn.ensemble.loop import State
from honlearn.ensemble.node_model import NodeModel
from honlearn.hon.path_space import PathSpace

if TYPE_CHECKING:
    import pandas

    from honlearn.ensemble.inference import Inference


@dataclass(eq=False)
class Component:
    """Learners on a network; `share` is theirs among all learners, `path_vectors` what they read of paths.

    `space` is the space of these vectors, in which entities that come later have their place.
    """

    model: NodeModel
    ensemble: Ensemble
    share: float
    epochs: NDArray[np.int64]
    path_vectors: NDArray[np.float32] | None
    space: PathSpace | None = None

    @classmethod
    def of(
        cls,
        model: NodeModel,
        state: State,
        share: float,
        epochs: NDArray[np.int64],
        path_vectors: NDArray[np.float32] | None,
        space: PathSpace | None = None,
    ) -> Component:
        """Return the component with these weights."""
        return cls(model, model.restore(state), share, epochs, path_vectors, space)

    @property
    def n_members(self) -> int:
        """How many learners there are."""
        return self.model.shape.n_learners

    @property
    def n_parameters(self) -> int:
        """How many numbers were trained."""
        return count_parameters(self.ensemble)


def mixed_proba(
    components: Sequence[Component], inferences: Sequence[Inference], nodes: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Return the probabilities of the learners of all components, each with its share, [B, C]."""
    if len(components) == 1:
        return inferences[0].proba(nodes)
    parts = zip(components, inferences, strict=True)
    weighted = [np.float32(one.share) * inference.proba(nodes) for one, inference in parts]
    return pooled(np.stack(weighted).sum(0, keepdims=True))


def members_table(components: Sequence[Component], kernel_share: float) -> pandas.DataFrame:
    """Return a row for each member: its learner, the network that it reads, and its weight.

    The weights of the members and the share of the path kernel sum to 1.
    """
    import pandas as pd

    rows = []
    for number, one in enumerate(components):
        shape, network = one.model.shape, one.model.network
        for learner in range(one.n_members):
            kind = shape.kinds[learner % len(shape.kinds)]
            weight = (1 - kernel_share) * one.share / one.n_members
            rows.append(
                {
                    "component": number,
                    "learner": kind.kind,
                    "edge_power": kind.power,
                    "network": "first order" if network.n_conditional == 0 else f"order {network.max_order}",
                    "nodes": network.n_nodes,
                    "epochs": int(one.epochs[learner % len(one.epochs)]),
                    "weight": weight,
                }
            )
    return pd.DataFrame(rows)
