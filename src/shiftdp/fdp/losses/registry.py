"""The law of the privacy loss of a tradeoff function; a new kind registers here.

f = T(P, Q),    L = log dQ/dP,    Q(L > x) = delta_f(x) + e^x P(L > x).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch

import numpy as np

from shiftdp._checks import choice
from shiftdp._errors import NoClosedForm
from shiftdp.fdp.functions.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.identity import Identity
from shiftdp.fdp.functions.laplace import LaplaceTradeoff
from shiftdp.fdp.functions.mixture import Mixture
from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.functions.poisson import PoissonReplaceOne, PoissonZeroOut
from shiftdp.fdp.functions.shifted_subsampling import ShiftedSubsampled
from shiftdp.fdp.functions.subsampling import Subsampled
from shiftdp.fdp.losses.kinds import (
    BlendLoss,
    FiniteLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    Side,
)
from shiftdp.fdp.losses.mixtures import PairLoss, ShiftedSubsampledLoss
from shiftdp.fdp.pairs.likelihood_ratio import OneSidedRatio, TwoSidedRatio
from shiftdp.fdp.tradeoff import TradeoffFunction, tradeoff

__all__ = ["PrivacyLoss", "privacy_loss"]

_KNOWN = (
    "GaussianTradeoff, LaplaceTradeoff, ApproxDPTradeoff, Identity, PiecewiseLinear, "
    "ShiftedSubsampled, PoissonZeroOut, PoissonReplaceOne, C_p of a Gaussian or of a symmetric "
    "function with finitely many losses, and WithFailure and Mixture of these"
)


def privacy_loss(f: TradeoffFunction, *, under: Side = "Q") -> PrivacyLoss:
    """The law of L = log dQ/dP for f = T(P, Q), under Q or under P, in log space.

    Unlike delta and epsilon, which are rounded up, these are the nearest numbers that floats
    give: some units in the last place of the logarithm, or of x, away.

    Args:
        f: the tradeoff function.
        under: which of the two worlds the loss is drawn in.

    >>> from shiftdp.fdp import GaussianTradeoff
    >>> law = privacy_loss(GaussianTradeoff(1.0).subsample(0.1))
    >>> law.log_survival([0.5, 5.0, 50.0]).round(6).tolist()
    [-4.431603, -28.249411, -1348.923247]
    >>> law.atoms.loss.tolist(), law.atoms.log_mass.round(6).tolist()
    ([0.0], [-1.065277])
    >>> round(law.log_mgf(3.0), 6), round(privacy_loss(LaplaceTradeoff(1.0)).log_cdf(0.0), 6)
    (0.198804, -1.193147)
    """
    tradeoff("f", f)
    choice("under", under, ("Q", "P"))
    return replace(_law(f), under=under)


@singledispatch
def _law(f: TradeoffFunction) -> PrivacyLoss:
    raise NoClosedForm(f"{f} has no privacy-loss law in closed form; these have one: {_KNOWN}")


def _finite(masses: Iterable[tuple[float, float, float]]) -> FiniteLoss:
    """From (loss, log mass under Q, log mass under P), equal losses taken together."""
    loss, log_q, log_p = np.array([row for row in masses if max(row[1:]) > -math.inf]).T
    places, index = np.unique(loss, return_inverse=True)
    totals = np.full((2, places.size), -math.inf)
    for total, mass in zip(totals, (log_q, log_p), strict=True):
        np.logaddexp.at(total, index, mass)
    return FiniteLoss(places, totals[0], totals[1])


_NOTHING = _finite([(0.0, 0.0, 0.0)])
_EVERYTHING = _finite([(math.inf, 0.0, -math.inf), (-math.inf, -math.inf, 0.0)])


def _failing(law: PrivacyLoss, q: float) -> PrivacyLoss:
    """The law, but with probability q all is revealed."""
    if q in (0.0, 1.0):
        return _EVERYTHING if q else law
    return BlendLoss((law, _EVERYTHING), (math.log1p(-q), math.log(q)))


@_law.register
def _(f: Identity) -> PrivacyLoss:
    return _NOTHING


@_law.register
def _(f: GaussianTradeoff) -> PrivacyLoss:
    if f.mu == 0.0:
        return _NOTHING
    return GaussianLoss(f.mu) if f.mu < math.inf else _EVERYTHING


@_law.register
def _(f: LaplaceTradeoff) -> PrivacyLoss:
    return LaplaceLoss(f.mu) if f.mu > 0.0 else _NOTHING


@_law.register
def _(f: ApproxDPTradeoff) -> PrivacyLoss:
    e, d = f.budget_epsilon, f.budget_delta
    if e == math.inf or d == 1.0:
        return _EVERYTHING
    rest = math.log1p(-d)
    high, low = rest - math.log1p(math.exp(-e)), rest - e - math.log1p(math.exp(-e))
    lost = math.log(d) if d > 0.0 else -math.inf
    return _finite(
        [
            (e, high, low), (-e, low, high),
            (math.inf, lost, -math.inf), (-math.inf, -math.inf, lost),
        ]
    )  # fmt: skip


@_law.register
def _(f: PiecewiseLinear) -> PrivacyLoss:
    """Each piece of f is a loss: the logarithm of its slope."""
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(np.diff(f.alpha)), np.log(-np.diff(f.beta))
        lost = float(np.log1p(-f.beta[0]))
    rows = zip((log_q - log_p).tolist(), log_q.tolist(), log_p.tolist(), strict=True)
    return _finite([*rows, (math.inf, lost, -math.inf)])


@_law.register
def _(f: WithFailure) -> PrivacyLoss:
    return _failing(_law(f.base), f.failure)


@_law.register
def _(f: Mixture) -> PrivacyLoss:
    parts = [(_law(g), math.log(w)) for g, w in zip(f.components, f.weights, strict=True) if w > 0]
    return BlendLoss(tuple(law for law, _ in parts), tuple(w for _, w in parts))


@_law.register
def _(f: ShiftedSubsampled) -> PrivacyLoss:
    return ShiftedSubsampledLoss(f.p, f.a, f._d) if f._simple is None else _law(f._simple)


@_law.register
def _(f: PoissonZeroOut) -> PrivacyLoss:
    if f._simple is not None:
        return _law(f._simple)
    mixture, normal = ((1.0 - f.p, f.a), (f.p, f._d)), ((1.0, 0.0),)
    ratio = OneSidedRatio(f.p, f.a, f._d)
    if f.swapped:
        return PairLoss(normal, mixture, ratio)
    return PairLoss(mixture, normal, ratio, falling=True)


@_law.register
def _(f: PoissonReplaceOne) -> PrivacyLoss:
    """Mirrored: (1-p) N(a) + p N(a+s) against (1-p) N(0) + p N(-s)."""
    if f._simple is not None:
        return _law(f._simple)
    above, below = ((1.0 - f.p, f.a), (f.p, f._d)), ((1.0 - f.p, 0.0), (f.p, -f.s))
    return PairLoss(below, above, TwoSidedRatio(f.p, f.a, f.s))


@_law.register
def _(f: Subsampled) -> PrivacyLoss:
    base = f.base
    if not base.symmetric:
        raise NoClosedForm(f"{f} has no privacy-loss law in closed form, as its base is asymmetric")
    law = _law(base)
    if f.p == 1.0:
        return law
    if isinstance(law, GaussianLoss):
        return ShiftedSubsampledLoss(f.p, 0.0, law.mu)
    if isinstance(law, FiniteLoss):
        return _subsampled_atoms(law, f.p)
    raise NoClosedForm(f"{f} has no privacy-loss law in closed form; these have one: {_KNOWN}")


def _subsampled_atoms(law: FiniteLoss, p: float) -> FiniteLoss:
    """C_p of a symmetric law: a loss x > 0 becomes log(1 - p + p e^x), with the same mass under P;
    so under Q its mirror image. The rest of both has loss 0.
    """
    up = law.loss > 0.0
    x, log_q, log_p = law.loss[up], law.log_q[up], law.log_p[up]
    share, rest = math.log(p), math.log1p(-p)
    new_q = np.logaddexp(share + log_q, rest + log_p)
    with np.errstate(over="ignore"):
        loss = np.where(x < 1.0, np.log1p(p * np.expm1(np.minimum(x, 1.0))), new_q - log_p)
    # q_i - p_i, a share 1 - p of which comes to rest at 0 with what was there
    idle = rest + log_q + np.log(-np.expm1(-x))
    still = float(np.logaddexp.reduce(np.append(idle, law.log_q[law.loss == 0.0])))
    rows = [*zip(loss, new_q, log_p, strict=True), *zip(-loss, log_p, new_q, strict=True)]
    return _finite([*rows, (0.0, still, still)])
