"""Schedules of every kind that Theorem B1 allows."""

import math

import numpy as np

from shiftdp.interpolation.schedule import Schedule


def random_schedule(rng: np.random.Generator, steps: int, c_max: float = 1.5) -> Schedule:
    """All that B1 allows: c from 0 up, idle steps, unequal noise, with and without a diameter."""
    c = rng.uniform(0.0, c_max, steps)
    match rng.integers(4):
        case 0:
            c = np.ones(steps)
        case 1:
            c = np.minimum(c, 1.0)
        case 2:
            c[rng.random(steps) < 0.1] = 0.0
    s = rng.uniform(0.0, 1.0, steps) * (rng.random(steps) < 0.6)
    sd = rng.uniform(0.2, 2.0, steps)
    D = math.inf if rng.random() < 0.4 else float(rng.uniform(0.05, 5.0))
    return Schedule(c, s, sd, D)


def with_silent_steps(rng: np.random.Generator, schedule: Schedule) -> Schedule:
    """The schedule with no noise in some of its steps, perhaps in most or in all."""
    c, s, sd = schedule.window(0, schedule.steps)
    silent = rng.random(schedule.steps) < rng.uniform(0.0, 1.0)
    return Schedule(c, s, np.where(silent, 0.0, sd), schedule.diameter)
