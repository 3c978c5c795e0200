"""``honlearn info MODEL``: the card of a saved model.

In: a model folder. Out: tables on standard output, or the same as JSON. The ``README.md`` of the folder holds
the same as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.table import Table

_TITLES = {
    "data": "Data",
    "choice": "What was chosen",
    "calibration": "Calibration",
    "training": "Training",
    "versions": "Versions",
}
_LISTS = {"held_back": "Scores on what was held back", "prediction_sets": "Prediction sets"}


def show_card(folder: str, as_json: bool) -> None:
    """Print the card of a model."""
    from pathlib import Path

    from honlearn.tasks.model_card import model_card

    card = model_card(Path(folder).expanduser())
    if as_json:
        import json

        typer.echo(json.dumps({"folder": folder, **card}, indent=2, ensure_ascii=False, allow_nan=False))
        return
    from honlearn.cli.run_tables import print_whole

    for table in _tables(card):
        print_whole(table)
    for line in card["limits"]:
        typer.echo(f"limit: {line}")


def _tables(card: Mapping[str, Any]) -> list[Table]:
    model = dict(card["model"])
    title = f"{model.pop('kind')} ({model.pop('task')})"
    found = [_pairs(title, model)]
    for name, section in card.items():
        if name in _LISTS:
            found.append(_rows(_LISTS[name], section))
        elif name in _TITLES:
            plain = {key: value for key, value in section.items() if not isinstance(value, (list, dict))}
            found += [_pairs(_TITLES[name], plain)] if plain else []
            if section.get("classes"):
                rows = [{"class": key, "examples": value} for key, value in section["classes"].items()]
                found.append(_rows("Classes", rows))
            found += [
                _rows(key.capitalize(), section[key]) for key in ("members", "tried") if section.get(key)
            ]
    return found


def _pairs(title: str, values: Mapping[str, Any]) -> Table:
    from honlearn.cli.info import table_of

    return table_of(title, ["", ""], [(key.replace("_", " "), _cell(value)) for key, value in values.items()])


def _rows(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    from honlearn.cli.info import table_of

    names = list(dict.fromkeys(name for row in rows for name in row))
    header = [name.replace("_", " ") for name in names]
    cells = [[_cell(row.get(name)) for name in names] for row in rows]
    return table_of(title, header, cells, last_left=False)


def _cell(value: object) -> str:
    """Return a value for a terminal; names are escaped by the table."""
    from honlearn.tasks.card_text import number

    return value if isinstance(value, str) else number(value)
