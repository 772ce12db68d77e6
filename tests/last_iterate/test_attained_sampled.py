"""What random batches leak at least: below every certificate, and equal where that is exact."""

import math
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp.last_iterate.attained import attained_epsilon
from shiftdp.last_iterate.attained_sampled import sampled_epsilon

DELTA = 1e-5
KINDS: list[tuple[Any, Any]] = [
    ("without_replacement", "replace_one"),
    ("poisson", "zero_out"),
    ("poisson", "replace_one"),
    ("random_allocation", "zero_out"),
]


def setting(
    kind: tuple[Any, Any] = KINDS[0],
    *,
    s: float = 2.0,
    p: int = 20,
    steps: float = 40,
    noise: Any = 1.0,
    m: float = 0.1,
    diameter: float = math.inf,
    rate: Any = 1.0,
) -> tuple[sdp.NoisySGD, sdp.Geometry]:
    """Batches of 10 out of 10 p records, slopes from 0 to 1 - m at a rate of 1."""
    sampling, adjacency = kind
    both = kind == KINDS[2]
    geometry = sdp.Geometry(
        strong_convexity=m,
        smoothness=1.0,
        sensitivity=10 * s * (1 + both),
        gradient_bound=10 * s if both else None,
        adjacency=adjacency,
        diameter=diameter,
    )
    run = sdp.NoisySGD(
        n=10 * p, batch_size=10, steps=steps, learning_rate=rate, noise=noise, sampling=sampling
    )
    return run, geometry


def at_least(run: sdp.NoisySGD, geometry: sdp.Geometry, delta: float = DELTA) -> float:
    found = sampled_epsilon(run, geometry, delta)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_never_above_a_certificate(kind: tuple[Any, Any]) -> None:
    certificate = sdp.certify(*setting(kind, s=1.5, p=5, steps=5), delta=DELTA)
    low = certificate.lower_epsilon(DELTA)
    assert low is not None
    assert 0.3 * certificate.epsilon(DELTA) < low <= certificate.epsilon(DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids="-".join)
@pytest.mark.parametrize("diameter", [math.inf, 4.0])
def test_never_above_many_certificates(kind: tuple[Any, Any], diameter: float) -> None:
    draw = np.random.default_rng(5)
    for _ in range(10):
        s, m = float(draw.uniform(0.3, 3.0)), float(draw.choice([0.0, 0.2]))
        noise = draw.uniform(0.7, 2.0, 10).round(1).tolist() if draw.random() < 0.5 else 1.0
        run, geometry = setting(kind, s=s, p=5, steps=10, noise=noise, m=m, diameter=diameter)
        certificate = sdp.certify(run, geometry, delta=DELTA)
        low = certificate.lower_epsilon(DELTA)
        if kind == KINDS[3] and diameter < math.inf:
            assert low is None
        else:
            assert low is not None
            assert 0.0 < low <= certificate.epsilon(DELTA)


@pytest.mark.parametrize("kind", KINDS[:3], ids="-".join)
def test_one_step_is_exact(kind: tuple[Any, Any]) -> None:
    run, geometry = setting(kind, steps=1)
    exact = sdp.certify(run, geometry, bounds="composition").epsilon(DELTA)
    assert at_least(run, geometry) == pytest.approx(exact, rel=2e-3)


def test_full_batches_are_exact() -> None:
    run, geometry = setting(p=1, s=1.0)
    full = sdp.NoisyGD(n=10, steps=40, learning_rate=1.0, noise=1.0)
    assert at_least(run, geometry) == pytest.approx(
        sdp.certify(full, geometry).epsilon(DELTA), rel=1e-2
    )


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_more_noise_leaks_less(kind: tuple[Any, Any]) -> None:
    found = [at_least(*setting(kind, noise=noise)) for noise in (1.0, 1.5, 3.0)]
    assert sorted(found, reverse=True) == found
    assert found[0] > found[-1]


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_steps_written_one_by_one(kind: tuple[Any, Any]) -> None:
    equal = at_least(*setting(kind, s=1.0, p=4))
    listed = at_least(*setting(kind, s=1.0, p=4, noise=[1.0] * 40, rate=[1.0] * 40))
    assert listed == pytest.approx(equal, rel=2e-3)


def test_a_cooldown_leaks_less() -> None:
    run, geometry = setting(s=4.0, p=100, steps=1000, m=0.0)
    cooled = sdp.NoisySGD(**{**vars(run), "noise": sdp.cooldown(1000, 1.0, last=30, factor=3.0)})
    # 19.4 and 7.2 are certified
    assert at_least(run, geometry) > 16.5
    assert 5.5 < at_least(cooled, geometry) < 7.2


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_endless_runs(kind: tuple[Any, Any]) -> None:
    endless = at_least(*setting(kind, steps=math.inf))
    assert endless == pytest.approx(at_least(*setting(kind, steps=4000)), rel=1e-3)
    assert (
        at_least(*setting(kind, steps=math.inf, diameter=5.0)) > 0.0 if kind != KINDS[3] else True
    )


def test_losses_of_one_curvature_are_quadratic() -> None:
    run, _ = setting()
    same = sdp.Geometry(strong_convexity=0.1, smoothness=0.1, sensitivity=20.0)
    poisson, removed = setting(KINDS[1])
    assert at_least(run, same) == pytest.approx(at_least(poisson, removed), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_nothing_is_known_where_a_quadratic_overshoots(kind: tuple[Any, Any]) -> None:
    run, geometry = setting(kind, m=0.9, rate=1.5)
    known = sampled_epsilon(run, geometry, DELTA)
    assert (known is not None) == (kind == KINDS[0])


def test_nothing_is_leaked_without_a_displacement() -> None:
    run, geometry = setting(s=0.0)
    assert at_least(run, geometry) == 0.0


def test_other_runs_have_that_of_their_mu() -> None:
    run = sdp.NoisyCGD(n=30, batch_size=10, epochs=3, learning_rate=0.1, noise=1.0)
    geometry = sdp.Geometry(strong_convexity=1, smoothness=15, sensitivity=5)
    cert = sdp.certify(run, geometry)
    low = cert.lower_epsilon(DELTA)
    assert low is not None
    assert low == attained_epsilon(run, geometry, DELTA)
    assert low == pytest.approx(cert.epsilon(DELTA), rel=1e-9)
    assert low <= cert.epsilon(DELTA)
    removed = sdp.Geometry(**{**vars(geometry), "adjacency": "zero_out"})
    assert sdp.certify(run, removed).lower_epsilon(DELTA) is None
