"""The documentation site: it builds offline without a warning, its pages run, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="needs honlearn[docs]")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_the_site_builds_and_every_page_runs(tmp_path: Path) -> None:
    target = tmp_path / "html"
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "make_docs.py"), "-o", str(target)],
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Deep Ensembles" in (target / "paper.html").read_text("utf-8")
    # Figures that pages draw.
    assert len(list((target / "_images").glob("*.png"))) >= 8


@pytest.fixture(scope="module")
def site_checks() -> object:
    import importlib.util

    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "scripts" / "make_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_remote_assets_and_dead_links_are_found(site_checks: object, tmp_path: Path) -> None:
    (tmp_path / "good.html").write_text('<p id="here"><a href="https://example.org">a link to follow</a>')
    (tmp_path / "page.html").write_text(
        '<script src="https://cdn.example.org/x.js"></script>'
        '<link rel="stylesheet" href="//cdn.example.org/x">'
        '<a href="none.html">1</a><a href="good.html#there">2</a><a href="good.html#here">3</a>'
    )
    (tmp_path / "style.css").write_text("@font-face { src: url(https://cdn.example.org/font) }")
    found = site_checks.problems(tmp_path)  # type: ignore[attr-defined]
    assert sorted(found) == [
        "page.html: loads //cdn.example.org/x",
        "page.html: loads https://cdn.example.org/x.js",
        "page.html: no such file: none.html",
        "page.html: no such place: good.html#there",
        "style.css: url(http",
    ]


def test_commands_print_what_is_shown(tmp_path: Path) -> None:
    """Every line after ``$`` in a block of the page runs; "…" stands for anything."""
    text = (DOCS / "howto" / "command_line.md").read_text("utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            words = shlex.split(line)
            assert words[0] == "honlearn", line
            done = subprocess.run(
                [sys.executable, "-m", "honlearn", *words[1:]],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=300,
            )
            pattern = ".*".join(re.escape(piece) for piece in shown.strip().split("…"))
            printed = "\n".join(line.rstrip() for line in (done.stdout + done.stderr).splitlines()).strip()
            assert re.fullmatch(pattern, printed, re.DOTALL), f"{line}\n{printed}"
