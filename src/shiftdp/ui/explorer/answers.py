"""What the page says of a run: the certificate and its numbers, and the curves behind figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import ShiftdpError
from shiftdp._kinds import Uncertified
from shiftdp.fdp import GaussianTradeoff, TradeoffFunction
from shiftdp.fdp.pairs.gaussian_arrays import gaussian_epsilon_array
from shiftdp.fdp.pairs.gaussian_profile import RELATIVE_ERROR
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.certification import certify
from shiftdp.last_iterate.last_batch import last_batch_cost
from shiftdp.last_iterate.runs import people
from shiftdp.last_iterate.theorems.sampled.composition import SAMPLED_COMPOSITION
from shiftdp.ui.explorer.paths import Path, path_of
from shiftdp.ui.explorer.sentence import FALSE_ALARMS, sentence
from shiftdp.ui.explorer.settings import CertifyArguments
from shiftdp.ui.explorer.sweep import is_sampled

ALARMS = (0.001, FALSE_ALARMS, 0.1)
"""False positive rates at which the attacker's best true positive rate is shown."""

MOST_POSITIONS = 2_000
"""The most batches an epoch for which the profile by position is drawn."""

# points of a curve: of a Gaussian one, and of one that takes longer, whose points are among them
_NORMAL, _OTHER = 65, 33


@dataclass(frozen=True)
class Certified:
    """A certificate, and the numbers of it that are shown first."""

    certificate: Certificate
    delta: float
    epsilon: float
    advantage: float
    caught: tuple[tuple[float, float], ...]  # false positive rate, most true positives
    sentence: str
    notice: str | None  # what a smaller last batch costs


@dataclass(frozen=True, eq=False)
class Curve:
    """A tradeoff function at some points."""

    name: str
    label: str
    alpha: Array
    beta: Array


@dataclass(frozen=True, eq=False)
class Curves:
    """What is drawn of a certificate by itself."""

    tradeoffs: tuple[Curve, ...]
    path: Path
    positions: dict[int, float]  # epsilon for a record in each batch of the epoch
    why_no_positions: str


def certified(asked: CertifyArguments) -> Certified:
    """`certify`, and its numbers."""
    run, geometry, delta, bounds = asked
    certificate = certify(run, geometry, bounds=bounds, delta=delta)
    return numbers_of(certificate, delta)


def numbers_of(certificate: Certificate, delta: float) -> Certified:
    """The numbers of a certificate that are shown first."""
    cost = last_batch_cost(certificate, delta)
    epsilon, caught = certificate.epsilon(delta), {fpr: certificate.tpr(fpr) for fpr in ALARMS}
    return Certified(
        certificate,
        delta,
        epsilon,
        certificate.advantage(),
        tuple(caught.items()),
        sentence(certificate, delta, epsilon, caught[FALSE_ALARMS]),
        None if cost is None else str(cost),
    )


def estimate(asked: CertifyArguments) -> Uncertified[float] | None:
    """What is shown while random batches are certified: all steps composed, by an estimate.

    None where there is no quick one.
    """
    run = asked.run
    if not run.sampled or people(run) > 1:
        return None
    theorem = next((one for one in SAMPLED_COMPOSITION if one.applies_to(run)), None)
    if theorem is None or run.endless:
        return None
    try:
        _, guess = theorem.search(run, asked.geometry, asked.delta)
    except ShiftdpError:
        return None
    return Uncertified(guess, "estimate", "all steps composed")


def curves(asked: CertifyArguments, certificate: Certificate) -> Curves:
    """The tradeoff functions, the path of the proof, and the profile by position."""
    positions, why = _positions(certificate, asked.delta)
    return Curves(_tradeoffs(asked, certificate), path_of(certificate), positions, why)


def _tradeoffs(asked: CertifyArguments, certificate: Certificate) -> tuple[Curve, ...]:
    found = [curve_of("best", f"this run ({certificate.bound})", certificate.f)]
    if not is_sampled(asked.run):
        try:
            composed = certify(asked.run, asked.geometry, bounds="composition", delta=asked.delta)
            found.insert(0, curve_of("composition", "composition", composed.f))
        except ShiftdpError:
            pass  # composition has nothing to say of this run
        lower = certificate.lower_mu
        if lower is not None:
            found.append(
                curve_of("lower bound", "attained by some losses", GaussianTradeoff(lower))
            )
    return tuple(found)


def curve_of(name: str, label: str, f: TradeoffFunction) -> Curve:
    """f at points that lie close together where it is steep."""
    from scipy.special import ndtr

    inner = ndtr(np.linspace(-4.0, 4.0, _OTHER if f.gdp_mu is None else _NORMAL))
    alpha = np.concatenate([[0.0], inner, [1.0]])
    return Curve(name, label, alpha, np.asarray(f(alpha), dtype=np.float64))


def _positions(certificate: Certificate, delta: float) -> tuple[dict[int, float], str]:
    """Epsilon by the batch that a record is in, or why there is none."""
    run: Any = certificate.run
    run = run.window
    if not run.cyclic:
        return {}, "Only batches that are used in turn have positions."
    if people(run) > 1:
        return {}, "A person with several records has no one position."
    if run.endless:
        return {}, "A run without end has no last epoch; give a number of epochs."
    if run.batches > MOST_POSITIONS:
        return {}, f"An epoch has {run.batches} batches, too many to be drawn."
    try:
        mu = certificate.by_position()
    except ShiftdpError as error:
        return {}, str(error)
    exact = gaussian_epsilon_array(np.array([*mu.values()]), np.full(len(mu), delta))
    return dict(zip(mu, (exact * (1.0 + RELATIVE_ERROR)).tolist(), strict=True)), ""
