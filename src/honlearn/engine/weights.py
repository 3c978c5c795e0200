"""Weights of the learners and what they multiply: stacked matrices, identity look-ups, user features.

In: sizes, one random generator a learner, optional features of the entities. Out: tables ``[1|L, V, d]``,
the input of the first layer already multiplied by a weight. A one-hot times a matrix is a row of that
matrix, so identity features never exist as numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from honlearn.engine.adjacency import Rows
from honlearn.engine.input_tables import input_table
from honlearn.engine.products import aligned, product
from honlearn.engine.propagate import Dropout, drop, sum_rows
from honlearn.engine.runtime import Runtime
from honlearn.engine.touched import RowGradient, Touched, touched_rows

Generators = Sequence[torch.Generator]


def glorot(generators: Generators, fan_in: int, fan_out: int) -> nn.Parameter:
    """Return Glorot-uniform matrices [P, fan_in, fan_out], each drawn from its own generator."""
    limit = (6.0 / (fan_in + fan_out)) ** 0.5
    out = torch.empty(len(generators), fan_in, fan_out)
    for matrix, generator in zip(out, generators, strict=True):
        matrix.uniform_(-limit, limit, generator=generator)
    return nn.Parameter(out)


def _owned(part: torch.Tensor) -> torch.Tensor:
    """Return a part of a tensor in memory of its own.

    Where there are only shapes, a clone would import the symbolic algebra of torch, which takes a second.
    """
    return torch.empty(part.shape, device="meta") if part.is_meta else part.detach().clone()


def zeros(generators: Generators, *shape: int) -> nn.Parameter:
    """Return zeros [P, *shape]."""
    return nn.Parameter(torch.zeros(len(generators), *shape))


def split_width(width: int, groups: int) -> list[int]:
    """Return the width of each group; the first takes what is left over.

    >>> split_width(128, 3)
    [44, 42, 42]
    """
    share = width // groups
    return [width - share * (groups - 1), *[share] * (groups - 1)]


class Features:
    """User features of the entities [V, F]: a dense tensor, or sparse rows."""

    def __init__(self, values: Any, device: torch.device | None = None) -> None:
        self.shape: tuple[int, int] = tuple(values.shape)
        self._dense: torch.Tensor | None = None
        if hasattr(values, "tocsr"):
            matrix = values.tocsr()
            if not matrix.has_canonical_format:
                matrix = matrix.copy()  # it may be the user's own
                matrix.sum_duplicates()
            data = np.asarray(matrix.data, np.float32)[None]
            self._sparse = Rows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)[None], data)
        else:
            dense = torch.as_tensor(np.ascontiguousarray(values, np.float32))
            self._dense = aligned(dense).to(device or "cpu")
        self._rows = np.arange(self.shape[0], dtype=np.int32)[None]

    def arrays(self) -> list[NDArray[Any]]:
        """Return what the numbers are made of: themselves, or of sparse rows indptr, indices and data."""
        return list(self._sparse) if self._dense is None else [self._dense.cpu().numpy()]

    @property
    def whole(self) -> torch.Tensor | None:
        """The features [V, F] where they are dense, None where they are sparse."""
        return self._dense

    def dense(self) -> torch.Tensor:
        """Return the features as a dense tensor [V, F]."""
        if self._dense is not None:
            return self._dense
        indptr, indices, data = self._sparse
        out = torch.zeros(self.shape)
        row = np.repeat(np.arange(self.shape[0]), np.diff(indptr))
        out[torch.from_numpy(row), torch.from_numpy(indices[0].astype(np.int64))] = torch.from_numpy(data[0])
        return out

    def times(
        self, run: Runtime, weight: torch.Tensor, site: Dropout, touched: Touched | None = None
    ) -> torch.Tensor:
        """Return dropout(features) · weight [P, F, d]: [L, V, d], or [P, V, d] without dropout.

        With `touched` only its rows, [L, U, d].
        """
        if touched is not None:
            if self._dense is None:
                return sum_rows(run, self._sparse, touched.rows, weight, site)
            some = self._dense[torch.from_numpy(touched.rows.astype(np.int64))]
            return product(run, drop(run, touched.rows, some, site), weight, touched.counts.tolist())
        if site.rate == 0:
            site = Dropout(0.0, np.zeros(len(weight), np.uint32))
        if self._dense is None:
            return sum_rows(run, self._sparse, self._rows, weight, site)
        stacked = self._dense.expand(len(site.keys), *self.shape) if site.rate else self._dense[None]
        return product(run, drop(run, self._rows, stacked, site), weight)


class InputWeight(nn.Module):
    """A weight of the first layer: an identity table [P, V, d], a matrix for features [P, F, d], or both.

    With both, the neighbour as a whole is dropped out (in the look-up); with features alone their elements.
    `masked` adds a vector that stands for an identity that is hidden, [P, 1, d].
    """

    def __init__(
        self,
        generators: Generators,
        n_entities: int,
        features: Features | None,
        identity: bool,
        width: int,
        masked: bool = False,
    ) -> None:
        super().__init__()
        n_features = 0 if features is None else features.shape[1]
        fan_in = n_features + (n_entities if identity else 0)
        whole = glorot(generators, fan_in, width)
        self.features = features
        self.identity = nn.Parameter(_owned(whole[:, :n_entities])) if identity else None
        rest = _owned(whole[:, n_entities if identity else 0 :])
        self.matrix = nn.Parameter(rest) if n_features else None
        self.mask = zeros(generators, 1, width) if masked and identity else None
        # Of a step that has read some identities, for the optimiser.
        self.row_gradient: RowGradient | None = None

    def table(self, run: Runtime, site: Dropout, touched: Touched | None = None) -> torch.Tensor:
        """Return the input times this weight, [1|L, V, d]; `site` drops elements of features alone.

        With `touched` only its rows, [L, U, d].
        """
        if self.matrix is None or self.features is None:
            return self._identities(run, touched)
        if self.identity is None:
            return self.features.times(run, self.matrix, site, touched)
        together = self._together(run, touched, False)
        if together is not None:
            return together
        return self._identities(run, touched) + self._of_features(run, site, touched)

    def table_for_roots(self, run: Runtime, site: Dropout, touched: Touched | None = None) -> torch.Tensor:
        """Return :meth:`table` and below it what stands for hidden identities.

        That is their features, [1|L, 2 V, d], or without features the mask vector, [1|L, V + 1, d]; where
        there is neither it is nothing, [1|L, V, d]. With `touched` there are U rows in place of V.
        """
        if self.identity is None:
            return self.table(run, site, touched)
        together = self._together(run, touched, True) if self.mask is None else None
        if together is not None:
            return together
        identities = self._identities(run, touched)
        if self.matrix is None:
            return identities if self.mask is None else torch.cat([identities, self.mask], 1)
        nameless = self._of_features(run, site, touched)
        hidden = nameless if self.mask is None else nameless + self.mask
        return torch.cat([identities + nameless, hidden], 1)

    def _together(self, run: Runtime, touched: Touched | None, for_roots: bool) -> torch.Tensor | None:
        """Return the table of all entities in one pass; None where features are sparse, or elsewhere."""
        whole = None if self.features is None or touched is not None else self.features.whole
        if whole is None or self.identity is None or self.matrix is None:
            return None
        if self.identity.device.type != "cpu":
            return None
        return input_table(run, whole, self.identity, self.matrix, for_roots)

    def _identities(self, run: Runtime, touched: Touched | None) -> torch.Tensor:
        assert self.identity is not None
        return self.identity if touched is None else touched_rows(run, self, self.identity, touched)

    def _of_features(self, run: Runtime, site: Dropout, touched: Touched | None) -> torch.Tensor:
        """Return the features times their matrix, whole: beside identities, neighbours are dropped."""
        assert self.matrix is not None
        assert self.features is not None
        return self.features.times(run, self.matrix, Dropout(0.0, site.keys), touched)
