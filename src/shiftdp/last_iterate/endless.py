"""Runs without an end: one bound for every number of epochs, `steps=math.inf`.

Let a run of N steps be proved mu_N-GDP by shifts, all steps being c-Lipschitz with noise sd, and
let z bound the distance of the coupled runs at any time: the diameter, or s/(1-c) if c < 1. Then
every longer run whose last N steps look the same is mu-GDP with

    mu <= mu_N + c^N z / sd.

*Proof.* Start the shifts N steps before the end, at distance z. In the variables of Theorem B1 the
obstacle rises by J = c^N z throughout, so the old path plus J V_k/V_N stays below it. Its energy is
mu_N^2 + 2 J O_N/V_N + J^2/V_N, and O_N <= mu_N sqrt(V_N) by Cauchy and Schwarz; V_N >= sd^2.
The same holds for shifts that begin at some tau from the distance that is possible there: it is
larger by c^tau z at most, which again is J at the end. ∎

A shorter run in whole epochs is the longer one without its first visits, which never has a larger
mu. So it is enough to certify one run that is long enough, the *stand-in*, by a proof of one of
three kinds:

- c^N z / sd is far below the last digit of mu;
- it starts from the diameter, whatever the step: it asks nothing of the steps before;
- it proves mu = 0: of a record that is never used, or whose last use a step with c = 0 forgets.

Any other proof holds for the stand-in alone. One that starts at tau > 0 from the distance that tau
steps can lead to is such a one: before the same step of a longer run there are more.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from shiftdp._errors import UnmetHypothesis
from shiftdp._rounding import LARGEST_WHOLE
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import NoisySGD, Unlearning
from shiftdp.last_iterate.theorems.sampled.shifts import steps_of

if TYPE_CHECKING:
    from shiftdp.interpolation.shifts import Shifts
    from shiftdp.last_iterate.schedules.visits import BatchRun

_LONGEST = LARGEST_WHOLE  # steps of the finite run that stands in for one without end
# c^N z / sd against mu_N, as a logarithm: the stand-in is made for the first, which leaves room for
# rounding; half of it (2e-22) is what is asked for, far below the last digit of mu.
_FORGOTTEN = 100.0


def stand_in(run: Any, geometry: Geometry) -> Any:
    """A run in whole epochs that is as good as endless, if there is one.

    >>> from shiftdp.last_iterate import NoisyGD
    >>> run = NoisyGD(n=10, steps=math.inf, learning_rate=0.1, noise=1.0)
    >>> stand_in(run, Geometry(strong_convexity=1, smoothness=5, sensitivity=1)).steps
    972
    """
    given = dict(vars(run))
    if run.deletes:
        return Unlearning(**{**given, "training": stand_in(run.training, geometry)})
    if run.sampled:
        whole = run.batches if run.in_epochs else 1
        given["steps"] = _LONGEST // whole * whole
        if run.has_random_sizes and not geometry.bounded and run.batch_cap is None:
            given["batch_cap"] = run.n  # any smaller cap is passed some day
        finite = NoisySGD(**given)
        c = steps_of(finite, geometry, finite.batch_cap).c
        if not geometry.bounded and not faded(c, _LONGEST):
            raise never_forgotten(run, geometry, c)
        return finite
    batches = run.batches
    c = geometry.contraction(run.learning_rate)
    longest = _LONGEST // batches * batches
    enough: float = longest
    if c < 1.0:
        # mu_N is at least what the last visit leaves, s c^l / (sd sqrt(l))
        log_c = math.log(c) if c else -math.inf
        need = _FORGOTTEN - math.log(1.0 - c) + 0.5 * math.log(batches)
        enough = batches + need / -log_c
    if enough > longest or (c >= 1.0 and not geometry.bounded):
        if not geometry.bounded:
            raise never_forgotten(run, geometry, c)
        enough = longest
    given["steps"] = -(-math.ceil(enough) // batches) * batches
    return type(run)(**given)


def holds_for_longer(run: BatchRun, geometry: Geometry, shifts: Shifts) -> bool:
    """Whether these shifts for the stand-in (`run`) prove their mu for every longer run as well."""
    if shifts.mu == 0.0 or shifts.start >= geometry.diameter:
        return True
    eta, noise = float(run.learning_rate), float(run.noise)  # type: ignore[arg-type]
    c = geometry.contraction(eta)
    if c == 0.0 or not c < 1.0:
        return c == 0.0
    # z in units of the learning rate; the last batch, if any, is the smaller one
    coupled = geometry.sensitivity / run.divisor_of(run.batches) / (1.0 - c)
    far = min(geometry.diameter / eta, coupled)
    left = run.steps * math.log(c) + math.log(far / noise)
    return bool(left <= math.log(shifts.mu) - _FORGOTTEN / 2.0)


def faded(c: float, steps: float) -> bool:
    """Whether what c-Lipschitz steps leave of a distance is far below the last digit of mu."""
    return c < 1.0 and (c == 0.0 or steps * math.log(c) <= -_FORGOTTEN / 2.0)


def never_forgotten(run: Any, geometry: Geometry, c: float | None = None) -> UnmetHypothesis:
    """The refusal of an endless run whose first steps are never forgotten; c is its contraction."""
    if c is None:
        c = geometry.contraction(run.learning_rate)
    body = "a smaller bounded set" if geometry.bounded else "a bounded set"
    return UnmetHypothesis(
        "steps",
        math.inf,
        f"has no finite bound here: with contraction {c:.17g} and no use of a diameter, the steps "
        "of long ago are never forgotten",
        f"give a number of steps, or a ridge, or {body}",
    )
