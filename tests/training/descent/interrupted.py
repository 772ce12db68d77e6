"""Runs whose process dies after some step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import NoisyCGD, NoisyGD, NoisySGD
from shiftdp.training import Logistic, Plan, Seeded, descend
from shiftdp.training.descent.state_file import EncryptedState

N = 40
RUNS: dict[str, Any] = {
    "full": NoisyGD(n=N, steps=9, learning_rate=0.5, noise=0.1),
    "silent": NoisyGD(n=N, steps=4, learning_rate=[0.5] * 4, noise=[0.1, 0.0, 0.1, 0.1]),
    "fixed": NoisyCGD(n=N, batch_size=9, epochs=2, learning_rate=0.2, noise=0.1),
    "shuffled_once": NoisyCGD(
        n=N, batch_size=9, epochs=2, learning_rate=0.2, noise=0.1, order="shuffled_once"
    ),
    "reshuffled": NoisyCGD(
        n=N, batch_size=9, epochs=2, learning_rate=0.2, noise=0.1, order="reshuffled"
    ),
    "poisson": NoisySGD(
        n=N, batch_size=9, steps=7, learning_rate=0.2, noise=0.1, sampling="poisson"
    ),
}


def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) * 0.4
    return X, (X[:, 0] > 0).astype(int)


def plan_of(name: str = "full", entropy: Any = None) -> Plan:
    return Plan(
        run=RUNS[name], loss=Logistic(), feature_bound=1.0, l2=0.01, entropy=entropy or Seeded(3)
    )


class Died(BaseException):
    """The end of a process, as far as a test can have it and go on."""


def dying(step: int) -> Any:
    def progress(done: int, total: int) -> None:
        if done == step:
            raise Died

    return progress


def broken_off(plan: Plan, state: EncryptedState, step: int, **more: Any) -> None:
    with pytest.raises(Died):
        descend(plan, *data(), state=state, progress=dying(step), **more)
