"""The path kernel's part in a prediction: which labelled entities move it.

In: the terms of the kernels of a fitted classifier (:mod:`honlearn.path_kernel.terms`). Out: reasons, each a
labelled entity whose path vector is like the explained one's. Without its term the kernel would give another
probability; the learners stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.path_kernel.terms import KernelTerms
from honlearn.paths.vocabulary import Vocabulary
from honlearn.tasks.explain.value import Reason


def example_reasons(
    terms: Sequence[tuple[float, KernelTerms]],
    kernel_share: float,
    entity: int,
    label: int,
    probability: float,
    top: int,
    vocabulary: Vocabulary,
    classes: NDArray[Any],
) -> list[Reason]:
    """Return the `top` labelled entities whose terms move the probability of a class most."""
    if not terms or not kernel_share:
        return []
    labelled = terms[0][1].labelled
    effect = np.zeros(len(labelled.nodes))
    for share, one in terms:
        parts = one.terms(entity)
        whole = parts.sum(0)
        effect += share * (one.proba(entity, whole)[label] - one.proba(entity, whole - parts)[:, label])
    effect *= kernel_share
    found = []
    for place in np.argsort(-np.abs(effect), kind="stable")[:top].tolist():
        if not effect[place]:
            break
        name = vocabulary[int(labelled.nodes[place])]
        of_class = classes[labelled.labels[place]]
        without = probability - float(effect[place])
        found.append(Reason("example", name, None, without, None, f"labelled {of_class}"))
    return found
