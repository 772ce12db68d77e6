"""Early stopping by records that are paid for: the best checkpoint of a model, by noisy scores."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftdp._checks import delta_in, finite
from shiftdp._rounding import AMPLE
from shiftdp.fdp import GaussianTradeoff
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.privacy.noisy_sums import NoisySum, noise_for
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.training.descent.entropy import Stream
from shiftdp.training.estimators.base import entropy_of
from shiftdp.training.losses.base import Floats
from shiftdp.training.selection.gains import (
    Targets,
    class_gains,
    noisy_mean,
    range_of,
    relative_errors,
)
from shiftdp.training.selection.report import account_of, rows_of


def pick_privately(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    delta: float,
    targets: tuple[float, float] | None,
    adjacency: Adjacency | None,
    ledger: Any,
    random_state: Any,
) -> ScoreCertificate:
    """Turn a model into that of its checkpoints with the best noisy score, for one charge.

    Each checkpoint is measured by one sum of gains with Gaussian noise (Theorem S4): the share of
    labels that it predicts, or 1 less the mean absolute error as a part of the range of y. The
    choice is made of these numbers alone, so that they are all that it costs.

    Args:
        model: fitted, with `releases_`.
        X: records that the model was not trained on; one that it was pays for both.
        y: their labels or numbers.
        epsilon: what the choice may cost these records, at `delta`.
        delta: likewise.
        targets: of a regressor, the range that y is clipped to, which is public.
        adjacency: which data sets are neighbours; as for the model unless told.
        ledger: that of these records, charged once before anything is measured.
        random_state: None draws from the operating system; else it is NOT private.
    """
    epsilon, delta = finite("epsilon", epsilon, 0.0, open_low=True), delta_in(delta)
    n, number = rows_of(X, y), len(model.releases_)
    known = adjacency or model.plan_.plan.adjacency
    entropy = entropy_of(random_state)
    mu = GaussianTradeoff.from_budget(epsilon, delta).mu * (1.0 - AMPLE) / math.sqrt(number)
    sums = tuple(
        NoisySum(kind="gains", column=f"step {one.step}", noise=noise_for("gains", n, known, mu))
        for one in model.releases_
    )
    certificate = ScoreCertificate(n=n, adjacency=known, sums=sums, private=entropy.private)
    clipped = range_of(model, targets)
    gains = [_gains(model, place, X, y, clipped) for place in range(number)]
    account = account_of(ledger, entropy.private)
    entry = None if account is None else account.reserve(certificate, label="pick_privately")
    scores = _noisy(gains, sums, entropy.open("noise"))
    model._become(int(np.argmax(scores)))
    if account is not None and entry is not None:
        account.complete(entry)
    return certificate


def _gains(model: Any, place: int, X: Any, y: Any, targets: Targets | None) -> Floats:
    """What the records gain by one of the checkpoints; the model is that one afterwards."""
    model._become(place)
    if targets is None:
        return class_gains(model, X, y, "accuracy")
    errors, _ = relative_errors(model, X, y, targets)
    return 1.0 - errors


def _noisy(gains: list[Floats], sums: tuple[NoisySum, ...], stream: Stream) -> list[float]:
    pairs = zip(gains, sums, strict=True)
    return [noisy_mean([one], paid.noise, stream)[0] for one, paid in pairs]
