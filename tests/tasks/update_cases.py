"""Paths of three communities, with some entities hidden, for the tests of updates."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from task_cases import FAST, make_classifier

import honlearn as hl
from honlearn import DGEClassifier

NAMES = [f"{word}{i:02d}" for word in ("ash", "elm", "oak") for i in range(12)]
HIDDEN = [name for name in NAMES if name.endswith(("03", "07"))]
KNOWN = [name for name in NAMES if name not in HIDDEN]
CLASSES = [name[:3] for name in KNOWN]


@cache
def paths() -> tuple[list[list[str]], list[list[str]]]:
    """Return the paths without hidden entities, and those with them."""
    random = np.random.default_rng(0)
    made = []
    for _ in range(900):
        group = 12 * int(random.integers(3))
        walk = [group + int(random.integers(12))]
        for _ in range(3):
            stay = random.random() < 0.9
            walk.append(group + int(random.integers(12)) if stay else int(random.integers(36)))
        if random.random() < 0.3:
            walk.append(walk[-2])
        made.append([NAMES[i] for i in walk])
    old = [path for path in made if not set(HIDDEN) & set(path)]
    return old, [path for path in made if set(HIDDEN) & set(path)]


@cache
def counts() -> hl.GramCounts:
    """Return the counts of the paths without hidden entities."""
    return hl.count_grams(paths()[0], 2)


def fitted(source: Any = None, **given: Any) -> DGEClassifier:
    """Return a classifier that was fitted on half of the known entities, by default from a network."""
    settings = {**FAST, "max_epochs": 6, "learner": "sage", **given}
    if settings["learner"] in ("auto", "torch"):
        del settings["widths"]
    source = counts().grow(tau=0.5, min_support=2) if source is None else source
    return make_classifier(source, **settings).fit(KNOWN[::2], CLASSES[::2])
