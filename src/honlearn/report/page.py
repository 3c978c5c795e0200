"""The page itself: template, style and scripts put into one HTML file that asks nobody for anything.

In: what the page shows, as plain values. Out: HTML. The library that draws is taken from the installed
package ``plotly``; a Content-Security-Policy names the digests of the two scripts and allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from honlearn.report.pack import embedded

ASSETS = files("honlearn.report") / "assets"
# In the order in which they are read; all share one scope.
SCRIPTS = (
    "data.js",
    "page.js",
    "table.js",
    "chart.js",
    "overview.js",
    "network.js",
    "family.js",
    "reasons.js",
    "predictions.js",
    "entities.js",
    "quality.js",
    "links.js",
    "next.js",
    "start.js",
)


def render(content: dict[str, Any], title: str) -> str:
    """Return the HTML of a page with this content."""
    from jinja2 import Environment

    own = "(() => {\n'use strict';\n" + "\n".join(_asset(name) for name in SCRIPTS) + "\n})();\n"
    library = _library()
    template = Environment(autoescape=True).from_string(_asset("page.html.j2"))
    # Scripts, style and JSON go in as they are: what a parser would trip over is checked or escaped here.
    for script in (library, own):
        assert "</script" not in script.lower()
        assert "\r" not in script, "a browser hashes a script after turning CR LF into LF"
    return template.render(
        title=title,
        policy=policy(library, own),
        style=_safe(_asset("style.css")),
        data=_safe(embedded(content)),
        library=_safe(library),
        script=_safe(own),
        content=content,
    )


def policy(*scripts: str) -> str:
    """Return the Content-Security-Policy: these scripts and inline style, no request of any kind.

    plotly.js compiles its WebGL calls at run time, which needs ``unsafe-eval``: code that is let in by its
    digest may make code, but a text of the data still cannot become a script.
    """
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _library() -> str:
    """Return plotly.js as the installed package ships it."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _safe(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)
