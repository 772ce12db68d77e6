"""Langevin Monte Carlo and the exponential mechanism: the paper's formulas, and pure DP.

`Geometry.sensitivity` is the distance of the two gradients that are compared, so F - F' is
L-Lipschitz. The paper's L is a Lipschitz constant of F and of F', half as large where it matters.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import ApproxDPTradeoff, GaussianTradeoff, Maximum
from shiftdp.interpolation.closed_forms import langevin
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import Assumption, Assumptions
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import ExponentialMechanism, LangevinMC, Run
from shiftdp.last_iterate.theorems.proofs import Proofs
from shiftdp.last_iterate.theorems.theorem import DELTA, Bound, Prospect, Theorem

_ANCHOR = "langevin-monte-carlo-and-the-exponential-mechanism"


class _OnSampler(Theorem):
    """A theorem on samplers from the density proportional to exp(-F)."""

    anchor = _ANCHOR

    def hypotheses(self, run: Run, geometry: Geometry, proofs: Proofs) -> Assumptions:
        extra = (given.constraint(geometry),) if geometry.bounded else ()
        return (
            given.smooth_losses(geometry),
            Assumption(
                "sensitivity",
                f"F - F' is {geometry.sensitivity:g}-Lipschitz for neighbouring data",
            ),
            given.adjacency(geometry),
            *extra,
            given.hidden_iterates(),
        )


class _PureDP(_OnSampler):
    """[MT07] F - F' varies by at most L D on the domain, so the densities differ by e^{LD}."""

    name = "pure DP"
    citation = "[MT07]"
    family = "composition"
    place = 2
    runs = (ExponentialMechanism,)

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        if not geometry.bounded:
            raise UnmetHypothesis(
                "diameter", geometry.diameter, "is infinite", "give a bounded domain"
            )
        epsilon = langevin.exponential_mechanism_pure_epsilon(
            geometry.sensitivity / 2.0, geometry.diameter
        )
        return Bound(self, ApproxDPTradeoff(epsilon))


class _GaussianSampler(_OnSampler):
    """A formula for mu."""

    family = "paper"

    @abstractmethod
    def mu(self, run: Any, geometry: Geometry) -> float:
        """The GDP parameter, or `UnmetHypothesis`."""

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        return Bound(self, GaussianTradeoff(self.mu(run, geometry)))


class _Lmc(_GaussianSampler):
    """Strongly log-concave targets after a number of steps."""

    name = "Prop lmc"
    citation = "[BSA24, Prop lmc]"
    runs = (LangevinMC,)

    def speaks_of(self, run: Any) -> bool:
        return math.isfinite(run.steps)

    def mu(self, run: Any, geometry: Geometry) -> float:
        return _lmc(run, geometry)


class _ExponentialStronglyConvex(_GaussianSampler):
    """Strongly log-concave targets: the stationary law of the chain, or the mechanism itself."""

    name = "Cor expmechsc"
    citation = "[BSA24, Cor expmechsc]"
    runs = LangevinMC, ExponentialMechanism

    def speaks_of(self, run: Any) -> bool:
        return not isinstance(run, LangevinMC) or math.isinf(run.steps)

    def mu(self, run: Any, geometry: Geometry) -> float:
        if isinstance(run, LangevinMC):
            return _lmc(run, geometry)
        _require_strongly_convex(geometry)
        return langevin.exponential_mechanism_sc(geometry.strong_convexity, geometry.sensitivity)


class _ExponentialConvex(_GaussianSampler):
    """Log-concave targets on a body."""

    name = "Cor expmechconvex"
    citation = "[BSA24, Cor expmechconvex]"
    runs = LangevinMC, ExponentialMechanism

    def mu(self, run: Any, geometry: Geometry) -> float:
        _require_convex_body(geometry)
        half, D = geometry.sensitivity / 2.0, geometry.diameter
        if not isinstance(run, LangevinMC):
            return langevin.exponential_mechanism_convex(half, D)
        given.require_smooth(geometry)
        given.require_contractive(run.learning_rate, geometry)
        # a smoother F than that is also so smooth; a linear one has smoothness 0
        smoothness = max(geometry.smoothness, 1.0 / run.learning_rate)
        return langevin.lmc_stationary_convex_best(half, D, smoothness, run.learning_rate)


class _Together(_OnSampler):
    """A Gaussian bound and pure DP hold at once: their pointwise maximum.

    Of the two Gaussian ones only the better is taken, or the first where they agree.
    """

    family = "ours"
    runs = (ExponentialMechanism,)

    def __init__(self, gaussian: _GaussianSampler) -> None:
        self.gaussian = gaussian
        self.name = f"{gaussian.name} and {PURE_DP.name}"
        self.citation = f"{gaussian.citation}, {PURE_DP.citation}"

    def prospect(self, run: Run, geometry: Geometry, delta: float, rival: float) -> Prospect:
        return Prospect.UNBEATEN

    def bound(self, run: Run, geometry: Geometry, delta: float) -> Bound:
        pure = PURE_DP.bound(run, geometry, DELTA)
        mu = self.gaussian.mu(run, geometry)
        rivals = _known(run, geometry)
        better = min(rivals, key=lambda theorem: rivals[theorem])
        if better is not self.gaussian:
            raise UnmetHypothesis(
                "bound", mu, f"is above {rivals[better]:g} of {better.name}", "use that"
            )
        return Bound(self, Maximum((GaussianTradeoff(mu), pure.f)))


def _known(run: Run, geometry: Geometry) -> dict[_GaussianSampler, float]:
    """mu of the Gaussian bounds on the exponential mechanism that apply."""
    found: dict[_GaussianSampler, float] = {}
    for theorem in (_STRONGLY_CONVEX, _CONVEX):
        try:
            found[theorem] = theorem.mu(run, geometry)
        except UnmetHypothesis:
            continue
    return found


def _lmc(run: LangevinMC, geometry: Geometry) -> float:
    _require_strongly_convex(geometry)
    given.require_smooth(geometry)
    return langevin.lmc(
        geometry.strong_convexity,
        geometry.smoothness,
        geometry.sensitivity,
        run.learning_rate,
        run.steps,
    )


def _require_strongly_convex(geometry: Geometry) -> None:
    if not geometry.strong_convexity > 0:
        raise UnmetHypothesis(
            "strong_convexity",
            geometry.strong_convexity,
            "is not positive",
            "add a ridge, or give a bounded domain",
        )


def _require_convex_body(geometry: Geometry) -> None:
    if not geometry.convex:
        raise UnmetHypothesis(
            "strong_convexity", geometry.strong_convexity, "is negative", "give convex F and F'"
        )
    if not geometry.bounded:
        raise UnmetHypothesis("diameter", geometry.diameter, "is infinite", "give a bounded domain")


PURE_DP = _PureDP()
_STRONGLY_CONVEX, _CONVEX = _ExponentialStronglyConvex(), _ExponentialConvex()
THEOREMS = (
    PURE_DP,
    *(_Lmc(), _STRONGLY_CONVEX, _CONVEX),
    *(_Together(_STRONGLY_CONVEX), _Together(_CONVEX)),
)
