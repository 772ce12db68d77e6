"""Two runs with the same noise: no statistics, but the inequality that a certificate rests on.

Give two runs on neighbouring data sets the same noise and the same batches. If steps are
c_k-Lipschitz and the record moves the mean gradient of step k by at most L/b_k, their distance
obeys

    z_k <= c_k z_{k-1} + rate_k L / b_k   (if the record may be in the batch of step k),   z_0 = 0,

and never exceeds the diameter. That holds for *every* data set, rounding included, as the certified
sensitivity has room for it [Theorem F1]. A trainer whose two runs end further apart breaks a
hypothesis of its certificate: its sums lose digits that one record decides, a record changes how
others are read, gradients are longer than they are said to be. An attack that is not aimed at the
flaw would hardly see it through the noise. The data here are aimed at sums in single precision: the
first record decides on which side of a power of two a sum stays, and so how thousands of ties after
it are rounded.

What is tested is the hypothesis and not the privacy: a lower bound on epsilon does not follow.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shiftdp._errors import InvalidInput
from shiftdp._rounding import GENEROUS
from shiftdp.last_iterate.certificate import Certificate
from shiftdp.last_iterate.geometry import Geometry
from shiftdp.last_iterate.runs import has_releases, people
from shiftdp.trials.attack import as_outputs
from shiftdp.trials.canaries import FAR, Neighbours, Records
from shiftdp.trials.report import Finding
from shiftdp.trials.trainers import cloned, reseeded

SEEDS = (1, 2, 3)
"""Of the noise that two runs share."""

_DIGITS = 24  # of single precision
_EITHER = 0.9  # of the bound: the first record's feature, of either sign
_GRID = 8  # digits by which the grid of our releases is finer than the noise of the last step


def shared_noise_findings(train: Any, guarantee: Any, attacked: list[Neighbours]) -> list[Finding]:
    """How far apart two runs with the same noise end, pair by pair."""
    if not isinstance(guarantee, Certificate):
        raise InvalidInput(
            "certificate",
            f"<{type(guarantee).__name__}>",
            "does not say how far apart two runs may be",
            "give the certificate of a run, or another method",
        )
    seeded = _seeded(train)
    allowed = allowed_distance(guarantee.run, guarantee.geometry)
    found = []
    for pair in attacked:
        far, size = 0.0, 1
        for seed in SEEDS:
            one, other = (
                as_outputs("train", [seeded(data, seed)])[0] for data in (pair.one, pair.other)
            )
            far, size = max(far, float(np.linalg.norm(one - other))), one.size
        most = allowed * (1.0 + GENEROUS) + _rounded(guarantee, size)
        found.append(
            Finding(pair.name, 0.0, 0.0, far > most, f"{far:.4g} apart, {most:.4g} allowed")
        )
    return found


def _seeded(train: Any) -> Callable[[tuple[Any, ...], int], Any]:
    """The trainer as a function of data and a seed."""
    from shiftdp.training.descent.loop import descend
    from shiftdp.training.plan import Plan

    if isinstance(train, Plan):
        return lambda data, seed: descend(reseeded(train, seed), *data)
    if hasattr(train, "fit"):

        def fitted(data: tuple[Any, ...], seed: int) -> Any:
            model = cloned(train).set_params(random_state=seed).fit(*data)
            return model.coef_, model.intercept_

        return fitted

    named = inspect.signature(train).parameters.values()
    if not any(each.name == "seed" or each.kind is each.VAR_KEYWORD for each in named):
        raise InvalidInput(
            "train",
            getattr(train, "__name__", type(train).__name__),
            "does not take a seed, without which two runs do not share their noise",
            "give a function train(X, y, seed=...)",
        )
    return lambda data, seed: train(*data, seed=seed)


def _rounded(certificate: Certificate, size: int) -> float:
    """How far two of our releases may be moved apart by the grid that they are rounded to."""
    if certificate.training is None:
        return 0.0
    run: Any = certificate.run
    eta, sigma = (x if isinstance(x, float) else x[-1] for x in (run.learning_rate, run.noise))
    return float(2.0 ** (math.floor(math.log2(eta * sigma)) - _GRID) * math.sqrt(size))


def allowed_distance(run: Any, geometry: Geometry) -> float:
    """The distance z_t of the recursion above, for a record in the worst place.

    It is in one batch of each epoch. Which is the worst depends on the rates: of equal ones that
    contract it is the last. In a random order it may be another in each epoch.

    >>> from shiftdp.last_iterate.runs import NoisyGD
    >>> run = NoisyGD(n=10, steps=3, learning_rate=0.5, noise=1.0)
    >>> allowed_distance(run, Geometry(strong_convexity=1.0, smoothness=1.0, sensitivity=2.0))
    0.175
    """
    if not run.trainable or has_releases(run) or people(run) > 1:
        raise InvalidInput(
            "certificate",
            f"<{type(run).__name__}>",
            "is about a run whose distance is not known here",
            "give that of NoisyGD, NoisyCGD or NoisySGD with one release and one record a person",
        )
    rates = np.broadcast_to(np.asarray(run.learning_rate, dtype=np.float64), int(run.steps))
    contraction = {float(rate): geometry.contraction(float(rate)) for rate in np.unique(rates)}
    if not all(map(math.isfinite, contraction.values())):
        raise InvalidInput(
            "certificate",
            "<composition>",
            "assumes nothing of how steps contract, so that no distance is too large",
            "give one whose losses are smooth (of an estimator with centre=False and bounds other "
            "than composition), or another method",
        )
    if run.sampled:
        return _farthest(rates, contraction, geometry, np.array([run.batch_size]), False)
    divisors = np.array([run.divisor_of(j) for j in range(1, run.batches + 1)])
    return _farthest(rates, contraction, geometry, divisors, run.order == "reshuffled")


def _farthest(
    rates: NDArray[np.float64],
    contraction: dict[float, float],
    geometry: Geometry,
    divisors: NDArray[np.int_],
    reshuffled: bool,
) -> float:
    """The largest distance over all places of the record, which is anew anywhere in each epoch of
    a run that is `reshuffled`; `divisors` are those of the batches of an epoch."""
    batches = divisors.size
    places = np.arange(batches)
    if len(contraction) == 1 and max(contraction.values()) <= 1.0:
        # later ones are worse: the last of an epoch, and the last of one that is not finished
        places = np.unique([(rates.size - 1) % batches, batches - 1])
    moved = geometry.sensitivity / divisors[places]
    z = np.zeros(places.size)
    for k, rate in enumerate(rates.tolist()):
        z *= contraction[rate]
        z += np.where(places == k % batches, rate * moved, 0.0)
        np.minimum(z, geometry.diameter, out=z)
        if reshuffled and k % batches == batches - 1:
            z[:] = z.max()
    return float(z.max())


def hard_sums(records: Records) -> Neighbours:
    """Data on which sums in single precision drift, whichever way the first record points.

    The first half adds up to n/8, next to which the others are ties of rounding: of four, 3, -1, -1
    and -1 in units of half the distance between two numbers above n/8. There the first is rounded
    up and the others are lost; below n/8 all are exact, and their sum is 0.
    """
    n, R = records.n, records.feature_bound
    far = records.targets == "numbers"
    X = np.zeros((n, records.features))
    down, up = (FAR, -FAR) if far else (records.labels[1], records.labels[0])
    y = np.full(n, up, dtype=np.float64 if far else None)
    length = 1.0 if far else 2.0  # residuals of labels are halves where training begins
    X[: n // 2, 0] = R * length / 4.0
    unit = R * length * (n / 8.0) * 2.0**-_DIGITS
    X[n // 2 :, 0], y[n // 2 :] = unit, down
    X[n // 2 :: 4, 0], y[n // 2 :: 4] = 3.0 * unit, up
    one, other = X.copy(), X.copy()
    one[0, 0], other[0, 0] = _EITHER * R, -_EITHER * R
    return Neighbours("ties of single precision", (one, y), (other, y))
