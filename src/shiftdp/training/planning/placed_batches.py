"""Runs of small batches in turn with their noise where it is needed: few passes, as private as full
batches.

Rates fall in stages, at once or from the middle of the run on, and noise is added where they fall
only: what a record has moved the iterate by is hidden by all the noise that follows it. By Theorem
P1 the noise that is left costs what that of full batches of the same reach does, whatever the size
of the batches. [docs/theory.md]
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftdp._checks import Array
from shiftdp.last_iterate import NoisyCGD
from shiftdp.training.planning.clips import Clip
from shiftdp.training.planning.setting import Listed, Setting, sampled_variance
from shiftdp.training.planning.utility import Segments

__all__ = ["placed_batches"]

_PASSES = (1, 2, 5, 10, 20, 50)  # unless they are given
_STAGES = 16  # of equal rates, at the least
_HELD = (0.0, 0.5)  # for how much of the run the first rate is held, before rates fall to 0
_PARTS = np.geomspace(1.0, 1 / 256, 17)  # first rates, of the largest that Theorem B1 allows
_LONG = 10_000  # steps; each takes some 0.1 ms, however small its batch
_SIZES = 3  # that are compared: the smallest that is not too long, twice and four times as much


def placed_batches(setting: Setting, clip: Clip) -> Iterator[Listed]:
    """Some numbers of passes and sizes of batches; none where the user's choices leave no room."""
    chosen, n = setting.chosen, setting.problem.n
    given = (chosen.l2, chosen.noise, chosen.learning_rate)
    if any(given) or chosen.bounds == "composition" or chosen.order == "fixed" or chosen.releases:
        return
    most = max(1, round(setting.epochs))
    for passes in [most] if chosen.epochs is not None else [e for e in _PASSES if e <= most]:
        least = max(1, -(-n * passes // _LONG))
        sizes = [least * 2**k for k in range(_SIZES)]
        for size in sizes if chosen.batch_size is None else [chosen.batch_size]:
            if size < n and -(-n // size) * passes <= _LONG:
                for held in _HELD:
                    yield _staged(setting, clip, size, passes, held)


def _staged(setting: Setting, clip: Clip, size: int, passes: int, held: float) -> Listed:
    n = setting.problem.n
    batches = -(-n // size)
    in_pass = min(batches, max(1, -(-_STAGES // passes)))
    falling = np.linspace(1.0, 0.0, in_pass * passes, endpoint=False)
    levels = np.minimum(1.0, falling / (1.0 - held))
    first = _PARTS * 2.0 / setting.smoothness
    rates = first[:, None] * levels
    displaced = rates * clip.sensitivity / size
    variances = _variances(displaced.reshape(len(first), passes, in_pass)) / setting.mu**2
    none = np.zeros(len(first))
    where = np.arange(batches * passes)
    stage = where // batches * in_pass + where % batches * in_pass // batches
    return Listed(
        Segments(
            rates,
            max(1, round(batches / in_pass)),
            0.0 * rates,
            variances.reshape(rates.shape),
            none,
            none + sampled_variance(size),
            in_turn=batches,
        ),
        passes,
        lambda k: NoisyCGD(
            n=n,
            batch_size=size,
            epochs=passes,
            learning_rate=rates[k][stage].tolist(),
            noise=1.0,
            order=setting.chosen.order or "reshuffled",
            last_batch=setting.chosen.last_batch or "divide_by_b",
        ),
        placed=True,
    )


def _variances(displaced: Array) -> Array:
    """The noise of Theorem P1 at the end of each stage, for steps that do not contract and mu = 1.

    Args:
        displaced: what a record moves the iterate by, for runs, passes and stages of a pass.

    >>> _variances(np.array([[[3.0, 2.0, 1.0]]]))  # one pass
    array([[[5., 3., 1.]]])
    >>> _variances(np.array([[[2.0], [1.0]]]))[0, :, 0]  # two
    array([6., 3.])
    """
    following = np.concatenate([displaced[..., 1:], 0.0 * displaced[..., :1]], axis=2)
    largest = displaced[..., :1]
    share = largest / largest.sum(axis=1, keepdims=True)
    return np.asarray((displaced**2 - following**2) / share)
