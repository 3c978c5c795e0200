"""Communities: which entities belong together, given how flow remembers its past.

In: a network. Out: a pandas table of modules, found by Infomap (Rosvall and Bergstrom, 2008) on the network
as a state network with memory (Rosvall et al., 2014): nodes are states, entities are the physical nodes that
they are states of. An entity is in several modules where its contexts are. The package ``infomap`` is an
optional extra of honlearn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import HonlearnError, InputError, check_choice, check_integer
from honlearn.hon.network import HigherOrderNetwork
from honlearn.seeds import derive_seed, root_seed

if TYPE_CHECKING:
    import pandas

# Infomap takes a seed of 31 bits, above 0.
_SEEDS = 2**31 - 2


def communities(
    network: HigherOrderNetwork, *, by: str = "entity", seed: int | None = 0, trials: int = 5
) -> pandas.DataFrame:
    """Return the module of each entity, or node, by Infomap's two-level map equation of directed flow.

    Parameters
    ----------
    by : ``"entity"`` or ``"node"``
        ``"node"``: one row per node: node, entity, order, module, flow. ``"entity"``: one row per entity:
        entity, module (the one with most of its flow; ties: the smaller number), share (of its flow in that
        module), modules (all modules that its nodes are in, ascending), flow. Flow is Infomap's visit rate,
        with unrecorded teleportation to links.
    seed : the same seed gives the same modules; None draws one.
    trials : the best of so many runs is taken.

    Modules are numbered from 1, by their flow. Rows are sorted by module, then by flow.
    """
    check_choice("communities", "by", by, ("entity", "node"))
    trials = check_integer("communities", "trials", trials, 1)
    if not network.n_edges:
        raise InputError("communities: the network has no edges, so there is no flow; give one with edges")
    module, flow = _infomap(network, derive_seed(root_seed(seed), "communities") % _SEEDS + 1, trials)
    module = _by_flow(module, flow)
    return _nodes(network, module, flow) if by == "node" else _entities(network, module, flow)


def _infomap(
    network: HigherOrderNetwork, seed: int, trials: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the module and the flow of each node as Infomap has them; a node in no edge is a module."""
    try:
        from infomap import Infomap
    except ImportError:
        raise HonlearnError(
            "communities needs the package infomap; install it with: pip install 'honlearn[infomap]'"
        ) from None
    run = Infomap(silent=True, directed=True, two_level=True, seed=seed, num_trials=trials)
    for state, entity in enumerate(network.base.tolist()):
        run.add_state_node(state, entity)
    weights = network.weights.astype(np.float64).tolist()
    run.add_links(list(zip(network.sources.tolist(), network.indices.tolist(), weights, strict=True)))
    module, flow = np.zeros(network.n_nodes, np.int64), np.zeros(network.n_nodes)
    for node in run.run().nodes(states=True):
        module[node.state_id], flow[node.state_id] = node.module_id, node.flow
    alone = np.flatnonzero(module == 0)
    module[alone] = module.max() + 1 + np.arange(len(alone))
    return module, flow


def _by_flow(module: NDArray[np.int64], flow: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the modules renumbered from 1, the one with the most flow first; ties: its first node."""
    _, first, place = np.unique(module, return_index=True, return_inverse=True)
    total = np.bincount(place, flow)
    rank = np.empty(len(total), np.int64)
    # Sums in another order differ in the last digits; equal flows are to be ties.
    rank[np.lexsort((first, -np.round(total, 12)))] = np.arange(1, len(total) + 1)
    return rank[place]


def _nodes(
    network: HigherOrderNetwork, module: NDArray[np.int64], flow: NDArray[np.float64]
) -> pandas.DataFrame:
    import pandas as pd

    entities = np.asarray(network.vocabulary.names, object)[network.base]
    columns = {"node": list(network.nodes), "entity": entities, "order": network.order}
    frame = pd.DataFrame({**columns, "module": module, "flow": flow})
    return frame.iloc[np.lexsort((-flow, module))].reset_index(drop=True)


def _entities(
    network: HigherOrderNetwork, module: NDArray[np.int64], flow: NDArray[np.float64]
) -> pandas.DataFrame:
    import pandas as pd

    pairs, place = np.unique(np.stack([network.base, module]), axis=1, return_inverse=True)
    within = np.bincount(place.ravel(), flow)
    rows: list[dict[str, Any]] = []
    starts = np.searchsorted(pairs[0], np.arange(network.n_entities + 1))
    for entity, name in enumerate(network.vocabulary.names):
        part = slice(int(starts[entity]), int(starts[entity + 1]))
        best, total = int(np.argmax(np.round(within[part], 12))), float(within[part].sum())
        share = float(within[part][best] / total) if total > 0 else 1.0
        modules = tuple(pairs[1][part].tolist())
        found = {"entity": name, "module": modules[best], "share": share, "modules": modules, "flow": total}
        rows.append(found)
    frame = pd.DataFrame(rows)
    rank = np.lexsort((-frame["flow"].to_numpy(), frame["module"].to_numpy()))
    return frame.iloc[rank].reset_index(drop=True)
