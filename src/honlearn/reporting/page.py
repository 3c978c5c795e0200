"""The page itself: template, style and scripts put into one HTML file that asks nobody for anything.

In: what the page shows, as plain values. Out: HTML. A Content-Security-Policy names the digests of the script
and of the style and allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from honlearn.reporting.pack import embedded

ASSETS = files("honlearn.reporting") / "assets"
# In the order in which they are read; all share one scope.
SCRIPTS = (
    "data.js",
    "page.js",
    "svg.js",
    "chart.js",
    "plot.js",
    "table.js",
    "overview.js",
    "network.js",
    "map.js",
    "flows.js",
    "matrix.js",
    "family.js",
    "reasons.js",
    "predictions.js",
    "entities.js",
    "quality.js",
    "learning.js",
    "links.js",
    "next.js",
    "start.js",
)


def render(content: dict[str, Any], title: str) -> str:
    """Return the HTML of a page with this content."""
    from jinja2 import Environment

    script = "(() => {\n'use strict';\n" + "\n".join(_asset(name) for name in SCRIPTS) + "\n})();\n"
    style = _asset("style.css")
    template = Environment(autoescape=True).from_string(_asset("page.html.j2"))
    # Script, style and JSON go in as they are: what a parser would trip over is checked or escaped here.
    for text in (script, style):
        assert "</s" not in text.lower()
        assert "\r" not in text, "a browser hashes a script after turning CR LF into LF"
    return template.render(
        title=title,
        policy=policy(script, style),
        style=_safe(style),
        data=_safe(embedded(content)),
        script=_safe(script),
        content=content,
    )


def policy(script: str, style: str) -> str:
    """Return the Content-Security-Policy: this script and this style, no other code and no request."""
    allowed = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return (
        f"default-src 'none'; script-src 'sha256-{allowed[0]}'; style-src 'sha256-{allowed[1]}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _safe(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)
