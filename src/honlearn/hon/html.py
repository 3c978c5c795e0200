"""A network at the end of a notebook cell: sizes, nodes by order, the strongest dependencies.

In: a network. Out: a fragment of HTML with every name escaped.
"""

from __future__ import annotations

import numpy as np

from honlearn.hon.network import HigherOrderNetwork
from honlearn.paths.html import card, table

_SHOWN = 5


def network_html(network: HigherOrderNetwork) -> str:
    """Return the HTML of a network with its strongest dependencies."""
    order = f"{network.n_nodes:,} nodes up to order {network.max_order}"
    facts = {
        "size": f"{network.n_entities:,} entities, {order}, {network.n_edges:,} edges",
        "grown with": _grown(network),
    }
    tables = [_orders(network)]
    if network.n_conditional:
        tables.append(_strongest(network))
    return card("Higher-order network" if network.n_conditional else "First-order network", facts, *tables)


def _grown(network: HigherOrderNetwork) -> str:
    grown = network.parameters
    return "" if grown is None else f"order {grown.order}, {grown.rule}"


def _orders(network: HigherOrderNetwork) -> str:
    nodes = np.bincount(network.order, minlength=2)[1:]
    edges = np.bincount(network.order[network.sources], minlength=len(nodes) + 1)[1:]
    drawn = np.bincount(network.order, network.relative_probabilities(), len(nodes) + 1)[1:]
    share = drawn / max(network.n_entities, 1)
    rows = [
        [str(i + 1), f"{n:,}", f"{e:,}", float(c)]
        for i, (n, e, c) in enumerate(zip(nodes, edges, share, strict=True))
    ]
    return table(["order", "nodes", "out-edges", "drawn as a relative (Eq. 3)"], rows, [0, 1, 2])


def _strongest(network: HigherOrderNetwork) -> str:
    frame = network.dependencies(_SHOWN)
    rows = [
        [
            row["node"],
            f"{row['weight']:,}",
            f"{row['divergence']:.3f}",
            f"{row['ln_bayes_factor']:,.1f}",
            "; ".join(f"{s.target} {s.without:.2f} → {s.probability:.2f}" for s in row["shifts"]),
        ]
        for row in frame.to_dict("records")
    ]
    header = [
        "strongest context",
        "weight",
        "divergence (bits)",
        "ln Bayes factor",
        "next step: without → with the context",
    ]
    return table(header, rows, [1, 2, 3])
