"""Words for parameters of parameter objects, and errors about them; nothing here imports torch.

In: a word such as ``training.max_epochs``, and what groups and fields there are. Out: nothing, or the error
that lists the known ones. What the words stand for is in :mod:`honlearn.tasks.nested`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from honlearn.errors import ParameterError, did_you_mean, listed

LEARNER = "learner"
# The learner that is chosen in a fit; where only one kind will do, it is the usual one.
AUTO = "auto"

# Other words for parameters of learners on the command line, from version 0.1.
ALIASES: Mapping[str, type] = {
    "n_layers": int,
    "width": int,
    "dropout": float,
    "echo": bool,
    "n_heads": int,
}


def check_field(group: str, field: str, groups: Mapping[str, Sequence[str]]) -> None:
    """Raise unless the group is one of these and has the field, by its name or by another word for it."""
    if group not in groups:
        raise ParameterError(f"no group {group!r}; there are {listed(groups)}{did_you_mean(group, groups)}")
    fields = groups[group]
    if field in fields or (group == LEARNER and field in ALIASES):
        return
    others = [name for name, known in groups.items() if field in known]
    hint = f"; {others[0]} has one: {others[0]}.{field}" if others else did_you_mean(field, fields)
    raise ParameterError(f"{group} has no {field!r}; there are {listed(fields, 40)}{hint}")
