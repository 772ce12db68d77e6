"""One noisy step under Poisson sampling: a record takes part with probability p. [Theorem B3]

The step's input may be off by a, and the record moves it by at most s, in units of the noise.

zero-out: the record is there or not. The pair is ((1-p) N(a) + p N(a+s), N(0)); it is not
symmetric, so a run composes each direction on its own and takes the worse at the end.

replace-one: the record is exchanged. The pair is
((1-p) N(-a) + p N(-a-s), (1-p) N(0) + p N(s)), which x -> -a - x exchanges. With a = 0 it is
R(s, 1, p) of the paper, which conjectured that it is the worst case; it is [BSA24, Lemma cpgdpinf,
footnote].

All likelihood ratios are monotone: see `pairs.mean_profiles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from shiftdp._checks import Array
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.sampled_step import ReplaceOne, SampledStep, ZeroOut
from shiftdp.fdp.functions.subsampling import Subsampled
from shiftdp.fdp.pairs.mean_law import MeanLaw

_WIDE = 10.0  # the largest mu for which a Gaussian gives its tangents


@dataclass(frozen=True)
class PoissonZeroOut(ZeroOut, SampledStep):
    """T((1-p) N(a) + p N(a+s), N(0)), or with `swapped` T(N(0), (1-p) N(a) + p N(a+s)).

    >>> f = PoissonZeroOut(p=0.01, a=0.0, s=1.0)
    >>> round(f.delta(0.005), 9), round(f.inverse().delta(0.005), 9)
    (0.000963144, 0.002635151)
    """

    type_name = "poisson_zero_out"

    swapped: bool = False

    def _tangents(self, epsilon: Array) -> tuple[Array, Array]:
        if self._simple is None and self.swapped and self.a == 0.0 and self.s <= _WIDE:
            # for eps >= 0 the profile of C_p(G(s)), which needs no threshold
            return Subsampled(GaussianTradeoff(self.s), self.p)._tangents(epsilon)
        return super()._tangents(epsilon)


@dataclass(frozen=True)
class PoissonReplaceOne(ReplaceOne, SampledStep):
    """T((1-p) N(-a) + p N(-a-s), (1-p) N(0) + p N(s)).

    Moved by a/2 it is T(E N(-W), E N(W)), W being a/2 + s with probability p, else a/2.

    >>> f = PoissonReplaceOne(p=0.01, a=0.0, s=1.0)
    >>> round(f.delta(0.01), 9), round(f.epsilon(1e-5), 9)
    (0.003327579, 0.209371556)
    """

    type_name = "poisson_replace_one"

    @cached_property
    def _law(self) -> MeanLaw:
        return self._law_from(0.5 * self.a)
