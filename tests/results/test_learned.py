"""What ``learn`` keeps for the page: read back as it was, and a damaged file is refused with one message."""

from __future__ import annotations

import json
from typing import Any

import pytest

from honlearn.errors import FormatError
from honlearn.results.learned import Entity, LearnedFacts, read_learned, write_learned

REASONS = {
    "node": "A",
    "label": "x",
    "probability": 0.7,
    "references": {"on the first-order network": 0.4},
    "reasons": [{"kind": "memory", "name": "A|B", "value": 0.1, "without": 0.6, "support": "3 times"}],
}
FACTS = LearnedFacts(
    "It matters.",
    "All is well.",
    "0123abcd",
    ["x", "y"],
    0.1,
    [Entity("A", None, [0.7, 0.3], ["x"], REASONS), Entity("B", "y", [0.2, 0.8], None, None)],
)


def test_read_back(tmp_path) -> None:
    assert read_learned(tmp_path) is None
    write_learned(tmp_path, FACTS)
    assert read_learned(tmp_path) == FACTS


def _changed(path: tuple[Any, ...], value: Any) -> str:
    from dataclasses import asdict

    whole: Any = json.loads(json.dumps(asdict(FACTS)))
    at = whole
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return json.dumps(whole)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("headline",), 7),
        (("classes",), "xy"),
        (("alpha",), "much"),
        (("entities",), {}),
        (("entities", 0, "node"), None),
        (("entities", 0, "probabilities"), [0.7]),
        (("entities", 0, "probabilities"), [0.7, 1e9]),
        (("entities", 0, "chosen"), ["z"]),
        (("entities", 1, "known"), "z"),
        (("entities", 0, "reasons", "node"), "B"),
        (("entities", 0, "reasons", "reasons"), [{"kind": "magic"}]),
    ],
)
def test_damaged(tmp_path, path: tuple[Any, ...], value: Any) -> None:
    write_learned(tmp_path, FACTS)
    (tmp_path / "artefacts" / "learned.json").write_text(_changed(path, value))
    with pytest.raises(FormatError, match=r"learned\.json"):
        read_learned(tmp_path)


def test_no_json(tmp_path) -> None:
    write_learned(tmp_path, FACTS)
    (tmp_path / "artefacts" / "learned.json").write_bytes(b"{\xff")
    with pytest.raises(FormatError, match="the report goes without it"):
        read_learned(tmp_path)
