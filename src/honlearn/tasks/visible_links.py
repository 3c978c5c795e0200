"""What a link model may see: the network, the counts and the paths, without the tested steps.

In: what there is (a network; perhaps the paths it was grown from) and the tested pairs, linked and not. Out:
:class:`VisibleLinks`. Where paths are at hand both visits of every tested step are taken out of them
(:func:`~honlearn.paths.pairs.cut_paths`), and the network is grown anew from what is left; where there is
only a network, contexts and edges go (:mod:`honlearn.hon.without_pairs`). Whatever a model reads has the same
entities as before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from honlearn.hon.build import GramCounts, count_grams
from honlearn.hon.grown_from import GrownFrom
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.hon.without_pairs import without_pairs
from honlearn.paths.pairs import cut_paths, known_pairs
from honlearn.paths.paths import Paths
from honlearn.tasks.link_split import hide_pairs


@dataclass(frozen=True, eq=False)
class VisibleLinks:
    """What a link model may see.

    network: the network, which every model gets. counts: the counts it was grown from, None where only a
    network is there. paths: the paths without the visits of tested steps, in the order and with the
    vocabulary of the whole ones; None where there are none. A model with a parameter `paths` gets them.
    """

    network: HigherOrderNetwork
    counts: GramCounts | None = None
    paths: Paths | None = None


def visible_links(
    network: HigherOrderNetwork,
    pairs: Sequence[tuple[str, str]],
    source: GrownFrom | None = None,
    *,
    first_order: bool = False,
    protocol: str = "strict",
) -> VisibleLinks:
    """Return what may be seen of a network when these pairs of names, linked or not, are tested.

    Parameters
    ----------
    network
        The whole network.
    pairs
        All tested pairs, by name.
    source
        The paths that the network was grown from, where they are known.
    first_order
        Whether the network that may be seen is the first-order one.
    protocol
        ``"strict"``, or ``"paper"``: the edges between the families of a pair are hidden and nothing else.

    >>> from honlearn.hon.build import grow
    >>> paths = Paths.from_lists([["A", "C", "D"], ["B", "C", "E"]] * 5)
    >>> hon = grow(paths, order=2, tau=1.0)
    >>> seen = visible_links(hon, [("A", "C")], GrownFrom(paths, hon.parameters))
    >>> list(seen.network.nodes), seen.paths[0], seen.paths[1]
    (['A', 'B', 'C', 'D', 'E'], ('D',), ('B', 'C', 'E'))
    """
    paths = None if source is None else cut_paths(source.paths, pairs, visits=protocol != "paper")
    if protocol == "paper" or source is None or paths is None:
        hide = hide_pairs if protocol == "paper" else without_pairs
        whole = with_entities(network.first_order(), network.vocabulary) if first_order else network
        return VisibleLinks(hide(whole, known_pairs(whole.vocabulary, pairs)), None, paths)
    counts = count_grams(paths, source.parameters.order)
    grown = counts.grow(1) if first_order else source.grow(counts)
    return VisibleLinks(with_entities(grown, network.vocabulary), counts, paths)
