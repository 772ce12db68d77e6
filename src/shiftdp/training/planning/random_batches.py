"""Runs of random batches, whose noise composition asks for: it allows any rates."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import NoisySGD
from shiftdp.training.planning.clips import Clip
from shiftdp.training.planning.setting import MOST_STEPS, Listed, Setting, sampled_variance, sizes
from shiftdp.training.planning.utility import Segments

__all__ = ["random_batches"]

_BATCHES = (4, 16, 64)  # an epoch
_LONG = 4_000  # steps, unless the epochs are given
_STAGES = 32  # of equal rates, where rates fall
_FEW = 20  # passes; where there may be more, rates fall in full batches, which share noise better
_LEAST = 0.3  # noise over sensitivity; below, the central limit theorem says nothing


def random_batches(setting: Setting, clip: Clip) -> Iterator[Listed | None]:
    """Some batch sizes, with equal rates and with rates that fall to 0; noise by the central limit
    theorem until it is calibrated. None stands for runs that are too long."""
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
        if noise is None:
            continue
        if steps > MOST_STEPS:
            yield None
            continue
        yield _listed(setting, setting.equal_rates(clip, steps)[:, None], size, steps, noise)
        falling = _falling(setting, clip, steps)
        if falling is not None:
            yield _listed(setting, falling, size, steps, noise)


def _falling(setting: Setting, clip: Clip, steps: int) -> Array | None:
    """Rates of stages in few passes; none where theorems other than composition may be used, which
    ask for equal steps or take their time."""
    if setting.epochs > _FEW or setting.chosen.bounds not in (None, "composition"):
        return None
    return setting.falling_rates(clip, steps, _STAGES)


def _listed(setting: Setting, rates: Array, size: int, steps: int, noise: float) -> Listed:
    """Runs of stages with these rates, a row each; one stage is a run of equal steps."""
    n, stages = setting.problem.n, rates.shape[1]
    l2 = np.full(len(rates), setting.chosen.l2 or 0.0)
    drawn = np.full(len(rates), sampled_variance(size, min(1.0, size / n)))
    stage = np.arange(steps) * stages // steps
    return Listed(
        Segments(
            rates,
            max(1, round(steps / stages)),
            np.full_like(rates, noise),
            0.0 * rates,
            l2,
            drawn,
        ),
        steps * size / n,
        lambda k: NoisySGD(
            n=n,
            batch_size=size,
            steps=steps,
            learning_rate=float(rates[k, 0]) if stages == 1 else rates[k][stage].tolist(),
            noise=noise,
            sampling=setting.chosen.sampling or "poisson",
        ),
    )
