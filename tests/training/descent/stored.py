"""Records in memory, or in a file, for tests of how they are read."""

from pathlib import Path

import numpy as np

from shiftdp import NoisyGD
from shiftdp.training import Logistic, Plan
from shiftdp.training.descent.records import Records, prepare

N, D = 40, 3


def records(tmp_path: Path, *, mapped: bool) -> Records:
    features = np.random.default_rng(0).normal(size=(N, D))
    np.save(tmp_path / "X.npy", features)
    X = np.load(tmp_path / "X.npy", mmap_mode="r" if mapped else None)
    run = NoisyGD(n=N, steps=1, learning_rate=0.1, noise=0.1)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, clipping="envelope", clip=0.5)
    return prepare(plan, X, np.arange(N) % 2)
