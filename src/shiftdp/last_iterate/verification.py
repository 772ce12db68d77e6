"""Check a certificate from what it carries, without the solver that made it.

Whatever the certificate says, the check ends, in time that grows with its length and not with the
numbers in it, and in one of two ways: every number that it states is proved, or
`VerificationFailed`. There is no tolerance on the unsafe side: a number may be larger than what is
proved (by a part of 1e-6 at most, else it is the certificate of another run), never smaller.
"""

from __future__ import annotations

from collections.abc import Iterable

from shiftdp._errors import InvalidInput, VerificationFailed
from shiftdp.last_iterate import assumptions as given
from shiftdp.last_iterate.assumptions import LOOP_ASSUMPTIONS
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.endless import stand_in
from shiftdp.last_iterate.runs import Run
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.own import own_theorems
from shiftdp.last_iterate.theorems.registry import family_of, theorem_of
from shiftdp.last_iterate.theorems.theorem import Claim, Theorem
from shiftdp.last_iterate.training_record import verify_training


def verify_certificate(certificate: Certificate, theorems: Iterable[Theorem] = ()) -> None:
    """Raise `VerificationFailed` unless the certificate proves every number that it states.

    The theorem that it names checks the proof; the hypotheses must be those of that theorem.
    """
    own = own_theorems(theorems)
    try:
        _verify(certificate, own)
    except VerificationFailed:
        raise
    except Exception as error:
        # whatever breaks the check off, nothing has been proved
        problem = str(error) if isinstance(error, InvalidInput) else type(error).__name__
        raise VerificationFailed(f"the check cannot be made: {problem}") from error


def _verify(certificate: Certificate, own: tuple[Theorem, ...]) -> None:
    geometry, proofs, stated = certificate.geometry, certificate.proofs, certificate.assumptions
    if given.seeded_noise() in stated:
        raise VerificationFailed(
            "NOT PRIVATE: the noise came from a seed, so whoever knows it can undo it; train again "
            "without a seed (random_state=None)"
        )
    theorem = theorem_of(certificate.bound, own)
    if certificate.training is not None:
        record = certificate.training
        verify_training(record, certificate.run, geometry, contracts=theorem.contracts)
    run, endless = certificate.run, certificate.run.endless
    require(theorem.applies_to(run), f"{theorem.name} is not about such a run")
    given.refuse_released_prox(run, geometry)
    shown: Run = stand_in(run, geometry) if endless else run
    if endless:
        theorem.require_forgotten(shown, geometry, proofs)
    theorem.check(Claim(shown, geometry, certificate.f, proofs, endless))
    needed = theorem.hypotheses(shown, geometry, proofs)
    if family_of(theorem.name) == "user":
        needed += (given.trusted_theorem(theorem.name, theorem.citation),)
    if certificate.training is not None and certificate.training.centred:
        needed = given.of_centred_rows(needed)
    # what is assumed of a loop that is not ours only weakens the promise
    about_loop = LOOP_ASSUMPTIONS.values()
    kept = tuple(item for item in stated if item not in about_loop)
    require(kept == needed, "the hypotheses are not those of the theorem")
