"""The cool-down for a budget: met, cheaper than equal noise, and no worse than its neighbours."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

import shiftdp as sdp

GEOMETRY = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=1, adjacency="zero_out")
RUN = sdp.NoisySGD(
    n=2000, batch_size=20, steps=60, learning_rate=0.1, noise=0.1, sampling="poisson"
)


def total(run: sdp.NoisySGD) -> float:
    return float(np.sum(np.broadcast_to(np.square(run.noise), run.steps)))


@pytest.fixture(scope="module")
def found() -> sdp.NoisySGD:
    return sdp.calibrate_cooldown(RUN, GEOMETRY, epsilon=1.0, delta=1e-5, most=4.0)


def test_the_budget_is_met_and_used(found: sdp.NoisySGD) -> None:
    assert 0.998 <= sdp.certify(found, GEOMETRY).epsilon(1e-5) <= 1.0


def test_it_is_a_block_at_the_end_with_the_factor_that_was_asked_for(found: sdp.NoisySGD) -> None:
    noise = np.array(found.noise)
    last = int(np.sum(noise > noise[0]))
    assert 1 <= last < 60
    assert noise[-last:] == pytest.approx(4.0 * noise[0])
    assert found.noise == sdp.cooldown(60, float(noise[0]), last=last, factor=4.0)


def test_there_is_less_noise_in_all_than_without_it(found: sdp.NoisySGD) -> None:
    flat = sdp.calibrate_noise(RUN, GEOMETRY, epsilon=1.0, delta=1e-5)
    assert total(found) < 0.85 * total(flat)


@pytest.mark.slow
def test_other_lengths_need_more_noise(found: sdp.NoisySGD) -> None:
    last = int(np.sum(np.array(found.noise) > found.noise[0]))  # type: ignore[index]
    for other in (4 * last, last // 4):
        if 1 <= other <= 60:
            noise = sdp.cooldown(60, 0.1, last=other, factor=4.0)
            shape = sdp.NoisySGD(**{**vars(RUN), "noise": noise})
            rival = sdp.calibrate_noise(shape, GEOMETRY, epsilon=1.0, delta=1e-5)
            assert total(found) <= total(rival)


def test_where_no_cool_down_helps_the_noise_is_equal() -> None:
    full = sdp.NoisySGD(
        n=50, batch_size=50, steps=5, learning_rate=0.1, noise=0.1, sampling="poisson"
    )
    flat = sdp.calibrate_noise(full, GEOMETRY, epsilon=1.0, delta=1e-5)
    cooled = sdp.calibrate_cooldown(full, GEOMETRY, epsilon=1.0, delta=1e-5, most=1.01)
    assert total(cooled) <= total(flat)


@pytest.mark.parametrize(
    "run",
    [
        sdp.NoisyGD(n=10, steps=5, learning_rate=0.1, noise=0.1),
        sdp.NoisySGD(n=10, batch_size=2, steps=math.inf, learning_rate=0.1, noise=0.1),
        sdp.NoisySGD(n=10, batch_size=2, steps=2, learning_rate=0.1, noise=[0.1, 0.2]),
    ],
)
def test_runs_without_random_batches_an_end_or_equal_noise_are_refused(run: sdp.NoisySGD) -> None:
    with pytest.raises(sdp.InvalidInput, match="give NoisySGD"):
        sdp.calibrate_cooldown(run, GEOMETRY, epsilon=1.0, delta=1e-5)


def test_releases_are_refused_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("shiftdp.privacy.cooldown_shape")
    monkeypatch.setattr(module, "calibrate_noise", lambda *_, **__: pytest.fail("it worked"))
    for releases in ([30], "all"):
        run = sdp.NoisySGD(**{**vars(RUN), "releases": releases})
        with pytest.raises(sdp.InvalidInput, match=r"releases=.*use calibrate_noise"):
            sdp.calibrate_cooldown(run, GEOMETRY, epsilon=1.0, delta=1e-5)


def test_a_factor_below_one_is_refused() -> None:
    with pytest.raises(sdp.InvalidInput, match=r"most=0\.5"):
        sdp.calibrate_cooldown(RUN, GEOMETRY, epsilon=1.0, delta=1e-5, most=0.5)


def test_a_budget_of_delta_alone_is_met() -> None:
    run = sdp.NoisySGD(n=500, batch_size=10, steps=50, learning_rate=0.1, noise=1.0)
    geometry = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=2)
    found = sdp.calibrate_cooldown(run, geometry, epsilon=0.0, delta=1e-5)
    assert sdp.certify(found, geometry).epsilon(delta=1e-5) == 0.0
