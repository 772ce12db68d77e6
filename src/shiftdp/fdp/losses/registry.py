"""The one place that knows the privacy-loss law of each tradeoff function.

A new tradeoff function registers here, once: a function of f that returns its law. Without one,
its law is known from its privacy profile (`ProfileLaw`), which serves contour integrals but has no
tails or moments to hand out.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch

import numpy as np

from shiftdp._checks import choice
from shiftdp._errors import NoClosedForm
from shiftdp.fdp.functions.approx_dp import ApproxDPTradeoff
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.hidden import HiddenExchange
from shiftdp.fdp.functions.identity import Identity
from shiftdp.fdp.functions.laplace import LaplaceTradeoff
from shiftdp.fdp.functions.mixture import Mixture
from shiftdp.fdp.functions.piecewise_linear import PiecewiseLinear
from shiftdp.fdp.functions.sampled_step import ReplaceOne, ZeroOut
from shiftdp.fdp.functions.shifted_subsampling import ShiftedSubsampled
from shiftdp.fdp.functions.subsampling import Subsampled
from shiftdp.fdp.losses.capped import CappedLoss
from shiftdp.fdp.losses.closed_forms import GaussianLoss, LaplaceLoss
from shiftdp.fdp.losses.finite import EVERYTHING, NOTHING, BlendLoss, FiniteLoss
from shiftdp.fdp.losses.law import LossLaw, PrivacyLoss, Side
from shiftdp.fdp.losses.mixtures import NORMAL, PairLoss, ShiftedSubsampledLoss
from shiftdp.fdp.losses.profile import ProfileLaw
from shiftdp.fdp.pairs.mean_ratio import MeanRatio
from shiftdp.fdp.tradeoff import TradeoffFunction, tradeoff

_KNOWN = (
    "GaussianTradeoff, LaplaceTradeoff, ApproxDPTradeoff, Identity, PiecewiseLinear, "
    "ShiftedSubsampled, PoissonZeroOut, PoissonReplaceOne, HiddenExchange, HiddenZeroOut, "
    "HiddenReplaceOne, C_p of a Gaussian or of a symmetric function with finitely many losses, and "
    "WithFailure and Mixture of these"
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
    law = loss_law(tradeoff("f", f))
    choice("under", under, ("Q", "P"))
    if not isinstance(law, PrivacyLoss):
        raise NoClosedForm(f"{f} has no privacy-loss law in closed form; these have one: {_KNOWN}")
    return replace(law, under=under)


@singledispatch
def loss_law(f: TradeoffFunction) -> LossLaw:
    """The law of the privacy loss of f: in closed form where there is one."""
    return ProfileLaw(f)


@loss_law.register
def _(f: Identity) -> LossLaw:
    return NOTHING


@loss_law.register
def _(f: GaussianTradeoff) -> LossLaw:
    if f.mu == 0.0:
        return NOTHING
    return GaussianLoss(f.mu) if f.mu < math.inf else EVERYTHING


@loss_law.register
def _(f: LaplaceTradeoff) -> LossLaw:
    return LaplaceLoss(f.mu) if f.mu > 0.0 else NOTHING


@loss_law.register
def _(f: ApproxDPTradeoff) -> LossLaw:
    e, d = f.budget_epsilon, f.budget_delta
    if e == math.inf or d == 1.0:
        return EVERYTHING
    rest = math.log1p(-d)
    high, low = rest - math.log1p(math.exp(-e)), rest - e - math.log1p(math.exp(-e))
    lost = math.log(d) if d > 0.0 else -math.inf
    return FiniteLoss.of(
        [
            (e, high, low), (-e, low, high),
            (math.inf, lost, -math.inf), (-math.inf, -math.inf, lost),
        ]
    )  # fmt: skip


@loss_law.register
def _(f: PiecewiseLinear) -> LossLaw:
    """Each piece of f is a loss: the logarithm of its slope."""
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(np.diff(f.alpha)), np.log(-np.diff(f.beta))
        lost = float(np.log1p(-f.beta[0]))
    rows = zip((log_q - log_p).tolist(), log_q.tolist(), log_p.tolist(), strict=True)
    return FiniteLoss.of([*rows, (math.inf, lost, -math.inf)])


@loss_law.register
def _(f: ShiftedSubsampled) -> LossLaw:
    return ShiftedSubsampledLoss(f.p, f.a, f._span) if f._simple is None else loss_law(f._simple)


@loss_law.register
def _(f: ZeroOut) -> LossLaw:
    if f._simple is not None:
        return loss_law(f._simple)
    ratio = MeanRatio(f._law, "one-sided")
    return PairLoss(NORMAL, f._law.pairs(), ratio, falling=not f.swapped)


@loss_law.register
def _(f: ReplaceOne) -> LossLaw:
    if f._simple is not None:
        return loss_law(f._simple)
    upper = f._law.pairs()
    return PairLoss(tuple((w, -m) for w, m in upper), upper, MeanRatio(f._law, "two-sided"))


@loss_law.register
def _(f: HiddenExchange) -> LossLaw:
    return CappedLoss(f._law, f._fixed[0]) if f._simple is None else loss_law(f._simple)


@loss_law.register
def _(f: Subsampled) -> LossLaw:
    law = loss_law(f.base)
    if not f.base.symmetric:
        return ProfileLaw(f)
    if f.p == 1.0:
        return law
    if isinstance(law, GaussianLoss):
        return ShiftedSubsampledLoss(f.p, 0.0, law.mu)
    return law.subsampled(f.p) if isinstance(law, FiniteLoss) else ProfileLaw(f)


@loss_law.register
def _(f: WithFailure) -> LossLaw:
    if f.failure in (0.0, 1.0):
        return EVERYTHING if f.failure else loss_law(f.base)
    kept, lost = math.log1p(-f.failure), math.log(f.failure)
    return _blend(f, [(loss_law(f.base), kept), (EVERYTHING, lost)])


@loss_law.register
def _(f: Mixture) -> LossLaw:
    parts = zip(f.components, f.weights, strict=True)
    return _blend(f, [(loss_law(g), math.log(w)) for g, w in parts if w > 0.0])


def _blend(f: TradeoffFunction, parts: list[tuple[LossLaw, float]]) -> LossLaw:
    """One of these laws, each with its log weight; f is the tradeoff function of the whole."""
    closed = [(law, log_w) for law, log_w in parts if isinstance(law, PrivacyLoss)]
    if len(closed) < len(parts):
        return ProfileLaw(f)
    laws, log_weights = zip(*closed, strict=True)
    atoms = {abs(loss) for law in laws for loss in law.atoms.loss.tolist()}
    return BlendLoss(laws, log_weights, ProfileLaw(f, tuple(sorted(atoms - {math.inf}))))
