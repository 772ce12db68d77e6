"""One sentence that whoever answers for the data can sign."""

from __future__ import annotations

from typing import Any

from shiftdp._printed import percent, trimmed, up
from shiftdp.last_iterate import Certificate, Unlearning
from shiftdp.last_iterate.runs import has_releases, people
from shiftdp.last_iterate.schedules.releases import number_of_releases

FALSE_ALARMS = 0.01
"""The rate of false alarms at which the sentence says what an attacker can do."""


def sentence(certificate: Certificate, delta: float, epsilon: float, caught: float) -> str:
    """The guarantee in one sentence; numbers are rounded up, so that it stays true.

    Args:
        certificate: what is stated.
        delta: where epsilon is read.
        epsilon: of the certificate, there.
        caught: the most true positives of an attacker at `FALSE_ALARMS`.

    >>> from shiftdp import ExponentialMechanism, Geometry, certify
    >>> losses = Geometry(strong_convexity=1, smoothness=float("inf"), sensitivity=1)
    >>> cert = certify(ExponentialMechanism(), losses)
    >>> print(sentence(cert, 1e-5, cert.epsilon(1e-5), cert.tpr(FALSE_ALARMS)))
    The outcome of this run is (4.3772, 1e-05)-differentially private for every record, ...
    """
    run: Any = certificate.run
    guarantee = f"({trimmed(up(epsilon))}, {delta:g})-differential"
    proved = f"(proved by {certificate.bound}, if the hypotheses below hold)"
    if run.deletes:
        return (
            f"After {run.further_steps:,} further steps without {_deleted(run)}, the model keeps "
            f"{guarantee} privacy towards one that never saw the deleted data: with false alarms "
            f"in 1% of the cases, at most {percent(caught)} of such deletions are recognised "
            f"{proved}."
        )
    released, verb = _released(run)
    k = people(run)
    who = "record" if k == 1 else f"person with up to {k} records"
    replaced = certificate.geometry.adjacency == "replace_one"
    change = "whatever stands in its place" if replaced else "whether it is used or left out"
    return (
        f"{released} {verb} {guarantee}ly private for every {who}, {change}: whoever sees "
        f"{'them' if verb == 'are' else 'it'}, and knows all other data, recognises at most "
        f"{percent(caught)} of those whose data were used, with false alarms in 1% of the cases "
        f"{proved}."
    )


def _deleted(run: Unlearning) -> str:
    k = people(run.training)
    if k > 1:
        return f"the deleted person, who had up to {k} records"
    return "the deleted record" if run.records == 1 else f"the {run.records} deleted records"


def _released(run: Any) -> tuple[str, str]:
    """What of a run is released, and the verb that goes with it."""
    if run.streams:
        return "All releases of the stream together, however long it is,", "are"
    if has_releases(run):
        return f"All {number_of_releases(run):,} released iterates of this run together", "are"
    return ("The last iterate" if hasattr(run, "steps") else "The outcome") + " of this run", "is"
