"""Thousands of fits that release several models: no attack on all of them beats the certificate.

As in `test_audit`, but the attacker sees every release, and looks along the best line for Gaussian
vectors of the spread that is seen: the joint law, not one model after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shiftdp import NoisyCGD, NoisyGD, NoisyStream, certify
from shiftdp.training import Huber, Plan, Seeded, descend_stacked
from shiftdp.training.descent.batches import TrainingRun
from shiftdp.training.descent.loop import certified_records, iterates
from tests.training.test_audit import attacked, saturated


def whitened(one: NDArray[Any], other: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """In units in which the first half of the fits has no correlations."""
    half = len(one) // 2
    centred = [each[:half] - each[:half].mean(axis=0) for each in (one, other)]
    root = np.linalg.cholesky(np.linalg.inv(np.cov(np.concatenate(centred).T)))
    return one @ root, other @ root


def plan_of(run: TrainingRun, seed: int) -> Plan:
    return Plan(
        run=run,
        loss=Huber(),
        feature_bound=1.0,
        intercept=False,
        l2=0.01,
        entropy=Seeded(seed),
    )


def all_releases(plan: Plan, data: tuple[Any, Any], fits: int) -> NDArray[Any]:
    """Of each fit, the weight of the one feature that is not 0 in each released model, in a row."""
    shown: list[NDArray[Any]] = []
    descend_stacked(plan, *data, fits, checkpoints=lambda _, models: shown.append(models.copy()))
    return np.stack([models.reshape(fits, -1)[:, 0] for models in shown], axis=1)


RUNS: dict[str, TrainingRun] = {
    "full": NoisyGD(n=20, steps=6, learning_rate=0.5, noise=0.2, releases=[2, 4]),
    "cyclic": NoisyCGD(
        n=20, batch_size=10, epochs=4, learning_rate=0.5, noise=0.3, releases=[3, 6]
    ),
    "epochs": NoisyCGD(
        n=20, batch_size=10, epochs=3, learning_rate=0.5, noise=0.3, releases="epochs"
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_no_attack_on_all_releases_beats_the_certificate(name: str) -> None:
    run, fits = RUNS[name], 6_000
    plans = plan_of(run, 1), plan_of(run, 2)
    seen = [
        all_releases(plan, data, fits) for plan, data in zip(plans, saturated(run.n), strict=True)
    ]
    certified = plans[0].certificate.mu
    assert certified is not None
    together = attacked(*whitened(*seen))
    assert together <= certified
    # full batches have no worse losses than these, cyclic ones have
    assert together > (0.7 if name == "full" else 0.4) * certified


def test_no_attack_on_a_stream_beats_its_certificate() -> None:
    """The record is in the last batch of the first window; the second one has other records."""
    fits, n = 4_000, 20
    window = NoisyCGD(n=n, batch_size=10, epochs=1, learning_rate=0.5, noise=0.15)
    stream = NoisyStream(batch_size=10, batches_per_release=2, learning_rate=0.5, noise=0.15)
    seen = []
    for seed, data in zip((1, 2), saturated(n), strict=True):
        plan = plan_of(window, seed)
        first = descend_stacked(plan, *data, fits)
        models = first.reshape(fits, 1, -1).copy()
        later = plan_of(window, seed + 10)
        assert isinstance(later.entropy, Seeded)
        records = certified_records(later, *saturated(n).one)
        for _ in iterates(later, records, models, later.entropy.several(fits)):
            pass
        seen.append(np.stack([each.reshape(fits, -1)[:, 0] for each in (first, models)], axis=1))
    certified = certify(stream, plan_of(window, 1).geometry).mu
    assert certified is not None
    found = attacked(*whitened(*seen))
    assert 0.5 * certified < found <= certified
