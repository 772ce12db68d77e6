"""Runs of random batches: equal steps, whose noise composition asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import NoisySGD
from shiftdp.training.planning.clips import Clip
from shiftdp.training.planning.setting import MOST_STEPS, Listed, Setting, sampled_variance, sizes
from shiftdp.training.planning.utility import Segments

__all__ = ["random_batches"]

_BATCHES = (4, 16, 64)  # an epoch
_LONG = 4_000  # steps, unless the epochs are given
_LEAST = 0.3  # noise over sensitivity; below, the central limit theorem says nothing


def random_batches(setting: Setting, clip: Clip) -> Iterator[Listed | None]:
    """Some batch sizes; noise by the central limit theorem until it is calibrated. None stands for
    runs that are too long."""
    n = setting.problem.n
    sampling = setting.chosen.sampling or "poisson"
    if sampling == "without_replacement" and setting.problem.adjacency == "zero_out":
        raise InvalidInput(
            "sampling", sampling, "has no theorem for adjacency='zero_out'", 'give "poisson"'
        )
    for size in sizes(setting, _BATCHES):
        steps = max(1, round(min(setting.at_most(_LONG * size / n) * n / size, 2.0 * MOST_STEPS)))
        p = min(1.0, size / n)
        # mu^2 = p^2 t (exp(1/z^2) - 1), z the noise over the sensitivity
        z = 1.0 / math.sqrt(math.log1p((setting.mu / p) ** 2 / steps))
        noise = setting.noise(max(z, _LEAST) * clip.sensitivity / size)
        if noise is not None:
            yield None if steps > MOST_STEPS else _equal(setting, clip, size, steps, noise)


def _equal(setting: Setting, clip: Clip, size: int, steps: int, noise: float) -> Listed:
    n = setting.problem.n
    rates = setting.equal_rates(clip, steps)[:, None]
    l2 = np.full(len(rates), setting.chosen.l2 or 0.0)
    drawn = np.full(len(rates), sampled_variance(size, min(1.0, size / n)))
    return Listed(
        Segments(rates, steps, np.full_like(rates, noise), 0.0 * rates, l2, drawn),
        steps * size / n,
        lambda k: NoisySGD(
            n=n,
            batch_size=size,
            steps=steps,
            learning_rate=float(rates[k, 0]),
            noise=noise,
            sampling=setting.chosen.sampling or "poisson",
        ),
    )
