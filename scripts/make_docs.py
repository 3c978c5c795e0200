"""Build the documentation site to docs/_build/html, offline, and check what came out.

    python scripts/make_docs.py [-o FOLDER] [--no-execute]

Warnings are errors, pages are executed, and the HTML may ask no other host for scripts, styles, fonts or
pictures. Links to files that are not there are errors, too.
"""

from __future__ import annotations

import argparse
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).parents[1] / "docs"
# Attributes with which a page loads something by itself; links that a reader follows are not among them.
_LOADING = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("embed", "src")}
_LOADED_LINKS = {"stylesheet", "preload", "icon", "modulepreload", "preconnect", "prefetch", "dns-prefetch"}


class _Page(HTMLParser):
    """Gathers what a page loads, where its links lead, and which anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes of one tag."""
        known = {name: value or "" for name, value in attrs}
        if "id" in known:
            self.anchors.add(known["id"])
        if tag == "link" and set(known.get("rel", "").split()) & _LOADED_LINKS:
            self.loaded.append(known.get("href", ""))
        self.loaded += [known[name] for of, name in _LOADING if of == tag and name in known]
        if tag == "a" and "href" in known:
            self.links.append(known["href"])


def build(output: Path, execute: bool = True) -> int:
    """Run Sphinx and return its exit code."""
    from sphinx.cmd.build import main as sphinx

    words = ["-b", "html", "-W", "--keep-going", "-q", "-d", str(output.parent / "doctrees")]
    words += [] if execute else ["-D", "nb_execution_mode=off", "-D", "suppress_warnings=myst-nb.lexer"]
    return sphinx([*words, str(DOCS), str(output)])


def problems(folder: Path) -> list[str]:
    """Return what is wrong with the built pages: remote assets, and links to nowhere."""
    pages = {}
    for file in sorted(file for file in folder.rglob("*.html") if "_static" not in file.parts):
        page = pages[file] = _Page()
        page.feed(file.read_text("utf-8"))
    found = []
    for file, page in pages.items():
        name = file.relative_to(folder)
        found += [f"{name}: loads {url}" for url in page.loaded if _is_remote(url)]
        for url in [*page.links, *page.loaded]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                found.append(f"{name}: no such file: {url}")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].anchors:
                found.append(f"{name}: no such place: {url}")
    for file in sorted(folder.rglob("*.css")):
        text = file.read_text("utf-8", "replace")
        found += [
            f"{file.relative_to(folder)}: {mark}" for mark in ("url(http", "@import url(//") if mark in text
        ]
    return found


def _is_remote(url: str) -> bool:
    return bool(urlsplit(url).netloc) or urlsplit(url).scheme in ("http", "https")


def main() -> None:
    """Build, check, and exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("-o", "--output", type=Path, default=DOCS / "_build" / "html")
    parser.add_argument("--no-execute", action="store_true", help="without the output of pages")
    words = parser.parse_args()
    if code := build(words.output, not words.no_execute):
        sys.exit(code)
    if wrong := problems(words.output):
        sys.exit("\n".join(["make_docs:", *wrong]))
    print(f"{words.output}/index.html")


if __name__ == "__main__":
    main()
