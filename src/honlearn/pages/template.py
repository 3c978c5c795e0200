"""Markdown from the templates of this package.

In: the name of a template and what it shows. Out: the text, or a file.
"""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from honlearn.experiments.tables import p_text, signed
from honlearn.writing.atomic import atomic_text


def render(name: str, **values: object) -> str:
    """Return the text of a template; a value that it names and does not get is an error."""
    return _environment().get_template(name).render(**values).rstrip() + "\n"


def write_page(target: Path, name: str, **values: object) -> None:
    """Write the text of a template to a file, whole or not at all."""
    text = render(name, **values)
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_text(target) as file:
        file.write(text)


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("honlearn.pages"),
        # The pages are Markdown, not HTML: in a block of code "&lt;" would be shown as it is. Cells of tables
        # are escaped for Markdown by the table itself.
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"signed": signed, "p_text": p_text}
    return environment
