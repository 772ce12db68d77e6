"""A certificate that somebody else may have written: verified, explained, compared."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from shiftdp._errors import ShiftdpError
from shiftdp.last_iterate import Certificate
from shiftdp.privacy.comparison import Row
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.ui.explorer.answers import Certified, Curves, curves, numbers_of
from shiftdp.ui.explorer.settings import Asked
from shiftdp.ui.explorer.sweep import accountants
from shiftdp.ui.settings import certificate_in

_LARGEST = 50_000_000  # bytes of a file that is read


class Unreadable(Exception):
    """A file that is no certificate, or whose proof does not hold."""


@dataclass(frozen=True, eq=False)
class Read:
    """What a file says, after its proof was checked."""

    name: str
    whole: Certificate | PipelineCertificate
    numbers: Certified | None  # of the model; None for a pipeline that has no model
    epsilon: float  # of everything in the file
    delta: float
    curves: Curves | None
    rows: tuple[Row, ...]


def certificate_of(name: str, contents: str) -> Certificate | PipelineCertificate:
    """The certificate in a file that a browser sent, whose proof holds; `Unreadable` otherwise.

    Args:
        name: of the file, for messages.
        contents: as a browser encodes it: `data:...;base64,...`.
    """
    try:
        raw = base64.b64decode(contents.partition(",")[2], validate=True)
    except binascii.Error:
        raise Unreadable(f"{name}: could not be read; choose it again") from None
    if len(raw) > _LARGEST:
        raise Unreadable(f"{name}: is too large for a certificate; give what --save wrote")
    if raw[:2] == b"PK":
        raise Unreadable(
            f"{name}: is an archive, perhaps a model file; check that by `shiftdp verify FILE`"
        )
    try:
        found = certificate_in(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise Unreadable(f"{name}: is not text; give what --save wrote") from None
    except ShiftdpError as error:
        raise Unreadable(f"{name}: is not a certificate: {error}") from error
    try:
        found.verify()
    except ShiftdpError as error:
        raise Unreadable(f"{name}: the proof in the file does NOT hold: {error}") from error
    return found


def read(name: str, contents: str, delta: float) -> Read:
    """A file, verified, with its numbers at delta and what other accountants say of its run."""
    whole = certificate_of(name, contents)
    model = whole if isinstance(whole, Certificate) else whole.model
    epsilon = whole.epsilon(delta)
    if model is None:
        return Read(name, whole, None, epsilon, delta, None, ())
    asked = Asked(model.run, model.geometry, delta, "best")
    rows = [row for row in accountants(asked, model) if row.name != "best"]
    own = Row("this file", model.bound, model.epsilon(delta), model.mu, model.kind)
    return Read(
        name,
        whole,
        numbers_of(model, delta),
        epsilon,
        delta,
        curves(asked, model),
        (own, *rows),
    )
