"""Check a certificate from what it carries, without the solver that made it."""

from __future__ import annotations

import math

from shiftdp._errors import VerificationFailed
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction
from shiftdp.interpolation.verify import verify
from shiftdp.last_iterate.bounds import composition_mu
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certify import evaluate
from shiftdp.last_iterate.outcomes import BatchRun, Outcome, outcomes, schedule_of
from shiftdp.last_iterate.runs import LangevinMC, NoisyCGD, NoisyGD

__all__ = ["verify_certificate"]


def verify_certificate(certificate: Certificate) -> None:
    """Raise `VerificationFailed` unless the certificate proves every number that it states.

    Bounds by shifts: the outcomes are listed anew from the run, the recursion is run for each, and
    the tradeoff function must be no better than what that proves. Closed forms without shifts
    (composition, the exponential mechanism) are evaluated again.
    """
    run = certificate.run
    if isinstance(run, LangevinMC) and certificate.proofs:
        run = run.as_descent(int(run.steps))
    if certificate.proofs and isinstance(run, (NoisyGD, NoisyCGD)):
        _verify_shifts(certificate, run)
    elif certificate.bound.endswith("(composition)") and isinstance(run, (NoisyGD, NoisyCGD)):
        _require(_mu(certificate.f) >= composition_mu(run, certificate.geometry), "mu is too small")
    else:
        _verify_closed_form(certificate)


def _verify_shifts(certificate: Certificate, run: BatchRun) -> None:
    geometry = certificate.geometry
    expected = outcomes(run, geometry)
    stated = [Outcome(proof.visits, proof.weight) for proof in certificate.proofs]
    _require(
        [case.visits for case in expected] == [case.visits for case in stated]
        and all(
            math.isclose(a.weight, b.weight, rel_tol=1e-12)
            for a, b in zip(expected, stated, strict=True)
        ),
        "the outcomes are not those of the run",
    )
    for proof in certificate.proofs:
        verify(schedule_of(run, geometry, proof.visits), proof.shifts)
    proved = [proof.shifts.mu for proof in certificate.proofs]
    if isinstance(certificate.f, Mixture):
        _require(run.order != "fixed", "the order of the batches is not random")
        _require(
            len(certificate.f.components) == len(proved)
            and all(
                _mu(part) >= mu for part, mu in zip(certificate.f.components, proved, strict=True)
            ),
            "a component states less than its shifts prove",
        )
        weights = zip(certificate.f.weights, expected, strict=True)
        _require(
            all(math.isclose(w, case.weight, rel_tol=1e-9) for w, case in weights),
            "the weights are not those of the run",
        )
    else:
        # mu may be that of an equal closed form, which rounds differently
        _require(_mu(certificate.f) >= max(proved) * (1 - 1e-11), "mu is below what is proved")


def _verify_closed_form(certificate: Certificate) -> None:
    for bound in evaluate(certificate.run, certificate.geometry).found:
        if bound.name == certificate.bound:
            _require(bound.f == certificate.f, "the bound is not what its formula gives")
            return
    raise VerificationFailed(f"{certificate.bound!r} is not a bound for this run")


def _mu(f: TradeoffFunction) -> float:
    if not isinstance(f, GaussianTradeoff):
        raise VerificationFailed(f"{f} is not Gaussian, as the bound says")
    return f.mu


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerificationFailed(problem)
