"""The mutator itself: every kind of fault is made, nothing else is touched, and survivors are found."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutation.mutants import mutants
from mutation.runner import source_of
from mutation.targets import EQUIVALENT, TARGETS

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("a < b", ["a <= b"]),
        ("a == b != c", ["a != b != c", "a == b == c"]),
        ("a in b", ["a not in b"]),
        ("a + b", ["a - b"]),
        ("a // 2", ["a / 2", "a // 3"]),
        ("a and b", ["a or b"]),
        ("not a", ["a"]),
        ("x = -a", ["x = a"]),
        ("x = True", ["x = False"]),
        ("x = 1.5", ["x = 2.5"]),
        ("x += a", ["x -= a", "pass"]),
        ("f(a)", ["pass"]),
        ("x = a if b else c", ["x = a if not b else c"]),
        ("if a:\n    raise E", ["if not a:\n    raise E", "if a:\n    pass"]),
        # Left alone: docstrings, annotations, decorators, messages, imports.
        ('"""A docstring with 1."""', []),
        ("x: Literal[1]", []),
        ("@f(1)\ndef g(x: int) -> list[1]:\n    return x", []),
        ("x = f'at most {1 + 1}'", []),
        ("from a import b", []),
    ],
)
def test_the_faults_of_a_line(source: str, changed: list[str]) -> None:
    import ast

    assert [ast.unparse(mutant.tree) for mutant in mutants(source)] == changed


def test_a_mutant_tells_where_it_is() -> None:
    (mutant,) = mutants("x = a\n\nif a:\n    b = c\n    d = e\n")
    assert str(mutant) == "line 3: if a: …  →  if not a: …"


RUN = """
import sys
from mutation.runner import Target, run
for one in run(Target("toy", (sys.argv[1],)), imports=()):
    print(one.state, one.mutant.line, one.mutant.before, "->", one.mutant.after)
"""


def test_survivors_are_found_and_nothing_is_written(tmp_path: Path) -> None:
    toy = "def larger(a, b):\n    return a if a > b else b\n\n\n"
    toy += "def wait(n):\n    while n > 0:\n        n -= 1\n"
    (tmp_path / "toy.py").write_text(toy)
    test = (
        "from toy import larger, wait\n\n\ndef test_larger():\n    assert larger(1, 2) == larger(2, 1) == 2\n"
    )
    (tmp_path / "test_toy.py").write_text(test)
    path = os.pathsep.join([str(tmp_path), str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "test_toy.py")],
        cwd=TESTS.parent,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "killed 2 a if a > b else b -> a if not a > b else b",
        "survived 2 a > b -> a >= b",
        "survived 6 n > 0 -> n >= 0",
        "survived 6 n > 0 -> n > 1",
        "survived 7 n -= 1 -> n += 1",
        "survived 7 n -= 1 -> pass",
        "survived 7 n -= 1 -> n -= 2",
    ]
    assert (tmp_path / "toy.py").read_text() == toy


def test_every_explanation_belongs_to_one_mutant() -> None:
    assert EQUIVALENT.keys() <= TARGETS.keys()
    for module, known in EQUIVALENT.items():
        source = source_of(module).read_text("utf-8")
        made = Counter((one.text, one.before, one.after) for one in mutants(source))
        assert {fault: made[fault] for fault in known} == dict.fromkeys(known, 1), module
