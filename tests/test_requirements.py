"""Every dependency has its row in docs/dependencies.md, with the lower bound of the metadata."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def stated(text: str) -> dict[str, str]:
    """Return the lower bound of each requirement in a list of TOML strings; "" where there is none."""
    found = re.findall(r'"([A-Za-z0-9_.-]+)\s*(?:[>=]=([0-9.]+))?[^"]*"', text)
    return dict(found)


def rows(section: str) -> dict[str, list[str]]:
    """Return the cells of each row of a section's table by its first cell."""
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    (body,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    lines = [line.strip("|").split("|") for line in body.splitlines() if line.startswith("|")][2:]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells[1:]] for cells in lines}


@pytest.fixture(scope="module")
def metadata() -> str:
    return (ROOT / "pyproject.toml").read_text("utf-8")


def test_every_requirement_is_justified_with_its_lower_bound(metadata: str) -> None:
    (listed,) = re.findall(r"^dependencies = \[(.*?)^\]", metadata, re.MULTILINE | re.DOTALL)
    bounds = stated(listed)
    assert len(bounds) > 10
    told = {name: cells[0] for name, cells in rows("Always installed").items()}
    assert told.keys() == bounds.keys()
    for name, bound in bounds.items():
        assert told[name].removesuffix(".0") == bound.removesuffix(".0"), name


def test_every_extra_is_listed(metadata: str) -> None:
    (listed,) = re.findall(r"^\[project.optional-dep.*?\n(.*?)^\[", metadata, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"^(\w+) = \[", listed, re.MULTILINE)) == rows("Extras").keys()


def test_every_package_that_is_imported_is_declared(metadata: str) -> None:
    imported: set[str] = set()
    for path in (ROOT / "src" / "honlearn").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                imported.update(alias.name.split(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
    ours = {"honlearn", *sys.stdlib_module_names}
    other_names = {
        "sklearn": "scikit-learn",
        "dask": "distributed",
        "llvmlite": "numba",
        "markupsafe": "jinja2",
    }
    for name in sorted(imported - ours):
        assert re.search(rf'"{other_names.get(name, name)}\b', metadata), name
