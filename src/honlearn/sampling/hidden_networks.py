"""The network of a training fold: without the steps of its pairs, as the tested steps are hidden.

In: the network that a training may see, its paths where there are any, and the pairs of a fold. Out: the
network without them. Where the paths give this network, both visits of every step between the ends of a pair
are taken out of them and the network is grown anew, as for a test
(:func:`honlearn.tasks.visible_links.visible_links`): what a pair is trained on is what a tested pair has.
"""

from __future__ import annotations

from honlearn.hon.build import count_grams
from honlearn.hon.grown_from import GrownFrom
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.hon.without_pairs import without_pairs
from honlearn.paths.pairs import cut_paths
from honlearn.paths.paths import Paths
from honlearn.sampling.pairs import Pairs


class HiddenNetworks:
    """A network and, if it is theirs, the paths that it was grown from.

    >>> from honlearn.hon.build import grow
    >>> paths = Paths.from_lists([["A", "B", "C", "D"], ["A", "D"], ["C", "A", "D"]])
    >>> hidden = HiddenNetworks(grow(paths, order=1), paths)
    >>> pair = hidden.network.vocabulary.codes(["B", "C"]).reshape(1, 2)
    >>> {node: hidden.without(pair).neighbors(node) for node in "ABC"}
    {'A': {'D': 2}, 'B': {}, 'C': {'A': 1}}
    """

    def __init__(self, network: HigherOrderNetwork, paths: Paths | None) -> None:
        self.network = network
        self._source = None
        if paths is not None and network.parameters is not None:
            source = GrownFrom(paths, network.parameters)
            if self._with_all(source.grow(source.counts)) == network:
                self._source = source

    def without(self, pairs: Pairs) -> HigherOrderNetwork:
        """Return the network without any step between the ends of these pairs, codes [B, 2]."""
        if self._source is None:
            return without_pairs(self.network, pairs)
        names = self.network.vocabulary.names
        left = cut_paths(self._source.paths, [(names[u], names[v]) for u, v in pairs.tolist()], visits=True)
        return self._with_all(self._source.grow(count_grams(left, self._source.parameters.order)))

    def _with_all(self, grown: HigherOrderNetwork) -> HigherOrderNetwork:
        return with_entities(grown, self.network.vocabulary)
