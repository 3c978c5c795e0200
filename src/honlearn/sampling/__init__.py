"""Sampling: what learners draw from a network, and what is counted of pairs of entities.

In: a network, seeds, and paths where there are any. Out: relatives (Eqs. 3 and 4), neighbours, unlinked
pairs, and numbers that tell of links. Every draw belongs to a seed, a learner and a purpose, so that no draw
depends on another.
"""

from honlearn.sampling.neighbors import NeighborSampler
from honlearn.sampling.relatives import RelativeSampler, draw_relatives

__all__ = ["NeighborSampler", "RelativeSampler", "draw_relatives"]
