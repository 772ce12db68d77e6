"""Whether a certificate is the certificate of a plan."""

from __future__ import annotations

from dataclasses import replace

from shiftdp._errors import ShiftdpError
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.assumptions import seeded_noise
from shiftdp.training.model_file.damage import Damaged
from shiftdp.training.plan import Plan

__all__ = ["require_match"]


def require_match(plan: Plan, certificate: Certificate, *, same_version: bool) -> None:
    """Refuse a certificate that is not the plan's: that of another model, or an altered one.

    The run and the geometry are compared first. Then the certificate is derived from the plan and
    must be the one in the file, but for the date. Another version of shiftdp may prove another
    number for the same plan: a certificate that it wrote must have a proof that holds.

    Args:
        plan: of the model.
        certificate: beside it in the file.
        same_version: whether this version of shiftdp wrote them.
    """
    if certificate.run != plan.run or certificate.geometry != plan.geometry:
        raise Damaged("has the certificate of another run than its model's")
    stamped = seeded_noise() in certificate.assumptions
    if stamped is plan.entropy.private:
        raise Damaged("has a certificate that does not say whether the run is private")
    if same_version:
        if not certificate.same_guarantee(plan.certificate):
            raise Damaged("has a certificate that is not the one of its plan")
        return
    # what the same run would prove with the entropy of the operating system
    others = tuple(item for item in certificate.assumptions if item != seeded_noise())
    training = certificate.training and replace(certificate.training, private=True)
    try:
        replace(certificate, assumptions=others, training=training).verify()
    except ShiftdpError as error:
        raise Damaged("has a certificate that does not hold for its plan") from error
