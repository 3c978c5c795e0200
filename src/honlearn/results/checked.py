"""What a line of records and the answers of a fit must be, so that pages and tables may rely on it.

In: a line of JSON, or the values beside arrays in an artefact. Out: the same, checked, or an error that says
what was got. Parts that are not there are left to whoever needs them; :func:`check_whole` asks for all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from honlearn.errors import FormatError
from honlearn.stored import Fields, Spec, parse_json, shown

TASKS = ("nodes", "links")
# A digest names files, so that it may hold nothing that leads elsewhere.
NAME = re.compile(r"[0-9A-Za-z_-]{1,100}")
# Squares of larger numbers would not fit a float.
_MOST = 1e100


def parse_record(line: bytes | str, where: str) -> dict[str, Any]:
    """Return the record in a line of JSON; parts that it has are of the types that they should be."""
    record = Fields(parse_json(line, where, advice="remove the line"), where, advice="remove the line")
    digest = record.text("digest")
    if not NAME.fullmatch(digest):
        raise FormatError(f"{where}: {shown(digest)} is not a digest; remove the line")
    for part in ("scores", "sizes", "times"):
        if part in record.values:
            _check_numbers(record.mapping(part))
    if "versions" in record.values:
        versions = record.mapping("versions")
        for name in versions.values:
            versions.text(name)
    if "configuration" in record.values:
        _check_configuration(record.mapping("configuration"))
    return dict(record.values)


def _check_numbers(part: Fields) -> None:
    for name in part.values:
        if name == "chosen":
            _check_numbers(part.mapping(name))
        elif name == "finished":
            part.text(name)
        elif name in ("train", "test"):
            part.integer(name, 1 if name == "train" else 0)
        elif part.has(name):
            part.number(name, -_MOST, _MOST)


def _check_configuration(asked: Fields) -> None:
    asked.text("model"), asked.text("input")
    asked.integer("seed", 0, None), asked.integer("fold", 0)
    if "task" in asked.values:
        asked.text("task", TASKS)
    if "folds" in asked.values:
        asked.text("folds")
    for part in ("parameters", "data", "search"):
        if asked.has(part):
            fields = asked.mapping(part)
            for name in fields.values if part == "data" else ():
                fields.text(name)


def check_whole(record: Mapping[str, Any], where: str) -> None:
    """Raise unless a record has every part that tables of results read."""
    fields = Fields(record, where, advice="remove the line")
    asked, sizes, times = fields.mapping("configuration"), fields.mapping("sizes"), fields.mapping("times")
    asked.text("task"), asked.text("folds"), asked.mapping("parameters")
    asked.mapping("data").text("test"), asked.mapping("data").text("network")
    sizes.integer("train"), sizes.integer("test")
    times.number("fit_seconds"), times.number("fit_cpu_seconds")
    fields.mapping("scores").number("auprc" if asked.text("task") == "links" else "micro_f1")
    fields.mapping("versions")


def check_answers(about: Fields, task: str) -> tuple[dict[str, Spec], dict[str, Spec]]:
    """Return the arrays that answers with these names must have, and those that they may have."""
    if about.has("history"):
        for row in about.mappings("history"):
            _check_epoch(row)
    if task == "links":
        count, new = _check_pairs(about, "pairs"), 0
        if about.has("new_pairs"):
            new = _check_pairs(about, "new_pairs")
        fresh: Spec = ("f", (new,))
        return {"truth": ("iub", (count,)), "linked": ("f", (count,))}, {
            "members": ("f", ("learners", count)),
            "new_linked": fresh,
            "new_disagreement": fresh,
        }
    classes, nodes = about.texts("classes"), about.texts("nodes")
    strange = set(about.texts("truth", len(nodes))) - set(classes)
    if strange or len(set(classes)) < len(classes) or not nodes:
        what = f"{shown(min(strange))} is no class" if strange else "no nodes, or a class twice"
        raise FormatError(f"{about.where}: damaged ({what}); {about.advice}")
    whole: Spec = ("f", ("learners", len(nodes), len(classes)))
    return {"proba": ("f", (len(nodes), len(classes)))}, {
        "members": whole,
        "drawn": whole,
        "relatives": ("iu", ("learners", len(nodes))),
    }


def _check_pairs(about: Fields, key: str) -> int:
    pairs = about.items(key)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(end, str) for end in pair):
            raise FormatError(
                f"{about.where}: {key!r} must be pairs of names. Got {shown(pair)} instead; {about.advice}"
            )
    return len(pairs)


def _check_epoch(row: Fields) -> None:
    for name in row.values:
        if name == "phase":
            row.text(name)
        elif row.has(name):
            row.number(name, -_MOST, _MOST)
