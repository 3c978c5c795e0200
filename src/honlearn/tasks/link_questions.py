"""What a fitted link predictor is asked beside probabilities: new neighbours, and reasons.

In: a fitted :class:`~honlearn.tasks.links.DGELinkPredictor`. Out: tables of suggestions, explanations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from honlearn.tasks.recommendations import CANDIDATES, Suggested, recommended

if TYPE_CHECKING:
    import pandas

    from honlearn.paths.paths import Paths
    from honlearn.tasks.explain.value import Explanation
    from honlearn.tasks.links import DGELinkPredictor


class LinkQuestions:
    """Suggestions and reasons, for the link predictor that inherits them."""

    @property
    def _predictor(self) -> DGELinkPredictor:
        return cast("DGELinkPredictor", self)

    @property
    def members_(self) -> pandas.DataFrame:
        """A row for each learner, and one for the count model: what it reads, and its weight.

        The weights sum to 1. Learners that are pooled before the classes share theirs equally.
        """
        import pandas as pd

        model = self._predictor
        check_is_fitted(model, "ensemble_")
        network, shape, counts = model.network_, model.architecture_, model.count_model_
        share = 0.0 if counts is None else counts.share
        read = "first order" if network.n_conditional == 0 else f"order {network.max_order}"
        epochs, rows = model.best_epochs_, []
        for learner in range(shape.n_learners):
            kind = shape.kinds[learner % len(shape.kinds)]
            trained = int(epochs[learner % len(epochs)])
            rows.append((kind.kind, kind.power, read, trained, (1 - share) / shape.n_learners))
        if counts is not None:
            rows.append(("counts", float("nan"), read, 0, share))
        return pd.DataFrame(rows, columns=["learner", "edge_power", "network", "epochs", "weight"])

    def recommend(
        self,
        node: object,
        top: int = 10,
        max_fdr: float | None = None,
        candidates: int | None = CANDIDATES,
    ) -> pandas.DataFrame:
        """Return the entities that `node` is most likely linked to and has no edge to yet, best first.

        Parameters
        ----------
        node
            The name of an entity, or a list of names; then the table has a first column ``node``.
        top
            How many new neighbours of each node.
        max_fdr
            Keep the suggestions of a node with a ``q_value`` up to this rate; None keeps `top` of
            them.
        candidates
            How many entities of each node the learners score: those that the count model ranks first. None
            scores every entity, which takes long where there are many. At least `top` are scored.

        Returns
        -------
        A table with one row per suggestion:

        - ``neighbor``;
        - ``probability``: of all pairs of entities with a score as high, the share that is linked, if the
          pairs themselves were hidden. It was calibrated on held-back pairs, weighed to stand for all pairs;
        - ``q_value``: the least false discovery rate of a list of the node that ends here, by the scores of
          unlinked pairs that were held back in the fit
          (:func:`~honlearn.hon.false_discovery.link_q_values`); NaN where none were. It holds on average over
          nodes; of an entity with far more links than others it is too small;
        - ``disagreement`` of the members;
        - ``n_common`` and ``common_neighbors``: on how many entities z the walks u → z → v meet, and the
          names of those with the fewest links;
        - where paths are known ``lag_2`` … ``lag_4``, how often the neighbour comes as many steps after the
          node, and ``paths``, the commonest pieces of paths from the one to the other, with counts.
        """
        model = self._predictor
        check_is_fitted(model, "ensemble_")
        asked = Suggested(top, max_fdr, candidates).checked(model._owner, model.unlinked_scores_)
        several = isinstance(node, (list, tuple, np.ndarray)) or hasattr(node, "to_numpy")
        names = model.network_.vocabulary
        nodes = names.codes(list(node)) if several else np.array([names.index(node)], np.int32)  # type: ignore[call-overload]
        _, inference = model._inference([], "recommend")
        paths = getattr(model._fitted_model.source, "paths", None)
        known = (model.calibration_, model.unlinked_scores_, paths)
        with inference.run.threads():
            found = recommended(inference, nodes, asked, model._reads.directed, *known)
        return found if several else found.drop(columns="node")

    def explain(
        self, source: object, target: object, *, paths: Paths | None = None, top: int = 5
    ) -> Explanation:
        """Return why a link is expected or not: its probability without memories and neighbours of its ends.

        Parameters
        ----------
        source, target : object
            The names of the two ends.
        paths : Paths, optional
            Observed paths that support of reasons is counted in; without them it is counted in the network.
        top : int, default 5
            How many reasons are told, the first three with Shapley values. The heaviest ``2 * top`` reasons
            at either end are deleted one at a time to find them.
        """
        from honlearn.tasks.explain.links import explain_link

        check_is_fitted(self._predictor, "ensemble_")
        return explain_link(self._predictor, source, target, paths, top)
