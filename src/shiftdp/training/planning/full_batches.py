"""Runs of full batches: steps whose rates fall to 0, each with its own share of the noise."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import NoisyGD
from shiftdp.training.planning.clips import Clip
from shiftdp.training.planning.setting import MOST_STEPS, Listed, Setting
from shiftdp.training.planning.utility import Segments

__all__ = ["full_batches"]

_EPOCHS = (100, 50, 25)  # fewer than there may be, where more take their time


def full_batches(setting: Setting, clip: Clip) -> Iterator[Listed | None]:
    """As many steps as there may be, and fewer. None stands for runs that are too long."""
    n, given = setting.problem.n, setting.chosen.batch_size
    if given not in (None, n):
        raise InvalidInput("batch_size", given, "is no full batch", 'give algorithm="cgd" or "sgd"')
    most = max(1, round(setting.epochs))
    fewer = () if setting.chosen.epochs is not None else _EPOCHS
    for steps in (most, *(t for t in fewer if t < most and not setting.is_quick(2 * t))):
        if steps > MOST_STEPS:
            yield None
            continue
        found = _falling(setting, clip, steps) or _equal(setting, clip, steps)
        if found is not None:
            yield found


def _falling(setting: Setting, clip: Clip, steps: int) -> Listed | None:
    """Rates that fall, and the noise that leaves least for the same cost.

    The noises sigma_k leave the sum of w_k sigma_k^2 at the end and cost that of
    (sensitivity/(n sigma_k))^2 = mu^2: sigma_k^2 is best in proportion to w_k^(-1/2). So late
    steps, whose noise is not forgotten, can be short at no cost.
    """
    n = setting.problem.n
    rates = setting.falling_rates(clip, steps)
    if rates is None or setting.chosen.noise is not None:
        return None
    l2 = np.full(len(rates), setting.chosen.l2 or 0.0)
    weights = np.sqrt(clip.reference.weights_of_noise(rates, l2))
    noise = clip.sensitivity / (n * setting.mu) * np.sqrt(weights.sum(axis=1)[:, None] / weights)
    return Listed(
        Segments(rates, 1, noise, 0.0 * rates, l2, 0.0 * l2),
        steps,
        lambda k: NoisyGD(
            n=n, steps=steps, learning_rate=rates[k].tolist(), noise=noise[k].tolist()
        ),
    )


def _equal(setting: Setting, clip: Clip, steps: int) -> Listed | None:
    """One rate and one noise for all steps."""
    n = setting.problem.n
    noise = setting.noise(math.sqrt(steps) * clip.sensitivity / (n * setting.mu))
    if noise is None:
        return None
    rates = setting.equal_rates(clip, steps)[:, None]
    l2 = np.full(len(rates), setting.chosen.l2 or 0.0)
    return Listed(
        Segments(rates, steps, np.full_like(rates, noise), 0.0 * rates, l2, 0.0 * l2),
        steps,
        lambda k: NoisyGD(n=n, steps=steps, learning_rate=float(rates[k, 0]), noise=noise),
    )
