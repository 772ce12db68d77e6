"""Questions asked of random batches with one noise a step, and of random allocation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shiftdp as sdp

ALONE = sdp.Geometry(strong_convexity=0.2, smoothness=1, sensitivity=5, adjacency="zero_out")
SHAPE: dict[str, Any] = {"n": 200, "batch_size": 20, "learning_rate": 0.1, "steps": 40}
COOLED = sdp.cooldown(40, 1.0, last=4, factor=2)
RUNS = [
    sdp.NoisySGD(**SHAPE, noise=COOLED, sampling="poisson"),
    sdp.NoisySGD(**SHAPE, noise=COOLED, sampling="random_allocation"),
]
each_run = pytest.mark.parametrize("run", RUNS, ids=lambda run: run.sampling)


@each_run
def test_noise_is_calibrated_as_a_whole(run: sdp.NoisySGD) -> None:
    found = sdp.calibrate_noise(run, ALONE, epsilon=2.0, delta=1e-5)
    assert isinstance(found.noise, tuple)
    assert found.noise == pytest.approx([x * found.noise[0] for x in COOLED])
    assert sdp.certify(found, ALONE).epsilon(1e-5) <= 2.0
    less = sdp.NoisySGD(**{**vars(found), "noise": [x * (1 - 1e-5) for x in found.noise]})
    assert sdp.certify(less, ALONE).epsilon(1e-5) > 2.0


def test_random_allocation_is_calibrated_in_epochs() -> None:
    shape = {**SHAPE, "noise": 0.5, "sampling": "random_allocation"}
    asked: Any = {"epsilon": 4.0, "delta": 1e-5, "bounds": "composition"}
    found = sdp.calibrate_epochs(sdp.NoisySGD(**shape), ALONE, **asked)
    assert sdp.certify(found, ALONE, bounds="composition").epsilon(1e-5) <= 4.0
    longer = sdp.NoisySGD(**{**shape, "steps": found.steps + 10})
    assert sdp.certify(longer, ALONE, bounds="composition").epsilon(1e-5) > 4.0
    with pytest.raises(sdp.InvalidInput, match="fixes the number of steps: epochs cannot change"):
        sdp.calibrate_epochs(RUNS[1], ALONE, epsilon=1.0, delta=1e-5)


@each_run
def test_frontiers_and_comparisons_answer(run: sdp.NoisySGD) -> None:
    best = sdp.certify(run, ALONE).epsilon(1e-5)
    rows = {row.name: row for row in sdp.compare(run, ALONE, delta=1e-5)}
    composed = rows["composition"].epsilon
    assert composed is not None
    assert rows["best"].epsilon == best <= composed
    found = sdp.frontier(
        run, ALONE, parameter="noise", values=[1.0, 2.0, 4.0], delta=1e-5, curves=["best"]
    )
    (curve,) = found
    assert curve.epsilon[1] == pytest.approx(best, rel=1e-9)
    assert curve.epsilon[0] > curve.epsilon[1] > curve.epsilon[2]


@each_run
def test_risk_and_the_ledger_take_their_certificates(run: sdp.NoisySGD, tmp_path: Path) -> None:
    certificate = sdp.certify(run, ALONE)
    assert sdp.risk(certificate).advantage == certificate.advantage()
    path = tmp_path / "ledger"
    ledger = sdp.Ledger.create(path, epsilon=1e3, delta=1e-5, adjacency="zero_out")
    ledger.reserve(certificate, label="scheduled")
    spent = ledger.epsilon(delta=1e-5)
    assert spent == pytest.approx(certificate.epsilon(1e-5), rel=1e-2)
    ledger.reserve(certificate, label="again")
    assert sdp.Ledger(path).epsilon(delta=1e-5) > spent
