"""GraphML, for igraph, NetworkX, yEd, Cytoscape and Gephi: written edge by edge, never held as a tree.

In: a network. Out: a ``.graphml`` file; a node's id is its label, its data are base and order; an edge's
datum is its weight.
"""

from __future__ import annotations

from pathlib import Path

from honlearn.hon.formats.rows import edge_rows
from honlearn.hon.formats.xml import attribute, check_names
from honlearn.hon.network import HigherOrderNetwork
from honlearn.writing.atomic import atomic_text

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
 xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">
<key id="base" for="node" attr.name="base" attr.type="string"/>
<key id="order" for="node" attr.name="order" attr.type="int"/>
<key id="weight" for="edge" attr.name="weight" attr.type="{kind}"/>
<graph edgedefault="directed">
"""


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the nodes, then the edges."""
    check_names(network, path)
    ids = [attribute(label) for label in network.nodes]
    names = [_text(name) for name in network.vocabulary.names]
    with atomic_text(path) as file:
        file.write(_HEAD.format(kind="double" if network.weights.dtype.kind == "f" else "long"))
        nodes = zip(ids, network.base.tolist(), network.order.tolist(), strict=True)
        file.writelines(
            f'<node id={node}><data key="base">{names[base]}</data><data key="order">{order}</data></node>\n'
            for node, base, order in nodes
        )
        for rows in edge_rows(network):
            file.write(
                "".join(
                    f'<edge source={ids[a]} target={ids[b]}><data key="weight">{weight!r}</data></edge>\n'
                    for a, b, weight in rows
                )
            )
        file.write("</graph>\n</graphml>\n")


def _text(name: str) -> str:
    return attribute(name)[1:-1]
