"""A network at the end of a notebook cell: sizes, nodes by order, the strongest dependencies.

In: a network. Out: a fragment of HTML with every name escaped.
"""

from __future__ import annotations

from html import escape

import numpy as np

from honlearn.hon.network import HigherOrderNetwork


def network_html(network: HigherOrderNetwork, top: int = 5) -> str:
    """Return the HTML of a network with its `top` strongest dependencies."""
    parts = [f"<p>{escape(repr(network))}{_grown(network)}</p>", _orders(network)]
    if network.n_conditional and top:
        parts.append(_strongest(network, top))
    return f"<div>{''.join(parts)}</div>"


def _grown(network: HigherOrderNetwork) -> str:
    grown = network.parameters
    if grown is None:
        return ""
    tau = "None" if grown.tau is None else f"{grown.tau:g}"
    return f", grown with order={grown.order}, tau={tau}, min_support={grown.min_support}"


def _orders(network: HigherOrderNetwork) -> str:
    nodes = np.bincount(network.order, minlength=2)[1:]
    edges = np.bincount(network.order[network.sources], minlength=len(nodes) + 1)[1:]
    rows = [[str(i + 1), f"{n:,}", f"{e:,}"] for i, (n, e) in enumerate(zip(nodes, edges, strict=True))]
    return _table(["order", "nodes", "out-edges"], rows)


def _strongest(network: HigherOrderNetwork, top: int) -> str:
    frame = network.dependencies(top)
    rows = [
        [
            row["node"],
            f"{row['weight']:,}",
            f"{row['divergence']:.3f}",
            "; ".join(f"{s.target} {s.without:.2f} → {s.probability:.2f}" for s in row["shifts"]),
        ]
        for row in frame.to_dict("records")
    ]
    return _table(["context", "weight", "divergence (bits)", "next step: without → with the context"], rows)


def _table(header: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
