"""What is tested on links, and what a model may see meanwhile.

In: a network, perhaps the paths it was grown from, and a protocol. Out: for every repetition the test pairs,
the same for all models and inputs, and for every input what may be seen of it (:class:`VisibleLinks`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from honlearn.errors import InputError, check_choice, check_integer
from honlearn.experiments.evaluate import GROWN, named_inputs
from honlearn.hon.grown_from import GrownFrom
from honlearn.hon.network import HigherOrderNetwork
from honlearn.hon.network_updates import with_entities
from honlearn.paths.pairs import Keys, pair_keys
from honlearn.paths.paths import Paths
from honlearn.results.link_tests import KINDS, LinkTest
from honlearn.results.record import LATER
from honlearn.sampling.pairs import keyed_pairs, linked_keys
from honlearn.seeds import generator
from honlearn.tasks.link_split import KINDS as NEGATIVE_KINDS
from honlearn.tasks.link_split import LINKED, NEGATIVES, PROTOCOLS, LinkSplit, split_links, unlinked_pairs
from honlearn.tasks.visible_links import VisibleLinks, visible_links

# How the division of a record tells that nothing tells of a tested step.
STRICT = "no trace"


@dataclass(frozen=True)
class LinkProtocol:
    """How links are tested.

    Parameters
    ----------
    share
        Share of the linked pairs that is tested.
    repetitions
        How often other pairs are held out.
    directed
        Whether (u, v) and (v, u) are two pairs.
    isolated
        What happens to an entity's last link; see :func:`honlearn.split_links`.
    negatives
        ``"uniform"``, ``"degree"`` or ``"both"``.
    hides
        ``"strict"``, every trace of a tested step, or ``"paper"``, edges alone (optimistic).
    ranked
        Whether the target of every tested link is ranked among all entities.
    """

    share: float = 0.1
    repetitions: int = 5
    directed: bool = True
    isolated: str = "exclude"
    negatives: str = "both"
    hides: str = "strict"
    ranked: bool = True

    def __post_init__(self) -> None:
        check_integer("evaluate", "repetitions", self.repetitions, 1)
        check_choice("evaluate", "negatives", self.negatives, NEGATIVES)
        check_choice("evaluate", "protocol", self.hides, PROTOCOLS)

    @classmethod
    def published(cls, repetitions: int) -> LinkProtocol:
        """Return the paper's protocol: uniform negatives, edges hidden but not contexts, no ranking."""
        return cls(repetitions=repetitions, negatives="uniform", hides="paper", ranked=False)

    @property
    def name(self) -> str:
        """The protocol in words, for records; the published one has the name it always had."""
        order = "directed" if self.directed else "undirected"
        words = [f"{self.share:g}", order, self.isolated]
        words += [] if self.negatives == "uniform" else [f"{self.negatives} negatives"]
        words += [STRICT] if self.hides == "strict" else []
        words += ["ranked"] if self.ranked else []
        return " ".join(words)


@dataclass(frozen=True, eq=False)
class LaterLinks:
    """Links that first appear in paths after a moment; the network is that of the paths before it."""

    moment: str
    keys: Keys

    @classmethod
    def of(cls, network: HigherOrderNetwork, later: Paths, moment: str, directed: bool) -> LaterLinks:
        """Take the steps of later paths between entities that the network knows and does not link."""
        names, size = network.vocabulary, network.n_entities
        place = np.array([names.index(one) if one in names else -1 for one in later.vocabulary], np.int32)
        codes = place[later.codes]
        inside = np.ones(max(len(codes) - 1, 0), bool)
        ends = later.offsets[1:-1]
        inside[ends[(ends > 0) & (ends < len(codes))] - 1] = False
        steps = np.stack([codes[:-1], codes[1:]], 1)[inside]
        steps = steps[(steps >= 0).all(1) & (steps[:, 0] != steps[:, 1])]
        new = np.setdiff1d(pair_keys(steps, size, directed), linked_keys(network, directed))
        if not len(new):
            raise InputError(
                f"no link between known entities first appears after {moment}; choose an earlier moment"
            )
        return cls(moment, new)


class LinkData:
    """A network and the views of it that are compared: ``"gk"`` as it is, ``"g1"`` its first-order network.

    A network without memory is ``"g1"`` alone. `source` are the paths that the network was grown from; with
    `later`, links that appear later are tested and all of the network may be seen. Splits, and what may be
    seen, are made once for each repetition and seed.
    """

    def __init__(
        self,
        network: HigherOrderNetwork,
        protocol: LinkProtocol,
        which: str = "gk",
        source: GrownFrom | None = None,
        later: LaterLinks | None = None,
    ) -> None:
        check_choice("evaluate", "input", which, (*GROWN, "both"))
        self.network, self.protocol, self.source, self.later = network, protocol, source, later
        self.inputs = named_inputs(network, GROWN if which == "both" else (which,))
        self._remember()

    def _remember(self) -> None:
        repetitions = self.protocol.repetitions
        self.split: Callable[[int], LinkSplit] = lru_cache(maxsize=repetitions)(self._split)
        self.visible: Callable[[str, int], VisibleLinks] = lru_cache(maxsize=repetitions * len(self.inputs))(
            self._visible
        )

    def __getstate__(self) -> dict[str, Any]:
        # Another process makes its splits itself, from the same seeds.
        return {key: value for key, value in self.__dict__.items() if key not in ("split", "visible")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._remember()

    @property
    def division(self) -> str:
        """How pairs are held out and what is hidden, in words, for records."""
        strict = self.source is not None and self.protocol.hides == "strict"
        grown = " from paths" if self.later is not None else " from paths without tested visits"
        grown = grown if strict else ""
        if self.later is None:
            return self.protocol.name + grown
        _, _, rest = self.protocol.name.partition(" ")
        return f"{LATER} {self.later.moment} {rest}{grown}"

    @cached_property
    def linked(self) -> Keys:
        """The keys of all links that are known to anybody, later ones among them, ascending."""
        known = linked_keys(self.network, self.protocol.directed)
        return known if self.later is None else np.union1d(known, self.later.keys)

    def test(self, seed: int) -> LinkTest:
        """Return the test pairs of a repetition by name."""
        split = self.split(seed)
        return LinkTest(tuple(split.names), tuple(KINDS[kind] for kind in split.kinds.tolist()))

    def _split(self, seed: int) -> LinkSplit:
        asked = self.protocol
        if self.later is not None:
            return self._later_split(seed, self.later.keys)
        return split_links(
            self.network, asked.share, seed, asked.directed, asked.isolated, asked.negatives, asked.hides
        )

    def _later_split(self, seed: int, later: Keys) -> LinkSplit:
        """Return all later links and as many pairs that are never linked; nothing has to be hidden."""
        asked, size = self.protocol, self.network.n_entities
        names = [*NEGATIVE_KINDS] if asked.negatives == "both" else [asked.negatives]
        drawn = [
            unlinked_pairs(
                name, generator(seed, "later links", name), len(later), 0, self.linked, size, asked.directed
            )[: len(later)]
            for name in names
        ]
        pairs = np.concatenate([keyed_pairs(later, size), *drawn])
        kinds = np.repeat(np.array([LINKED, *(NEGATIVE_KINDS[name] for name in names)], np.int8), len(later))
        counts = {"positives": len(self.linked), "tested": len(later)}
        counts |= dict.fromkeys(("reversed", "hidden_edges", "hidden_contexts", "excluded", "isolated"), 0)
        labels = (kinds == LINKED).astype(np.int64)
        return LinkSplit(self.network, pairs, labels, kinds, asked.directed, counts)

    def _visible(self, name: str, seed: int) -> VisibleLinks:
        """Return what a model may see of input `name`: nothing that tells of a test pair."""
        if self.later is not None:
            seen = self.network
            if name == "g1":
                seen = with_entities(seen.first_order(), seen.vocabulary)
            known = (None, None) if self.source is None else (self.source.counts, self.source.paths)
            return VisibleLinks(seen, *known)
        pairs, hides = self.split(seed).names, self.protocol.hides
        return visible_links(self.network, pairs, self.source, first_order=name == "g1", protocol=hides)


def grown_from(paths: Paths, network: HigherOrderNetwork, where: object) -> GrownFrom:
    """Return the paths that a network was grown from; raise if its parameters are unknown, or others."""
    if network.parameters is None:
        raise InputError(
            f"{where}: the network has no record of how it was grown, so it cannot be grown anew; "
            "grow it with 'honlearn grow' and keep it as .hon"
        )
    source = GrownFrom(paths, network.parameters)
    source.check(network, where)
    return source
