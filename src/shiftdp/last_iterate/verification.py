"""Check a certificate from what it carries, without the solver that made it.

Whatever the certificate says, the check ends, in time that grows with its length and not with the
numbers in it, and in one of two ways: every number that it states is proved, or
`VerificationFailed`. There is no tolerance on the unsafe side: a number may be larger than what is
proved (by a part of 1e-6 at most, else it is the certificate of another run), never smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import cast

from shiftdp._errors import InvalidInput, UnmetHypothesis, VerificationFailed
from shiftdp.fdp import (
    ApproxDPTradeoff,
    GaussianTradeoff,
    Maximum,
    Mixture,
    TradeoffFunction,
    WithFailure,
)
from shiftdp.interpolation.verification import verify
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import LOOP_ASSUMPTIONS, Assumption
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.endless import is_endless, require_forgotten, stand_in
from shiftdp.last_iterate.outcomes import BatchRun, each_outcome, schedule_of
from shiftdp.last_iterate.runs import (
    ExponentialMechanism,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    Run,
)
from shiftdp.last_iterate.theorems.bound import Bound, Proof
from shiftdp.last_iterate.theorems.descent import (
    composition_mu,
    composition_name,
    descent_hypotheses,
    full_batch,
    rules_for,
)
from shiftdp.last_iterate.theorems.sampled_checks import (
    verify_constants,
    verify_gap,
    verify_groups,
)
from shiftdp.last_iterate.theorems.sampled_hypotheses import refuse_adjacency, require_theorem
from shiftdp.last_iterate.theorems.sampled_laws import accuracy_of, gap_proj, gap_sc, rebuild
from shiftdp.last_iterate.theorems.sampled_shifts import StochasticProof, steps_of
from shiftdp.last_iterate.theorems.theorem import theorem_of
from shiftdp.last_iterate.training_record import verify_training

__all__ = ["verify_certificate"]

# How much a stated number may exceed what is proved: a certificate of a noisier run is no lie about
# privacy, but it is not the certificate of this run.
_SLACK = 1e-6
# The same for formulas, which are evaluated again.
_SAME = 1e-9
_TINY = 1e-100


def verify_certificate(certificate: Certificate) -> None:
    """Raise `VerificationFailed` unless the certificate proves every number that it states.

    Bounds by shifts: the outcomes are listed anew from the run, the shifts are checked for each,
    and the tradeoff function must be what that proves. Formulas (composition, the exponential
    mechanism) are evaluated again, and so are those of the paper.
    """
    try:
        _verify(certificate)
    except VerificationFailed:
        raise
    except Exception as error:
        # whatever breaks the check off, nothing has been proved
        problem = str(error) if isinstance(error, InvalidInput) else type(error).__name__
        raise VerificationFailed(f"the check cannot be made: {problem}") from error


def _verify(certificate: Certificate, *, endless: bool = False) -> None:
    if given.seeded_noise() in certificate.assumptions:
        raise VerificationFailed(
            "NOT PRIVATE: the noise came from a seed, so whoever knows it can undo it; train again "
            "without a seed (random_state=None)"
        )
    theorem = theorem_of(certificate.bound)
    if certificate.training is not None:
        record, geometry = certificate.training, certificate.geometry
        verify_training(record, certificate.run, geometry, contracts=theorem.contracts)
    if is_endless(certificate.run):
        finite = replace(certificate, run=stand_in(certificate.run, certificate.geometry))
        _require_forgotten(finite)
        _verify(finite, endless=True)
        return
    if isinstance(certificate.run, NoisySGD) and certificate.bound != "Theorem B1":
        _verify_random_batches(certificate, certificate.run, endless)
        return
    run = _descent(certificate)
    endless = endless or getattr(certificate.run, "steps", 0) == math.inf  # Langevin
    if run is not None and certificate.bound == composition_name(run):
        _require(not certificate.proofs, "composition needs no proof")
        mu, proved = _mu(certificate.f), composition_mu(run, certificate.geometry)
        _require(mu >= proved, f"mu={mu!r} is stated where composition gives {proved!r}")
        _require(mu <= proved * (1 + _SAME) + _TINY, "mu is not that of composition")
        _require_hypotheses(certificate, run)
    elif run is not None and certificate.proofs:
        _require(theorem.by == "shifts", f"{theorem.name} is not proved by shifts")
        _verify_shifts(certificate, run, endless)
        _require_hypotheses(certificate, run)
        if certificate.bound not in ("Theorem B1", "Theorem B4"):
            _require_formula(certificate, proved=True)
    else:
        by_formula = isinstance(certificate.run, (LangevinMC, ExponentialMechanism))
        _require(by_formula and not certificate.proofs, "it carries no shifts")
        _require_formula(certificate, proved=False)


def _require_forgotten(finite: Certificate) -> None:
    """The bound on the stand-in of an endless run must hold for longer ones."""
    require_forgotten(finite.run, finite.geometry, finite.bound, finite.proofs)


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
        refuse_adjacency(run, certificate.geometry)
        return full_batch(run)
    return run if isinstance(run, (NoisyGD, NoisyCGD)) else None


def _verify_random_batches(certificate: Certificate, run: NoisySGD, endless: bool) -> None:
    """The parameters of the theorem are checked, and f must be what it gives for them."""
    geometry, proofs, name = certificate.geometry, certificate.proofs, certificate.bound
    _require(len(proofs) <= 1, "one proof is enough")
    proof = proofs[0] if proofs else None
    _require(proof is None or isinstance(proof, StochasticProof), "the proof is of another kind")
    stochastic = proof if isinstance(proof, StochasticProof) else None
    refuse_adjacency(run, geometry)
    needed = require_theorem(name, run, geometry, stochastic)
    _require(_of_theorem(certificate) == needed, "the hypotheses are not those of the theorem")
    steps = steps_of(run, geometry)
    verify_constants(run, geometry, steps.p, steps.s)
    f = certificate.f
    if stochastic is not None and stochastic.split is not None:
        projected = name == "Thm sgd-proj"
        gap = gap_proj(steps, stochastic) if projected else gap_sc(steps, stochastic)
        verify_gap(run, geometry, stochastic, gap, projected=projected)
    elif stochastic is not None:
        failure = f.failure if isinstance(f, WithFailure) else 0.0
        verify_groups(run, geometry, stochastic, failure, endless=endless)
    expected = rebuild(name, run, geometry, stochastic, accuracy_of(f))
    # the probability of a failure was checked; its last digits depend on the machine
    same = f.base if isinstance(f, WithFailure) else f
    derived = expected.base if isinstance(expected, WithFailure) else expected
    _require(same == derived, "the bound is not what its proof gives")


def _verify_shifts(certificate: Certificate, run: BatchRun, endless: bool) -> None:
    """The tradeoff function must be what the shifts prove, outcome by outcome."""
    geometry, f = certificate.geometry, certificate.f
    proofs = [proof for proof in certificate.proofs if isinstance(proof, Proof)]
    _require(len(proofs) == len(certificate.proofs), "a proof is of another kind")
    for case, proof in zip_longest(each_outcome(run, geometry), proofs):
        _require(
            case is not None
            and proof is not None
            and case.visits == proof.visits
            and case.weight == proof.weight,
            "the outcomes are not those of the run",
        )
    for proof in proofs:
        proved = verify(schedule_of(run, geometry, proof.visits), proof.shifts)
        # what a longer run adds is far below the last digit, but it is not nothing
        least = math.nextafter(proved, math.inf) if endless and proved else proved
        mu = proof.shifts.mu
        _require(
            least <= mu and (mu <= proved * (1 + _SLACK) + _TINY or mu == math.inf),
            f"mu={mu!r} is stated where the shifts prove {proved!r}: they belong to another run",
        )
    stated = [proof.shifts.mu for proof in proofs]
    if isinstance(f, Mixture):
        # composition of the stand-in is no bound on longer runs
        most = math.inf if endless else composition_mu(run, geometry)
        _require_mixture(certificate, run, f, stated, most)
        return
    mu, most = _mu(f), max(stated)
    _require(mu >= most, "mu is below what is proved")
    if certificate.bound == "Theorem B1":
        _require(run.order == "fixed" or len(stated) == 1, "the bound is no mixture")
        _require(mu == most, "mu is not what is proved")
    _require(certificate.bound != "Theorem B4", "Theorem B4 gives a mixture")


def _require_mixture(
    certificate: Certificate, run: BatchRun, f: Mixture, stated: Sequence[float], most: float
) -> None:
    """One component for each outcome, with its weight; `most` holds whatever the order."""
    _require(
        certificate.bound == "Theorem B4" and run.order != "fixed",
        "the order of the batches is not random",
    )
    _require(len(f.components) == len(stated), "there is not one component for each outcome")
    for part, mu in zip(f.components, stated, strict=True):
        _require(_mu(part) >= min(mu, most), "a component states less than is proved")
        _require(_mu(part) <= min(mu, most) * (1 + _SLACK) + _TINY, "a component states more")
    weights = [proof.weight for proof in certificate.proofs if isinstance(proof, Proof)]
    _require(list(f.weights) == weights, "the weights are not those of the run")


def _require_formula(certificate: Certificate, *, proved: bool) -> None:
    """The formula of that name gives this number; where shifts prove it, to rounding only."""
    bound = _formula(certificate)
    if proved:
        mu, formula = _mu(certificate.f), _mu(bound.f)
        most = max(proof.shifts.mu for proof in certificate.proofs if isinstance(proof, Proof))
        _require(
            formula * (1 - 1e-12) <= mu <= max(formula, most) * (1 + _SAME) + _TINY,
            "mu is not what its formula gives",
        )
    else:
        _require(_at_least(certificate.f, bound.f), "the bound is not what its formula gives")
    _require(bound.assumptions == _of_theorem(certificate), "the hypotheses are not its own")


def _formula(certificate: Certificate) -> Bound:
    """The bound of that name, evaluated anew. No rule that searches for shifts is asked."""
    run, geometry = certificate.run, certificate.geometry
    for rule in rules_for(run):
        if rule.family == "ours" and not isinstance(run, ExponentialMechanism):
            continue
        try:
            bound = rule.apply(run, geometry)
        except UnmetHypothesis:
            continue
        if bound.name == certificate.bound:
            return bound
    raise VerificationFailed(f"{certificate.bound!r} is not a bound for this run")


def _at_least(stated: TradeoffFunction, derived: TradeoffFunction) -> bool:
    """Whether the numbers of a closed form are those of another one, or a little above."""
    if isinstance(stated, GaussianTradeoff) and isinstance(derived, GaussianTradeoff):
        return _barely_above(stated.mu, derived.mu)
    if isinstance(stated, ApproxDPTradeoff) and isinstance(derived, ApproxDPTradeoff):
        above = _barely_above(stated.budget_epsilon, derived.budget_epsilon)
        return above and stated.budget_delta == derived.budget_delta
    if isinstance(stated, Maximum) and isinstance(derived, Maximum):
        pairs = list(zip(stated.components, derived.components, strict=False))
        same = len(stated.components) == len(derived.components)
        return same and all(_at_least(one, two) for one, two in pairs)
    return False


def _barely_above(stated: float, derived: float) -> bool:
    return derived <= stated <= derived * (1 + _SAME) + _TINY


def _require_hypotheses(certificate: Certificate, run: BatchRun) -> None:
    needed = descent_hypotheses(certificate.bound, run, certificate.geometry)
    _require(_of_theorem(certificate) == needed, "the hypotheses are not those of the theorem")


def _of_theorem(certificate: Certificate) -> tuple[Assumption, ...]:
    """Its hypotheses without those about a loop that is not ours, which only weaken the promise."""
    about_loop = LOOP_ASSUMPTIONS.values()
    return tuple(item for item in certificate.assumptions if item not in about_loop)


def _mu(f: TradeoffFunction) -> float:
    if not isinstance(f, GaussianTradeoff):
        raise VerificationFailed(f"{f} is not Gaussian, as the bound says")
    return f.mu


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise VerificationFailed(problem)
