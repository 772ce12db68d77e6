"""Whether a claimed law is at least what the steps prove of mu(V). [Theorem C8]

A law is enough if each of its tails is: that is the stochastic order. Where values are in the scale
of the noise it is enough, too, that integrals of the difference of the tails, weighted by the
Gaussian density, are nowhere negative, from each place on upwards and from 0 up to each place. Both
differences are constant between the values of the two laws, so that it is enough to look there.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from shiftdp._checks import Array
from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.participation.law import ParticipationLaw

_WHOLE = 1e-12  # by which the weights of a claim may miss 1: a sum of floats
_MOST_VALUES = 1000  # of a claimed law: 400 are stated now, and were so many before Theorem C8
_FARTHEST = 30.0  # a value beyond which tails are compared one by one: the density vanishes
_ROUNDINGS = 1e-9  # of an integral: a sum of terms >= 0, each a difference of two rates ...
_RATES = 1e-12  # ... which are off by less than this part of themselves
_FALLEN = 1.0 - 1e-6  # a tail that is larger is not told from 1: honest claims have 1 there


def claimed_tail(law: ParticipationLaw) -> tuple[Array, Array]:
    """The values of a claim, and the weight of each and those above it, 0 being the last one."""
    mu, weight = np.array(law.mu), np.array(law.weight)
    if len(mu) > _MOST_VALUES:
        raise VerificationFailed(f"the law has {len(mu)} values, more than {_MOST_VALUES}")
    sound = 0 < len(mu) == len(weight) and bool(np.all(np.diff(mu) > 0.0))
    sound = sound and bool(np.all(weight >= 0.0)) and float(mu[0]) >= 0.0
    if not sound or abs(math.fsum(weight) - 1.0) > _WHOLE:
        raise VerificationFailed("the law is none: values have to rise, and weights to add up to 1")
    tail = np.append(np.cumsum(weight[::-1])[::-1], 0.0)
    tail[0] = 1.0  # the first weight counts as what the others leave
    return mu, tail


def require_dominated(at: Array, proved: Array, law: ParticipationLaw, scale: float | None) -> None:
    """Raise `VerificationFailed` unless the law is at least what is proved.

    Args:
        at: values of mu, rising from 0.
        proved: upper bounds on the probabilities of that much or more; more than the last is 0.
        law: what is claimed.
        scale: what values are to be multiplied by to be in units of the noise; None if only the
            stochastic order will do.
    """
    mu, claimed = claimed_tail(law)
    at = at * (1.0 - _WHOLE)
    # P(mu >= at[n]) <= proved[n] has to be at most the claimed weight of values >= at[n]
    place = np.searchsorted(mu, at, side="left")
    if scale is None or bool(np.all(proved[1:] <= claimed[place[1:]])):
        require_enough(at[1:], proved[1:], claimed[place[1:]])
        return
    edges = np.unique(np.concatenate([at, mu]))
    # P(mu > m) for m from each edge to the next: that of the next value or more
    ours = np.append(proved, 0.0)[np.searchsorted(at, edges, side="right")]
    theirs = claimed[np.searchsorted(mu, edges, side="right")]
    _require_integrals(edges * scale, ours, theirs)


def require_enough(at: Array, proved: Array, claimed: Array) -> None:
    """Raise `VerificationFailed` unless each tail that is proved is at most the claimed one."""
    short = np.flatnonzero(~(proved <= claimed))  # what is no number proves nothing
    if short.size:
        _refuse(*(float(part[short[0]]) for part in (at, claimed, proved)))


def _require_integrals(edges: Array, proved: Array, claimed: Array) -> None:
    """Raise `VerificationFailed` unless both kinds of integrals are nowhere negative.

    Args:
        edges: values, rising.
        proved: P(mu > m) for m from each edge to the next, at most.
        claimed: the same of the claim.
    """
    short = np.flatnonzero(~(proved <= claimed))
    first, last = int(short[0]), int(short[-1])
    if not np.all(np.isfinite(proved)) or edges[last + 1] > _FARTHEST:
        _refuse(float(edges[last]), float(claimed[last]), float(proved[last]))
    beyond = scipy.special.ndtr(-edges)
    width = np.append(beyond[:-1] - beyond[1:], beyond[-1])
    # where the claim is the larger one, up to `first` and after `last`, integrals only grow
    some = slice(first, last + 1)
    error = _RATES * beyond[some] * proved[some]
    ours, theirs = (np.cumsum((part * width)[::-1])[::-1] for part in (proved, claimed))
    enough = ours[some] * (1.0 + _ROUNDINGS) + error <= theirs[some]
    fallen = int(np.argmax(proved < _FALLEN))
    if fallen > first:
        _refuse(float(edges[first]), float(claimed[first]), float(proved[first]))
    gained = np.cumsum(((claimed - proved) * width)[fallen:])
    enough &= gained[np.arange(first, last + 1) - fallen] >= _RATES * beyond[fallen]
    if not enough.all():
        n = first + int(np.argmin(enough))
        _refuse(float(edges[n]), float(claimed[n]), float(proved[n]))


def _refuse(at: float, claimed: float, proved: float) -> None:
    raise VerificationFailed(
        f"the law gives a mu of {at:.6g} or more a probability of {claimed:.6g}, "
        f"while the steps only prove {proved:.6g}"
    )
