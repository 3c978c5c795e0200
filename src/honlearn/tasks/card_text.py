"""The card of a model as Markdown: the ``README.md`` of its folder.

In: the sections of :mod:`honlearn.tasks.model_card`. Out: text. Names of classes and learners come from data,
so everything is escaped: a name can make no table and no HTML, and no link but of an address written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FILE = "README.md"
# The first line of a card of ours; another README.md in the folder is somebody's own and is left alone.
MARK = "<!-- Written by honlearn. To keep your own text, remove this line. -->"
# What means something inside a line; block marks cannot come first, since a value never does.
_SPECIAL = re.compile(r"([\\`*_{}\[\]|<>~&$])")
_TITLES = {
    "data": "Data",
    "held_back": "Scores on what was held back",
    "calibration": "Calibration",
    "prediction_sets": "Prediction sets",
    "training": "Training",
    "versions": "Versions",
}
_WHY = (
    "Members, their shares and the path kernel's share follow from predictions that learners made for "
    "examples they held back: shares are those that lower the log loss of the weighted mean, averaged over "
    "bootstrap draws of the examples. A gain is how much lower the log loss is than that of the first "
    "candidate, with its standard error."
)


def is_own(path: Path) -> bool:
    """Return whether a file is a card that honlearn wrote, or is not there."""
    try:
        with path.open("rb") as file:
            return file.read(len(MARK.encode())) == MARK.encode()
    except FileNotFoundError:
        return True
    except OSError:
        return False


def escaped(value: object) -> str:
    """Return a value as text of one line that Markdown shows as it is.

    >>> escaped("a|b\\n<script>")
    'a\\\\|b \\\\<script\\\\>'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in str(value)).split())
    return _SPECIAL.sub(r"\\\1", line)


def markdown(card: Mapping[str, Any]) -> str:
    """Return the whole card."""
    model = card["model"]
    task = {"nodes": "classes of nodes", "links": "links", "paths": "classes of paths"}[model["task"]]
    parts = [MARK, f"# {escaped(model['kind'])}: {task}"]
    parts.append(
        'A model of honlearn. Load it with `honlearn.load_model("FOLDER")`, predict with '
        "`honlearn predict FOLDER`, show this card with `honlearn info FOLDER`."
    )
    parts.append(_pairs({name: value for name, value in model.items() if name not in ("kind", "task")}))
    for name, section in card.items():
        if name == "choice":
            parts += _choice(section)
        elif name == "limits":
            parts += ["## Limits", "\n".join(f"- {escaped(line)}" for line in section)]
        elif name in _TITLES:
            parts += [f"## {_TITLES[name]}", *_section(section)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(section: Any) -> list[str]:
    if isinstance(section, list):
        return [_table(section)]
    plain = {name: value for name, value in section.items() if not isinstance(value, Mapping)}
    parts = [_pairs(plain)]
    if section.get("classes"):
        rows = [{"class": name, "examples": count} for name, count in section["classes"].items()]
        parts.append(_table(rows))
    return parts


def _choice(section: Mapping[str, Any]) -> list[str]:
    parts = ["## What was chosen, and why"]
    plain = {name: value for name, value in section.items() if not isinstance(value, list)}
    parts.append(_pairs(plain))
    if "members" in section:
        parts.append(_table(section["members"]))
    if "tried" in section:
        parts += [_WHY if "members" in section else "What was tried, by its log loss on held-back examples:"]
        parts.append(_table(section["tried"]))
    return parts


def _pairs(values: Mapping[str, Any]) -> str:
    return "\n".join(
        f"- {escaped(name.replace('_', ' '))}: {number(value)}" for name, value in values.items()
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [_line(escaped(name.replace("_", " ")) for name in names), _line("---" for _ in names)]
    lines += [_line(number(row.get(name)) for name in names) for row in rows]
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def number(value: object) -> str:
    """Return a value for a reader: thousands apart, four significant digits, a dash for nothing."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return escaped(value)
