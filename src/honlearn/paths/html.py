"""Values at the end of a notebook cell: a title, facts and tables, with every name escaped.

In: plain texts and numbers. Out: a fragment of HTML whose style stands in the elements, so that it looks the
same in every notebook and follows its colours. Paths, networks and fitted models are shown with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from honlearn.paths.paths import Paths

_LEFT, _RIGHT = "text-align:left", "text-align:right;font-variant-numeric:tabular-nums"
_SOFT = "opacity:.7"
_SHOWN = 5


def card(title: str, facts: Mapping[str, object], *tables: str) -> str:
    """Return a title, a line of facts (those that are empty left out) and tables.

    >>> card("A <net>", {"nodes": 3})
    '<div><p><strong>A &lt;net&gt;</strong><br><span style="opacity:.7">nodes</span> 3</p></div>'
    """
    known = (
        f'<span style="{_SOFT}">{escape(name)}</span> {escape(str(value))}'
        for name, value in facts.items()
        if str(value)
    )
    return f"<div><p><strong>{escape(title)}</strong><br>{' &nbsp; '.join(known)}</p>{''.join(tables)}</div>"


def table(header: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[int] = ()) -> str:
    """Return a table; the columns in `numbers` are set to the right. A float is shown as a bar, 0 to 1."""
    look = [_RIGHT if i in numbers else _LEFT for i in range(len(header))]
    head = "".join(
        f'<th scope="col" style="{style}">{escape(name)}</th>'
        for name, style in zip(header, look, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{s}">{_cell(value)}</td>' for value, s in zip(row, look, strict=True))
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return escape(str(value))
    width = round(60 * min(max(value, 0.0), 1.0))
    bar = f"display:inline-block;height:.6em;width:{width}px;background:#4a78b5;margin-right:.4em"
    return f'<span style="{bar}"></span>{value:.3f}'


def paths_html(paths: Paths) -> str:
    """Return the HTML of paths: sizes, lengths, and the few that were seen most often, or the first."""
    lengths = paths.lengths
    facts = {
        "paths": f"{paths.total:,}",
        "rows": f"{len(paths):,}" if paths.counts is not None else "",
        "steps": f"{paths.n_steps:,}",
        "entities": f"{len(paths.vocabulary):,}",
        "length": f"{lengths.min()} to {lengths.max()}, mean {lengths.mean():.1f}" if len(lengths) else "",
    }
    rows = range(min(_SHOWN, len(paths)))
    if paths.counts is not None:
        rows = (-paths.counts).argsort(kind="stable")[:_SHOWN].tolist()
    shown = []
    for row in rows:
        names = paths[row]
        text = " → ".join(names[:12]) + (" → …" if len(names) > 12 else "")
        shown.append([text, f"{1 if paths.counts is None else int(paths.counts[row]):,}"])
    return card("Paths", facts, table(["path", "count"], shown, [1]))
