"""Runs and losses of any parameters: most of them small and sensible, some of them anything."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import shiftdp as sdp
from tests.fuzz.choices import Choices
from tests.fuzz.limits import require

ODD = 40
"""One parameter in so many is replaced by anything."""


def geometry_of(choices: Choices, odd: int = ODD) -> sdp.Geometry:
    smoothness = choices.mostly(choices.log_uniform(1e-2, 1e2), odd)
    part = choices.pick((0.0, 0.1, 0.5, 1.0, -0.2))
    convexity = part * smoothness if isinstance(smoothness, float) else part
    sensitivity = choices.mostly(choices.pick((1.0, 0.0, choices.log_uniform(1e-2, 1e2))), odd)
    bound = choices.pick((None, None, choices.log_uniform(0.5, 1e2)))
    return sdp.Geometry(
        strong_convexity=choices.mostly(convexity, odd),
        smoothness=smoothness,
        sensitivity=sensitivity,
        diameter=choices.mostly(choices.pick((math.inf, choices.log_uniform(1e-2, 10.0))), odd),
        adjacency=choices.mostly(choices.pick(("replace_one", "zero_out")), odd),
        gradient_bound=choices.mostly(bound, odd),
        prox_convexity=choices.mostly(choices.pick((0.0, 0.0, 0.3)), odd),
    )


def run_of(choices: Choices, most_steps: int, odd: int = ODD, random_batches: int = 8) -> Any:
    """One in so many has random batches, which take far longer to certify than others."""
    if choices.chance(random_batches):
        return (
            _unlearning(choices, most_steps, odd, _sgd)
            if choices.chance(8)
            else _sgd(choices, most_steps, odd)
        )
    match choices.below(8):
        case 0 | 1:
            return _gd(choices, most_steps, odd)
        case 2 | 3:
            return _cgd(choices, most_steps, odd)
        case 4 | 5:
            return _stream(choices, odd)
        case 6:
            return _unlearning(choices, most_steps, odd, choices.pick((_gd, _cgd)))
        case _:
            if choices.chance(3):
                return sdp.ExponentialMechanism()
            steps = choices.mostly(choices.pick((choices.integer(1, most_steps), math.inf)), odd)
            rate = choices.mostly(choices.log_uniform(1e-3, 1.0), odd)
            return sdp.LangevinMC(steps=steps, learning_rate=rate)


def sampled_of(choices: Choices, most_steps: int, odd: int = ODD) -> Any:
    """A run with random batches."""
    return _sgd(choices, most_steps, odd)


def unlearning_of(choices: Choices, most_steps: int, odd: int = ODD) -> Any:
    """A deletion from a run of any kind."""
    return _unlearning(choices, most_steps, odd, choices.pick((_gd, _cgd, _cgd, _sgd)))


def descent_of(choices: Choices, most_steps: int, odd: int = ODD) -> Any:
    """A run on a fixed number of records, of any kind."""
    kind = choices.pick((_gd, _gd, _gd, _cgd, _cgd, _cgd, _cgd, _sgd))
    return kind(choices, most_steps, odd)


def _length(choices: Choices, most: int, odd: int) -> Any:
    sensible = choices.integer(1, most)
    return choices.mostly(choices.pick((sensible,) * 15 + (math.inf,)), odd)


def _schedule(choices: Choices, steps: Any, low: float, high: float, odd: int) -> Any:
    """One number, or one a step: rising, falling, with zeros, or with anything in it."""
    value = choices.log_uniform(low, high)
    if choices.below(3) or not isinstance(steps, int) or not 0 < steps <= 1_000:
        return choices.mostly(value, odd)
    factor = choices.pick((0.9, 1.1, 1.0, 0.5))
    found: list[Any] = [value * factor ** min(k, 40) for k in range(steps)]
    if choices.chance(6):
        found[choices.below(steps)] = choices.pick((0.0, choices.hostile()))
    return found[: max(0, steps - 1)] if choices.chance(30) else found


def _releases(choices: Choices, steps: Any, odd: int) -> Any:
    most = steps if odd > ODD and isinstance(steps, int) and 0 < steps < 2**31 else 60
    some = sorted({choices.integer(1, most) for _ in range(choices.below(3))})
    return choices.mostly(choices.pick((None,) * 6 + ("epochs", "all", some)), odd)


def _people(choices: Choices, odd: int) -> Any:
    return choices.mostly(choices.pick((1,) * 8 + (2, 3)), odd)


def _gd(choices: Choices, most_steps: int, odd: int) -> Any:
    steps = _length(choices, most_steps, odd)
    return sdp.NoisyGD(
        n=choices.mostly(choices.integer(1, 1_000), odd),
        steps=steps,
        learning_rate=_schedule(choices, steps, 1e-2, 2.0, odd),
        noise=_schedule(choices, steps, 1e-3, 10.0, odd),
        releases=_releases(choices, steps, odd),
        records_per_person=_people(choices, odd),
    )


def _cgd(choices: Choices, most_steps: int, odd: int) -> Any:
    size = choices.integer(1, 40)
    steps = _length(choices, most_steps, odd)
    return sdp.NoisyCGD(
        n=choices.mostly(size * choices.integer(1, 12) + choices.pick((0, 0, 1)), odd),
        batch_size=choices.mostly(size, odd),
        **(
            {"epochs": choices.mostly(choices.integer(1, 12), odd)}
            if choices.chance(4)
            else {"steps": steps}
        ),
        learning_rate=_schedule(choices, steps, 1e-2, 2.0, odd),
        noise=_schedule(choices, steps, 1e-3, 10.0, odd),
        order=choices.mostly(choices.pick(("fixed", "shuffled_once", "reshuffled")), odd),
        last_batch=choices.mostly(choices.pick(("own_size", "divide_by_b", "drop")), odd),
        releases=_releases(choices, steps, odd),
        records_per_person=_people(choices, odd),
        arrangement=choices.mostly(choices.pick(("anywhere", "one_per_batch")), odd),
    )


def _sgd(choices: Choices, most_steps: int, odd: int) -> Any:
    size = choices.integer(1, 40)
    steps = _length(choices, most_steps, odd)
    sampling: Any = choices.pick(("without_replacement", "poisson", "random_allocation"))
    epochs = {"epochs": choices.mostly(choices.integer(1, 6), odd)}
    return sdp.NoisySGD(
        n=choices.mostly(size * choices.integer(2, 40), odd),
        batch_size=choices.mostly(size, odd),
        **(epochs if sampling == "random_allocation" else {"steps": steps}),
        learning_rate=_schedule(choices, steps, 1e-2, 2.0, odd),
        noise=_schedule(choices, steps, 1e-2, 10.0, odd),
        sampling=choices.mostly(sampling, odd),
        batch_cap=choices.mostly(choices.pick((None,) * 5 + (size, 3 * size)), odd),
        releases=_releases(choices, steps, odd),
        records_per_person=_people(choices, odd),
    )


def _stream(choices: Choices, odd: int) -> Any:
    window = choices.integer(1, 30)
    return sdp.NoisyStream(
        batch_size=choices.mostly(choices.integer(1, 100), odd),
        batches_per_release=choices.mostly(window, odd),
        learning_rate=_schedule(choices, window, 1e-2, 2.0, odd),
        noise=_schedule(choices, window, 1e-3, 10.0, odd),
        order=choices.mostly(choices.pick(("fixed", "shuffled")), odd),
    )


def _unlearning(choices: Choices, most_steps: int, odd: int, kind: Callable[..., Any]) -> Any:
    further = choices.integer(0, 30)
    later = [(choices.integer(1, 30), choices.integer(1, 3)) for _ in range(choices.below(2))]
    return sdp.Unlearning(
        training=choices.mostly(kind(choices, most_steps, odd), odd),
        **(
            {"further_epochs": choices.mostly(choices.integer(0, 4), odd)}
            if choices.chance(4)
            else {"further_steps": choices.mostly(further, odd)}
        ),
        records=choices.mostly(choices.pick((1, 1, 2)), odd),
        learning_rate=choices.pick((None, _schedule(choices, further, 1e-2, 2.0, odd))),
        noise=choices.pick((None, _schedule(choices, further, 1e-3, 10.0, odd))),
        later_requests=choices.mostly(later, odd),
        grid=choices.mostly(choices.pick((0.0, 0.0, 1e-3)), odd),
        dimension=choices.mostly(choices.pick((1, 10)), odd),
    )


def try_description(data: bytes) -> None:
    """Runs and losses are described, shown and compared; nothing is certified."""
    choices = Choices(data)
    odd = choices.pick((ODD, 6))
    geometry = geometry_of(choices, odd)
    run = run_of(choices, 60, odd)
    require(bool(repr(run)) and bool(repr(geometry)), "nothing is shown")
    require(run == run and geometry == geometry, "not itself", run, geometry)
    require(isinstance(hash(geometry), int), "no hash")
