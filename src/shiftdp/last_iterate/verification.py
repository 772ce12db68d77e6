"""Check a certificate from what it carries, without the solver that made it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

from shiftdp._errors import InvalidInput, VerificationFailed
from shiftdp.fdp import GaussianTradeoff, Mixture, TradeoffFunction, WithFailure
from shiftdp.interpolation.verify import verify
from shiftdp.last_iterate.bound import Proof
from shiftdp.last_iterate.bounds import composition_mu, descent_hypotheses, full_batch
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.certify import ROUNDING, evaluate
from shiftdp.last_iterate.endless import is_endless, require_forgotten, stand_in
from shiftdp.last_iterate.outcomes import BatchRun, outcomes, schedule_of
from shiftdp.last_iterate.runs import LangevinMC, NoisyCGD, NoisyGD, NoisySGD, Run
from shiftdp.last_iterate.stochastic_assumptions import refuse_adjacency, require_theorem
from shiftdp.last_iterate.stochastic_laws import accuracy_of, rebuild
from shiftdp.last_iterate.stochastic_shifts import StochasticProof, steps_of
from shiftdp.last_iterate.stochastic_verification import verify_stochastic

__all__ = ["verify_certificate"]

# How much a stated mu may exceed what is proved: a certificate of a noisier run is no lie about
# privacy, but it is not the certificate of this run.
_SLACK = 1e-6
_TINY = 1e-100


def verify_certificate(certificate: Certificate) -> None:
    """Raise `VerificationFailed` unless the certificate proves every number that it states.

    Bounds by shifts: the outcomes are listed anew from the run, the recursion is run for each, and
    the tradeoff function must be what that proves. Closed forms without shifts (composition, the
    exponential mechanism) are evaluated again, and so are those of the paper.
    """
    if is_endless(certificate.run):
        finite = replace(certificate, run=stand_in(certificate.run, certificate.geometry))
        _require_forgotten(finite)
        verify_certificate(finite)
        return
    if isinstance(certificate.run, NoisySGD) and certificate.bound != "Theorem B1":
        _verify_random_batches(certificate, certificate.run)
        return
    run = _descent(certificate)
    if run is not None and certificate.bound.endswith("(composition)"):
        mu = composition_mu(run, certificate.geometry)
        _require_equal(_mu(certificate.f), mu, "mu is not that of composition")
        _require_hypotheses(certificate, run)
    elif run is not None and certificate.proofs:
        _verify_shifts(certificate, run)
        _require_hypotheses(certificate, run)
        if not certificate.bound.startswith("Theorem B"):
            _verify_closed_form(certificate)
    else:
        proved_by_formula = not certificate.bound.startswith("Theorem B") and not isinstance(
            certificate.run, (NoisyGD, NoisyCGD)
        )
        _require(proved_by_formula, "it carries no shifts")
        _verify_closed_form(certificate)


def _require_forgotten(finite: Certificate) -> None:
    """The bound on the stand-in of an endless run must hold for longer ones."""
    try:
        require_forgotten(finite.run, finite.geometry, finite.bound, finite.proofs)
    except InvalidInput as error:
        raise VerificationFailed(str(error)) from error


def _descent(certificate: Certificate) -> BatchRun | None:
    """The noisy gradient descent that the certificate is about, if it is."""
    run: Run = certificate.run
    if isinstance(run, LangevinMC):
        descent = run.as_descent(run.steps)
        if math.isfinite(run.steps):
            return descent
        if not certificate.proofs:
            return None
        finite = stand_in(descent, certificate.geometry)
        _require_forgotten(replace(certificate, run=finite))
        return cast(BatchRun, finite)
    if isinstance(run, NoisySGD) and run.batch_size == run.n:
        return full_batch(run)
    return run if isinstance(run, (NoisyGD, NoisyCGD)) else None


def _verify_random_batches(certificate: Certificate, run: NoisySGD) -> None:
    """The parameters of the theorem are checked, and f must be what it gives for them."""
    geometry, proofs, name = certificate.geometry, certificate.proofs, certificate.bound
    _require(len(proofs) <= 1, "one proof is enough")
    proof = proofs[0] if proofs else None
    _require(proof is None or isinstance(proof, StochasticProof), "the proof is of another kind")
    stochastic = proof if isinstance(proof, StochasticProof) else None
    try:
        refuse_adjacency(run, geometry)
        needed = require_theorem(name, run, geometry, stochastic)
        expected = rebuild(name, run, geometry, stochastic, accuracy_of(certificate.f))
    except (KeyError, InvalidInput) as error:
        raise VerificationFailed(f"{name!r} does not apply: {error}") from error
    _require(certificate.assumptions == needed, "the hypotheses are not those of the theorem")
    if stochastic is not None and stochastic.groups:
        steps = steps_of(run, geometry)
        failure = certificate.f.failure if isinstance(certificate.f, WithFailure) else 0.0
        verify_stochastic(run, geometry, stochastic, steps.p, steps.s, failure)
    _require(certificate.f == expected, "the bound is not what its proof gives")


def _verify_shifts(certificate: Certificate, run: BatchRun) -> None:
    geometry = certificate.geometry
    proofs = [proof for proof in certificate.proofs if isinstance(proof, Proof)]
    _require(len(proofs) == len(certificate.proofs), "a proof is of another kind")
    expected = outcomes(run, geometry)
    _require(
        [case.visits for case in expected] == [proof.visits for proof in proofs]
        and all(
            math.isclose(case.weight, proof.weight, rel_tol=1e-12)
            for case, proof in zip(expected, proofs, strict=True)
        ),
        "the outcomes are not those of the run",
    )
    for proof in proofs:
        proved = verify(schedule_of(run, geometry, proof.visits), proof.shifts)
        _require(
            proof.shifts.mu <= proved * (1 + _SLACK) + _TINY,
            f"mu={proof.shifts.mu!r} is stated where the shifts prove {proved!r}: they belong to "
            "another run",
        )
    stated = [proof.shifts.mu for proof in proofs]
    if not isinstance(certificate.f, Mixture):
        mu = _mu(certificate.f)
        _require(mu >= max(stated) * (1 - ROUNDING), "mu is below what is proved")
        if certificate.bound.startswith("Theorem B"):
            alone = run.order == "fixed" or len(stated) == 1
            _require(alone and certificate.bound == "Theorem B1", "the bound is no mixture")
            _require_equal(mu, max(stated), "mu is not what is proved")
        return
    _require(
        certificate.bound == "Theorem B4" and run.order != "fixed",
        "the order of the batches is not random",
    )
    most = composition_mu(run, geometry)
    parts, weights = certificate.f.components, certificate.f.weights
    _require(len(parts) == len(stated), "there is not one component for each outcome")
    for part, mu in zip(parts, stated, strict=True):
        _require(_mu(part) >= min(mu, most), "a component states less than is proved")
        _require_equal(_mu(part), min(mu, most), "a component is not what is proved")
    _require(
        all(
            math.isclose(w, case.weight, rel_tol=1e-9)
            for w, case in zip(weights, expected, strict=True)
        ),
        "the weights are not those of the run",
    )


def _verify_closed_form(certificate: Certificate) -> None:
    for bound in evaluate(certificate.run, certificate.geometry).found:
        if bound.name == certificate.bound:
            _require(bound.f == certificate.f, "the bound is not what its formula gives")
            _require(bound.assumptions == certificate.assumptions, "the hypotheses are not its own")
            return
    raise VerificationFailed(f"{certificate.bound!r} is not a bound for this run")


def _require_hypotheses(certificate: Certificate, run: BatchRun) -> None:
    needed = descent_hypotheses(certificate.bound, run, certificate.geometry)
    _require(certificate.assumptions == needed, "the hypotheses are not those of the theorem")


def _require_equal(stated: float, proved: float, problem: str) -> None:
    _require(math.isclose(stated, proved, rel_tol=ROUNDING, abs_tol=_TINY), problem)


def _mu(f: TradeoffFunction) -> float:
    if not isinstance(f, GaussianTradeoff):
        raise VerificationFailed(f"{f} is not Gaussian, as the bound says")
    return f.mu


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerificationFailed(problem)
