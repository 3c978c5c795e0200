"""Sampling: relatives by Eq. 3 and weighted neighbours, both seeded per learner."""

from honlearn.sampling.neighbors import NeighborSampler
from honlearn.sampling.relatives import RelativeSampler, draw_relatives

__all__ = ["NeighborSampler", "RelativeSampler", "draw_relatives"]
