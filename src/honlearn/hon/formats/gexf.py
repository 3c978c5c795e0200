"""GEXF 1.2, Gephi's own format: written edge by edge, never held as a tree.

In: a network. Out: a ``.gexf`` file; a node's id and label are its label, base and order are attributes;
edges carry their weight.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from honlearn.hon.formats.rows import edge_rows
from honlearn.hon.formats.xml import attribute, check_names
from honlearn.hon.network import HigherOrderNetwork
from honlearn.writing.atomic import atomic_text

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">
<graph defaultedgetype="directed" mode="static">
<attributes class="node" mode="static">
<attribute id="base" title="base" type="string"/>
<attribute id="order" title="order" type="integer"/>
</attributes>
<nodes>
"""


def write(network: HigherOrderNetwork, path: Path) -> None:
    """Write the nodes, then the edges."""
    check_names(network, path)
    ids = [attribute(label) for label in network.nodes]
    with atomic_text(path) as file:
        file.write(_HEAD)
        nodes = zip(ids, network.base.tolist(), network.order.tolist(), strict=True)
        file.writelines(
            f'<node id={node} label={node}><attvalues><attvalue for="base" value={ids[base]}/>'
            f'<attvalue for="order" value="{order}"/></attvalues></node>\n'
            for node, base, order in nodes
        )
        file.write("</nodes>\n<edges>\n")
        number = itertools.count()
        for rows in edge_rows(network):
            file.write(
                "".join(
                    f'<edge id="{next(number)}" source={ids[a]} target={ids[b]} weight="{weight!r}"/>\n'
                    for a, b, weight in rows
                )
            )
        file.write("</edges>\n</graph>\n</gexf>\n")
