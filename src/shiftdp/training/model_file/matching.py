"""Whether a certificate is the certificate of a plan."""

from __future__ import annotations

from dataclasses import replace

from shiftdp._errors import ShiftdpError
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.training.descent.entropy import System
from shiftdp.training.model_file.damage import Damaged
from shiftdp.training.plan import Plan

__all__ = ["require_match"]


def require_match(plan: Plan, certificate: Certificate) -> None:
    """Refuse a certificate that is not of the plan's run, or that does not prove what it states.

    Nothing is derived anew, as the work of that is not bounded: a plan can be made whose bound
    takes gigabytes to find. What the certificate says of run, losses and training is compared with
    the plan, and then its proof is checked, which takes time in proportion to its length. A
    certificate of a looser bound than the best is accepted: what it states is proved.

    Args:
        plan: of the model.
        certificate: beside it in the file.
    """
    if certificate.run != plan.run or certificate.geometry != plan.geometry:
        raise Damaged("has the certificate of another run than its model's")
    stamped = seeded_noise() in certificate.assumptions
    if stamped is plan.entropy.private:
        raise Damaged("has a certificate that does not say whether the run is private")
    training = certificate.training
    if training is None or training.unsigned() != plan.training_record().unsigned():
        raise Damaged("has a certificate of another training than its model's")
    if plan.clipping == "uncertified" and plan.plainly_clipped:
        raise Damaged("has a plan that no certificate covers")
    # what the same run would prove with the entropy of the operating system
    others = tuple(item for item in certificate.assumptions if item != seeded_noise())
    if stamped:
        training = replace(training, noise_source=System.__name__, private=True)
    unstamped = replace(certificate, assumptions=others, training=training)
    try:
        unstamped.verify()
    except ShiftdpError as error:
        raise Damaged("has a certificate that does not hold for its plan") from error
