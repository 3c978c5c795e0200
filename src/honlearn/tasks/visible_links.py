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
from functools import cached_property
from typing import Any

from honlearn.errors import InputError
from honlearn.hon.build import GramCounts, count_grams
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.statistics import GrowParameters
from honlearn.hon.without_pairs import with_entities, without_pairs
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


@dataclass(frozen=True, eq=False)
class GrownFrom:
    """The paths that a network was grown from, and by which parameters."""

    paths: Paths
    parameters: GrowParameters

    @cached_property
    def counts(self) -> GramCounts:
        """The counts of all paths, counted once."""
        return count_grams(self.paths, self.parameters.order)

    def grow(self, counts: GramCounts) -> HigherOrderNetwork:
        """Return the network of these counts by the parameters, with every entity of the paths' own.

        >>> paths = Paths.from_lists([["A", "C", "D"], ["B", "C", "E"]] * 5)
        >>> source = GrownFrom(paths, GrowParameters(2, 1.0, 1))
        >>> list(source.grow(source.counts).nodes)[5:]
        ['C|A', 'C|B']
        """
        asked = self.parameters
        if asked.seed is not None:
            return counts.sample_network(asked.seed, asked.order)
        if asked.alpha is not None:
            return counts.grow(asked.order, alpha=asked.alpha)
        if asked.tau is None:
            return counts.grow(asked.order, min_support=asked.min_support, alpha=1)
        return counts.grow(asked.order, asked.tau, asked.min_support)

    def check(self, network: HigherOrderNetwork, where: object = "the paths") -> None:
        """Raise unless these paths and parameters give this network."""
        grown = self.grow(self.counts)
        if grown != network:
            raise InputError(
                f"{where}: grown by the network's own parameters ({self.parameters.rule}, order "
                f"{self.parameters.order}) they give {grown!r}, and the network is {network!r}; name the "
                "paths that it was grown from, with the options they were read with"
            )

    def __getstate__(self) -> dict[str, Any]:
        # Another process counts for itself: it may need no counts at all.
        return {"paths": self.paths, "parameters": self.parameters}


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
