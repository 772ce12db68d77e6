"""The runs that the planner lists, kind by kind: full batches, batches in turn, and random batches.

*Full batches* have steps whose rates fall to 0, each with its own share of the noise.

*Batches in turn* have their noise where it is needed, if the user's choices leave room for that:
rates fall in stages, at once or from the middle of the run on, and noise is added where they fall
only. What a record has moved the iterate by is hidden by all the noise that follows it; by Theorem
P1 the noise that is left costs what that of full batches of the same reach does, whatever the size
of the batches [docs/theory.md]. So few passes are as private as full batches. Otherwise every step
has the same noise, and the last iterate is cheap.

*Random batches* have rates that are equal, or fall in stages, and the noise that composition asks
for: it allows any rates.

Each kind is a generator of `Listed`; None stands for runs that are too long.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from shiftdp._checks import Array
from shiftdp._errors import InvalidInput
from shiftdp.last_iterate import Geometry, NoisyCGD, NoisyGD, NoisySGD, certify
from shiftdp.last_iterate.runs import LastBatch, Order
from shiftdp.last_iterate.runs.samplers import SAMPLERS
from shiftdp.training.planning.setting import MOST_STEPS, Clip, Listed, Setting
from shiftdp.training.planning.utility import Segments

_EPOCHS = (100, 50, 25)  # of full batches: fewer than there may be, where more take their time

_PASSES = (1, 2, 5, 10, 20, 50)  # with placed noise, unless they are given
_STAGES = 16  # of equal rates, at the least
_HELD = (0.0, 0.5)  # for how much of the run the first rate is held, before rates fall to 0
_PARTS = np.geomspace(1.0, 1 / 256, 17)  # first rates, of the largest that Theorem B1 allows
_LONG_PLACED = 10_000  # steps; each takes some 0.1 ms, however small its batch
_SIZES = 3  # that are compared: the smallest that is not too long, twice and four times as much

_BATCHES = (4, 16, 64)  # an epoch, of batches in turn with equal noise and of random batches
FEWEST = min(_BATCHES)
"""Records, without which these list no run unless the batch size is given."""
_LONG = 4_000  # steps of these, unless the epochs are given
_RIDGES = (0.0, 1e-4, 1e-3, 1e-2)  # of the smoothness
_RATES = (1.0, 0.3, 0.1, 0.03)  # of the largest that a theorem allows

_DRAWN_STAGES = 32  # of equal rates, where those of random batches fall
_FEW = 20  # passes; where there may be more, rates fall in full batches, which share noise better
_LEAST = 0.3  # noise over sensitivity; below, the central limit theorem says nothing


# --- full batches ------------------------------------------------------------------------------


def full_batches(setting: Setting, clip: Clip) -> Iterator[Listed | None]:
    """As many steps as there may be, and fewer."""
    n, given = setting.problem.n, setting.chosen.batch_size
    if given not in (None, n):
        raise InvalidInput("batch_size", given, "is no full batch", 'give algorithm="cgd" or "sgd"')
    most = max(1, round(setting.epochs))
    fewer = () if setting.chosen.epochs is not None else _EPOCHS
    for steps in (most, *(t for t in fewer if t < most and not setting.is_quick(2 * t))):
        if steps > MOST_STEPS:
            yield None
            continue
        found = _falling(setting, clip, steps) or _full_and_equal(setting, clip, steps)
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


def _full_and_equal(setting: Setting, clip: Clip, steps: int) -> Listed | None:
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


# --- batches in turn, their noise placed -------------------------------------------------------


def placed_batches(setting: Setting, clip: Clip) -> Iterator[Listed]:
    """Some numbers of passes and sizes of batches; none where the user's choices leave no room."""
    chosen, n = setting.chosen, setting.problem.n
    given = (chosen.l2, chosen.noise, chosen.learning_rate)
    if any(given) or chosen.bounds == "composition" or chosen.order == "fixed" or chosen.releases:
        return
    most = max(1, round(setting.epochs))
    for passes in [most] if chosen.epochs is not None else [e for e in _PASSES if e <= most]:
        least = max(1, -(-n * passes // _LONG_PLACED))
        sizes = [least * 2**k for k in range(_SIZES)]
        for size in sizes if chosen.batch_size is None else [chosen.batch_size]:
            if size < n and -(-n // size) * passes <= _LONG_PLACED:
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
            none + 1.0 / size,
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


# --- batches in turn, with the same noise at every step ----------------------------------------


def cyclic_batches(setting: Setting, clip: Clip) -> Iterator[Listed | None]:
    """Equal rates up to 2/smoothness, where the last iterate is cheap; ridges too."""
    n, chosen = setting.problem.n, setting.chosen
    last_batch = chosen.last_batch or "divide_by_b"
    given = chosen.batch_size
    found = {_size(n, k, last_batch) for k in _BATCHES if k <= n}
    for size in sorted(found, reverse=True) if given is None else [given]:
        batches = -(-n // size)
        epochs = max(1, round(setting.at_most(_LONG / batches)))
        if epochs * batches > MOST_STEPS:
            yield None
            continue
        for part in _RIDGES if chosen.l2 is None else (None,):
            l2 = part * setting.smoothness if part is not None else chosen.l2 or 0.0
            yield from _with_ridge(setting, clip, size, epochs, l2, last_batch)


def _with_ridge(
    setting: Setting, clip: Clip, size: int, epochs: int, l2: float, last_batch: LastBatch
) -> Iterator[Listed]:
    given = setting.chosen.learning_rate
    top = 2.0 / (setting.smoothness + 2.0 * l2)
    for eta in [given] if given is not None else [part * top for part in _RATES]:
        run = NoisyCGD(
            n=setting.problem.n,
            batch_size=size,
            epochs=epochs,
            learning_rate=eta,
            noise=1.0,
            last_batch=last_batch,
        )
        noise = setting.noise(_unit_mu(setting, run, l2) * clip.sensitivity / setting.mu)
        if noise is not None:
            yield _one(run, noise, l2, setting.chosen.order or "reshuffled")


def _unit_mu(setting: Setting, run: NoisyCGD, l2: float) -> float:
    """What the run costs with a noise and a sensitivity of 1; clips differ in the latter only."""
    if (run, l2) not in setting.costs:
        geometry = Geometry(
            strong_convexity=l2,
            smoothness=setting.smoothness + l2,
            sensitivity=1.0,
            adjacency=setting.problem.adjacency,
        )
        mu = certify(run, geometry, bounds=setting.bounds(run, l2)).mu
        setting.costs[run, l2] = math.inf if mu is None else mu
    return setting.costs[run, l2]


def _one(run: NoisyCGD, noise: float, l2: float, order: Order) -> Listed:
    rates, one = np.array([[run.learning_rate]]), np.ones(1)
    return Listed(
        Segments(
            rates,
            run.steps,
            np.full_like(rates, noise),
            0.0 * rates,
            l2 * one,
            one / run.batch_size,
            in_turn=-(-run.n // run.batch_size),
        ),
        run.epochs,
        lambda _: NoisyCGD(**{**vars(run), "order": order, "noise": noise}),
    )


def _size(n: int, batches: int, last_batch: LastBatch) -> int:
    """A batch size near n/batches; what is left over is little where it is dropped or weighs most.

    >>> _size(1797, 16, "divide_by_b"), _size(1797, 16, "drop"), _size(1797, 16, "own_size")
    (113, 112, 120)
    """
    if last_batch == "divide_by_b":
        return -(-n // batches)
    size = max(1, n // batches)
    if last_batch == "drop":
        return size
    near = range(max(1, size - size // 4), size + size // 4 + 1)
    return max(near, key=lambda b: (((n - 1) % b + 1) / b, -abs(b - size)))


# --- random batches ----------------------------------------------------------------------------


def random_batches(setting: Setting, clip: Clip) -> Iterator[Listed | None]:
    """Some batch sizes, with equal rates and with rates that fall to 0; noise by the central limit
    theorem until it is calibrated."""
    n, given = setting.problem.n, setting.chosen.batch_size
    sampling = setting.chosen.sampling or "poisson"
    if sampling == "without_replacement" and setting.problem.adjacency == "zero_out":
        raise InvalidInput(
            "sampling", sampling, "has no theorem for adjacency='zero_out'", 'give "poisson"'
        )
    if SAMPLERS[sampling].in_epochs:
        _require_allocation(setting)
    sizes = sorted({math.ceil(n / k) for k in _BATCHES if k <= n}, reverse=True)
    for size in sizes if given is None else [given]:
        steps = _drawn_steps(setting, size, SAMPLERS[sampling].in_epochs)
        p = min(1.0, size / n)
        # mu^2 = p^2 t (exp(1/z^2) - 1), z the noise over the sensitivity
        excess = math.log1p((setting.mu / p) ** 2 / steps)
        if excess == 0.0:  # no float is so much noise
            continue
        z = 1.0 / math.sqrt(excess)
        noise = setting.noise(max(z, _LEAST) * clip.sensitivity / size)
        if noise is None:
            continue
        if steps > MOST_STEPS:
            yield None
            continue
        yield _drawn(setting, setting.equal_rates(clip, steps)[:, None], size, steps, noise)
        falling = _falling_stages(setting, clip, steps)
        if falling is not None:
            yield _drawn(setting, falling, size, steps, noise)


def _require_allocation(setting: Setting) -> None:
    """Random allocation has theorems about a record and nothing, and ends with an epoch."""
    epochs = setting.chosen.epochs
    if setting.problem.adjacency == "replace_one":
        raise InvalidInput(
            "sampling",
            "random_allocation",
            "has no theorem for adjacency='replace_one'",
            'give adjacency="zero_out", or sampling="poisson"',
        )
    if epochs is not None and epochs != round(epochs):
        raise InvalidInput(
            "epochs",
            epochs,
            "is not whole, and random allocation ends with an epoch",
            f"give epochs={max(1, round(epochs))}",
        )


def _drawn_steps(setting: Setting, size: int, in_epochs: bool) -> int:
    """How many steps, whole epochs of them where each record is in one batch of each."""
    n = setting.problem.n
    if in_epochs:
        batches = -(-n // size)
        epochs = min(setting.at_most(_LONG / batches), 2.0 * MOST_STEPS / batches)
        return batches * max(1, math.floor(epochs))
    return max(1, round(min(setting.at_most(_LONG * size / n) * n / size, 2.0 * MOST_STEPS)))


def _falling_stages(setting: Setting, clip: Clip, steps: int) -> Array | None:
    """Rates of stages in few passes; none where theorems other than composition may be used, which
    ask for equal steps or take their time."""
    if setting.epochs > _FEW or setting.chosen.bounds not in (None, "composition"):
        return None
    return setting.falling_rates(clip, steps, _DRAWN_STAGES)


def _drawn(setting: Setting, rates: Array, size: int, steps: int, noise: float) -> Listed:
    """Runs of stages with these rates, a row each; one stage is a run of equal steps."""
    n, stages = setting.problem.n, rates.shape[1]
    l2 = np.full(len(rates), setting.chosen.l2 or 0.0)
    drawn = (1.0 - min(1.0, size / n)) / size  # of the mean of a batch, for records of variance 1
    stage = np.arange(steps) * stages // steps
    return Listed(
        Segments(
            rates,
            max(1, round(steps / stages)),
            np.full_like(rates, noise),
            0.0 * rates,
            l2,
            0.0 * l2 + drawn,
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
