"""Every reader and loader, by name. A new reader gets a :class:`Target` in one of the lists, ten lines."""

from __future__ import annotations

from fuzz import model_targets, network_targets, path_targets, result_targets
from fuzz.target import Target

_LISTS = (path_targets, network_targets, model_targets, result_targets)
TARGETS: dict[str, Target] = {target.name: target for part in _LISTS for target in part.TARGETS}
