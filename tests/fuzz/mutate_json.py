"""Damage inside JSON: values of other types, extreme numbers, deep nesting, keys that are gone or renamed.

In: a generator and the text of a JSON value, or of one per line. Out: a text that is JSON still, as Python's
own parser takes it, except for what no parser takes.
"""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

# JSON texts that json.dumps does not write: extreme literals and nesting that overflows a stack.
_LITERALS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "1e308",
    "9" * 5000,
    "1.5e-320",
    r'"\ud800"',
    r'"\u0000"',
]
_LITERALS += ["[" * depth + "]" * depth for depth in (50, 900, 100_000)]
_LITERALS += ['{"a":' * depth + "1" + "}" * depth for depth in (50, 900, 100_000)]
_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2.5,
    -0.5,
    2**31,
    2**53 + 1,
    2**63,
    2**64,
    -(2**63),
    10**30,
]
_VALUES += [
    "",
    "x",
    "0",
    "1",
    "nan",
    "é",
    "../x",
    "<script>",
    "x" * 5000,
    [],
    {},
    [[]],
    {"": {}},
    [None],
    ["x"],
    [0],
]


def damage_json(random: Random, content: bytes) -> bytes:
    """Return the text with one to three of its values changed."""
    value = json.loads(content)
    literals: dict[str, str] = {}
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        value = _changed(random, value, literals)
    return _text(value, literals)


def damage_json_lines(random: Random, content: bytes) -> bytes:
    """Return lines of JSON with a value changed in one, or a line cut, glued, doubled or lost."""
    lines = content.split(b"\n")
    at = random.randrange(max(len(lines) - 1, 1))
    roll = random.random()
    if roll < 0.8:
        lines[at] = damage_json(random, lines[at])
    elif roll < 0.85:
        lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
    elif roll < 0.9:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    elif roll < 0.95:
        lines.insert(at, random.choice((b"", b"null", b"[]", b"{}", b"\xff", b"\x00", lines[at])))
    else:
        del lines[at]
    return b"\n".join(lines)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) inside a value, outermost first."""
    if isinstance(value, dict):
        items = list(value.items())
    else:
        items = list(enumerate(value)) if isinstance(value, list) else []
    found = [(value, key) for key, _ in items]
    for _, inner in items:
        found += _places(inner)
    return found


def _changed(random: Random, value: Any, literals: dict[str, str]) -> Any:
    places = _places(value)
    if not places or random.random() < 0.02:
        return _other(random, value, literals)
    # Half of the time near the top: long lists of numbers would get everything otherwise.
    container, key = random.choice(places[:40] if random.random() < 0.5 else places)
    roll = random.random()
    if roll < 0.15:
        del container[key]
    elif roll < 0.2 and isinstance(container, dict):
        container[random.choice(("", "x", key + "x", "digest", "__class__"))] = container.pop(key)
    elif roll < 0.25 and isinstance(container, list):
        container.insert(key, _other(random, container[key], literals))
    else:
        container[key] = _other(random, container[key], literals)
    return value


def _other(random: Random, value: Any, literals: dict[str, str]) -> Any:
    if isinstance(value, str) and value[:1] in "{[" and random.random() < 0.7:
        try:  # JSON inside a text, as in the metadata of a checkpoint
            return damage_json(random, value.encode()).decode("utf-8", "replace")
        except ValueError:
            pass
    roll = random.random()
    if roll < 0.2:
        mark = f"literal {len(literals)} of the fuzzer"
        literals[mark] = random.choice(_LITERALS)
        return mark
    if roll < 0.4 and isinstance(value, (int, float)):
        return random.choice((value + 1, value - 1, -value, float(value), str(value), value * 2**40))
    if roll < 0.5:
        return random.choice(([value], {"x": value}, {"pairs": value}, [value, value]))
    if roll < 0.6 and isinstance(value, (str, list)):
        return random.choice((value[:-1], value[1:], value * 2, value[::-1]))
    # A copy: later changes go into it, and must not reach the next case.
    return copy.deepcopy(random.choice(_VALUES))


def _text(value: Any, literals: dict[str, str]) -> bytes:
    text = json.dumps(value, ensure_ascii=False)
    for mark, literal in literals.items():
        text = text.replace(f'"{mark}"', literal)
    return text.encode("utf-8", "surrogatepass")
