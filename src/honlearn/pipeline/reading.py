"""Read a table of paths and tell what was read: columns, rows left out, entities that no step joins.

In: whatever :func:`honlearn.read_paths` takes, and its options; columns that nobody named are guessed. Out:
paths and a :class:`ReadSummary`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from honlearn.errors import InputError
from honlearn.paths.empty_ids import EmptyIds, count_empty_ids
from honlearn.paths.guess import Guess, guess_columns
from honlearn.paths.odd_fields import unsplit
from honlearn.paths.paths import Paths
from honlearn.paths.source import read_paths
from honlearn.paths.ties import Ties, count_ties

Confirm = Callable[[Guess], bool]
# From this share of the steps on it is told that they lead from an entity to itself.
_MANY_REPEATS = 0.2
_MARKS = (">", "->", "-->", "=>", "→", "-", ",", ";")


@dataclass(frozen=True)
class ReadSummary:
    """What was read.

    Parameters
    ----------
    source : the name of the table.
    options : the reader options that were used, those that were guessed among them.
    guess : what was guessed, None where nothing was.
    rows : rows of the table, None where it is not one.
    left_out : rows without an id, by the column that lacks it.
    paths, steps, entities : how many there are.
    alone : entities that occur only in paths of one entity, and so are in no network.
    repeats : steps from an entity to itself.
    tied : rows with the order of another one of their path, and whether these have its entity.
    """

    source: str
    options: Mapping[str, Any]
    guess: Guess | None
    rows: int | None
    left_out: Mapping[str, int]
    paths: int
    steps: int
    entities: int
    alone: tuple[str, ...]
    repeats: int
    tied: Ties

    def lines(self) -> list[str]:
        """Return what was read, in words, a line for each fact."""
        found = []
        if self.guess is not None:
            found.append(f"columns guessed ({self.guess.flags()}):")
            found += [f"  {reason}" for reason in self.guess.reasons]
        rows = "" if self.rows is None else f"{counted(self.rows, 'row')}, "
        found.append(
            f"{self.source}: {rows}{counted(self.paths, 'path')}, {counted(self.steps, 'step')}, "
            f"{counted(self.entities, 'entity', 'entities')}"
        )
        if self.left_out:
            word = "in" if "step_columns" in self.options else "without"
            parts = ", ".join(f"{count:,} {word} {column!r}" for column, count in self.left_out.items())
            what = "empty cells before a later step" if "step_columns" in self.options else "rows"
            found.append(f"{what} left out: {parts}")
        if self.tied.doubled:
            found.append(
                f"{counted(self.tied.doubled, 'row repeats', 'rows repeat')} the path, the "
                f"{self.options['order_by']!r} and the entity of another row, so that a step leads from an "
                "entity to itself; to read both as one, pass drop_repeats=True (--drop-repeats)"
            )
        if self.tied.tied:
            found.append(
                f"{counted(self.tied.tied, 'row has', 'rows have')} the {self.options['order_by']!r} of "
                "another row of the same path; they stay as they stand in the table"
            )
        if self.repeats >= _MANY_REPEATS * max(self.steps, 1):
            found.append(
                f"{self.repeats / self.steps:.0%} of the steps stay at the entity where they are; to read "
                "them as one visit, pass drop_repeats=True (--drop-repeats)"
            )
        if self.alone:
            shown = ", ".join(self.alone[:3]) + (", …" if len(self.alone) > 3 else "")
            verbs = ("occurs", "is") if len(self.alone) == 1 else ("occur", "are")
            found.append(
                f"{counted(len(self.alone), 'entity', 'entities')} {verbs[0]} only in paths of one entity "
                f"and {verbs[1]} not in the network: {shown}"
            )
        return found


def read_table(
    table: Any, reading: Mapping[str, Any], confirm: Confirm | None = None
) -> tuple[Paths, ReadSummary]:
    """Return the paths of a table and what was read.

    `confirm` is called with a guess; where it answers no, or is None and the guess is not clear, an
    :class:`InputError` asks for the columns. A row without an id is left out and counted.
    """
    guess = None if isinstance(table, Paths) else guess_columns(table, **reading)
    if guess is not None and not (guess.is_clear if confirm is None else confirm(guess)):
        raise InputError(
            f"{name_of(table)}: the columns are not clear; the guess is {guess.flags()}. Pass these if they "
            "are right (on the command line --yes will do), or name others: sequence, order_by and entity "
            "(one event per row), path_column (one path per row) or step_columns (a column per step)"
        )
    options = {**reading, **({} if guess is None else guess.options)}
    empty = EmptyIds(None, {})
    if not isinstance(table, Paths):
        options.setdefault("on_empty", "skip")
        if options["on_empty"] == "skip":
            empty = count_empty_ids(table, **options)
    paths = table if isinstance(table, Paths) else read_paths(table, **options)
    if guess is None and not isinstance(table, Paths) and options.get("delimiter") is None:
        _check_delimiter(name_of(table), paths)
    summary = ReadSummary(
        name_of(table),
        options,
        guess,
        empty.rows,
        empty.by_column,
        paths.total,
        paths.n_steps,
        len(paths.vocabulary),
        _alone(paths),
        _repeats(paths),
        Ties() if isinstance(table, Paths) else count_ties(table, **options),
    )
    if len(summary.alone) == summary.entities:
        why = "" if "sequence" in options else unsplit(summary.alone)
        why = why or (
            "; is the delimiter right, and are these the columns of paths and entities? The first entity is "
            f"{_cut(summary.alone[0])!r}"
        )
        raise InputError(f"{summary.source}: no path has two entities, so there is no network{why}")
    return paths, summary


def _check_delimiter(source: str, paths: Paths) -> None:
    """Raise where a mark between entities was read as an entity, or as a part of nearly all of them."""
    names = paths.vocabulary.names
    for mark in _MARKS:
        if mark in names:
            between = np.flatnonzero(paths.codes == names.index(mark))
            inside = between[~np.isin(between, paths.offsets)]
            if 2 * len(inside) >= len(paths.codes) - len(paths):
                raise InputError(
                    f"{source}: {mark!r} is read as an entity, since blanks are taken to separate them; if "
                    f"it stands between entities, pass delimiter=' {mark} ' (--delimiter ' {mark} ')"
                )
    before = np.delete(paths.codes, paths.offsets[1:][paths.lengths > 0] - 1)  # all but the ends of paths
    ends = {names[code][-1:] for code in np.unique(before)}
    if len(ends) == 1 and (mark := ends.pop()) in ",;":
        raise InputError(
            f"{source}: entities such as {_cut(names[before[0]])!r} end in {mark!r}, since blanks are taken "
            f"to separate them; pass delimiter='{mark} ' (--delimiter '{mark} ') if it stands between them"
        )


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "path"), counted(1200, "entity", "entities")
    ('1 path', '1,200 entities')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def name_of(table: Any) -> str:
    """Return how messages call a table."""
    if isinstance(table, (str, os.PathLike)):
        return os.path.basename(os.fspath(table))
    return "the paths" if isinstance(table, (Paths, list, tuple)) else "the table"


def _repeats(paths: Paths) -> int:
    """Return how many steps lead from an entity to itself."""
    stays = paths.codes[1:] == paths.codes[:-1]
    ends = paths.offsets[1:-1]
    stays[ends[(ends > 0) & (ends < len(paths.codes))] - 1] = False
    if paths.counts is None:
        return int(np.count_nonzero(stays))
    return int(np.repeat(paths.counts, paths.lengths)[1:][stays].sum())


def _alone(paths: Paths) -> tuple[str, ...]:
    """Return the entities that occur in no path of two or more."""
    joined = np.zeros(len(paths.vocabulary), bool)
    joined[paths.codes[np.repeat(paths.lengths > 1, paths.lengths)]] = True
    return tuple(paths.vocabulary.names[i] for i in np.flatnonzero(~joined))
