"""What the builder knows about a network beyond its edges: how it was grown and why each context was kept.

In: arrays from :func:`honlearn.grow`, one value for each conditional node. Out: two immutable values that
the network carries and that the native file keeps; a network read from an edge list has neither.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honlearn.errors import InputError, ParameterError, check_integer, check_real, listed
from honlearn.paths.options import MAX_COUNT

# D(g) is at most the bits of a count, 62; what is far beyond it was never computed from paths.
_MOST_BITS = 1000.0
EVIDENCE = ("p_value", "q_value", "ln_bayes_factor")
DEFAULT_ALPHA = 0.05


@dataclass(frozen=True)
class GrowParameters:
    """The parameters of the builder: longest context (k), and the rule by which contexts are kept.

    With `alpha`: the contexts that are significant at this false discovery rate. With `tau` (τ) and
    `min_support`: GrowHON's rule. With `seed`: contexts drawn with their posterior probability. With none of
    these: every context that was seen `min_support` times and that something follows.
    """

    order: int
    tau: float | None
    min_support: int
    alpha: float | None = None
    seed: int | None = None

    @classmethod
    def of(
        cls,
        owner: str,
        order: int,
        tau: float | None = None,
        min_support: int | None = None,
        alpha: float | None = None,
    ) -> GrowParameters:
        """Return the parameters that these arguments of `owner` mean; None is an argument that was not given.

        >>> GrowParameters.of("grow", 2)
        GrowParameters(order=2, tau=None, min_support=1, alpha=0.05, seed=None)
        >>> GrowParameters.of("grow", 2, min_support=10)
        GrowParameters(order=2, tau=1.0, min_support=10, alpha=None, seed=None)
        >>> GrowParameters.of("grow", 2, alpha=1)
        GrowParameters(order=2, tau=None, min_support=1, alpha=None, seed=None)
        """
        if tau is not None:
            tau = check_real(owner, "tau", tau, 0)
        support = 1 if min_support is None else check_integer(owner, "min_support", min_support, 1)
        if support > MAX_COUNT:
            raise ParameterError(
                f"The 'min_support' parameter of {owner} must be at most 2**62, as counts are. "
                f"Got {min_support!r} instead."
            )
        if alpha is not None:
            alpha = check_real(owner, "alpha", alpha, 0, 1, open_below=True)
            other = (
                "tau" if tau is not None else "min_support" if min_support is not None and alpha < 1 else ""
            )
            if other:
                raise ParameterError(
                    f"The 'alpha' parameter of {owner} is another rule than {other!r}: give one of them. Got "
                    f"alpha={alpha:g} and {other}={support if other == 'min_support' else tau:g}."
                )
        elif tau is not None or min_support is not None:
            return cls(order, 1.0 if tau is None else tau, support)
        else:
            alpha = DEFAULT_ALPHA
        return cls(order, None, support, alpha if alpha < 1 else None)

    @property
    def rule(self) -> str:
        """The rule in words.

        >>> GrowParameters(2, None, 1, 0.05).rule
        'false discovery rate 0.05'
        """
        if self.alpha is not None:
            return f"false discovery rate {self.alpha:g}"
        if self.seed is not None:
            return f"drawn from the posterior, seed {self.seed}"
        if self.tau is not None:
            return f"tau {self.tau:g}, min support {self.min_support}"
        return "every context" + (f" seen {self.min_support:,} times" if self.min_support > 1 else "")


@dataclass(frozen=True, eq=False)
class ContextStatistics:
    """Why each conditional node is in the network; row i belongs to node ``n_entities + i``.

    frequency: f(g), how often the context occurs in the paths, int64.
    divergence: D(g), bits by which its next step differs from that of its immediate suffix, float64.
    threshold: τ·(m − 1) / log2(1 + f(g)), which D(g) had to exceed, float64.
    by_extension: the context was kept because a longer one needs it, whatever its own test, bool.
    p_value, q_value, ln_bayes_factor: the evidence for it (:mod:`honlearn.hon.evidence`), float64; None
    where the network was grown without looking at evidence.
    """

    frequency: NDArray[np.int64]
    divergence: NDArray[np.float64]
    threshold: NDArray[np.float64]
    by_extension: NDArray[np.bool_]
    p_value: NDArray[np.float64] | None = None
    q_value: NDArray[np.float64] | None = None
    ln_bayes_factor: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        given = [name for name in EVIDENCE if getattr(self, name) is not None]
        if given and len(given) < len(EVIDENCE):
            raise InputError(f"statistics: of the evidence, only {listed(given)} is there; give all or none")
        for field in fields(self):
            name = field.name
            if getattr(self, name) is None:
                continue
            kind = {"frequency": np.int64, "by_extension": np.bool_}.get(name, np.float64)
            array: NDArray[Any] = np.ascontiguousarray(getattr(self, name), kind)
            if array.shape != (len(self.frequency),):
                raise InputError(
                    f"statistics: {name} has shape {array.shape}; give one value for each of the "
                    f"{len(self.frequency):,} conditional nodes"
                )
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if (self.frequency < 1).any():
            raise InputError(
                f"statistics: a frequency of {self.frequency.min()}; every context was seen once"
            )
        if (np.abs(self.divergence) > _MOST_BITS).any():
            raise InputError(
                f"statistics: a divergence of more than {_MOST_BITS:g} bits; no counts give that"
            )
        for name in given:
            array = getattr(self, name)
            most = np.inf if name == "ln_bayes_factor" else 1.0
            if not np.isfinite(array).all() or (most == 1.0 and ((array < 0) | (array > most)).any()):
                raise InputError(
                    f"statistics: a value of {name} that no counts give; write or copy the network again"
                )

    def __len__(self) -> int:
        return len(self.frequency)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ContextStatistics):
            return NotImplemented
        return all(
            (mine is None) == (theirs is None)
            and (mine is None or np.array_equal(mine, theirs, equal_nan=name != "by_extension"))
            for name, mine, theirs in (
                (f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self)
            )
        )

    __hash__ = None  # type: ignore[assignment]
