"""What instances attain: at most the certificate, and all of it where Theorem B5 closes the gap."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.last_iterate import (
    ExponentialMechanism,
    Geometry,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    certify,
)
from shiftdp.last_iterate.attained import lower_bound_of
from tests.last_iterate.brute_force import linear_shift, positions
from tests.last_iterate.random_runs import (
    ORDERS,
    Setting,
    cyclic_runs,
    full_batch_runs,
    settings_of,
)

CLASS: dict[str, Any] = {"strong_convexity": 1.0, "smoothness": 10.0, "sensitivity": 3.0}


@settings(max_examples=300)
@given(settings_of())
def test_never_above_the_certificate(setting: Setting) -> None:
    run, geometry = setting
    cert = certify(run, geometry)
    lower = cert.lower_mu
    known = (
        geometry.adjacency == "replace_one"
        and not geometry.bounded
        and geometry.strong_convexity < geometry.smoothness
        and getattr(run, "order", "fixed") == "fixed"
    )
    assert (lower is not None) == known
    if lower is not None:
        assert cert.mu is not None
        assert 0.0 <= lower <= cert.mu


@settings(max_examples=200)
@given(st.one_of(full_batch_runs(), cyclic_runs("fixed")))
def test_never_below_the_quadratics_of_the_class(setting: tuple[Any, Geometry]) -> None:
    run, geometry = setting
    lower = certify(run, geometry).lower_mu
    if lower is None:
        return
    for curvature in (geometry.strong_convexity, geometry.smoothness):
        # slopes of one sign are in reach of Theorem B5; others only lower the mean shift
        floor = max(linear_shift(run, geometry, visits, curvature) for _, visits in positions(run))
        assert lower >= floor * (1 - 1e-9)


@settings(max_examples=100)
@given(
    st.floats(0.02, 0.1999),
    st.integers(1, 60),
    st.floats(0.1, 3.0),
)
def test_full_batches_are_exact_up_to_two_over_smoothness(
    eta: float, steps: int, noise: float
) -> None:
    cert = certify(NoisyGD(n=5, steps=steps, learning_rate=eta, noise=noise), Geometry(**CLASS))
    assert cert.lower_mu == pytest.approx(cert.mu, rel=1e-9)


@settings(max_examples=150)
@given(st.data())
def test_any_schedule_of_cyclic_batches_is_exact_from_one_over_smoothness(
    data: st.DataObject,
) -> None:
    """1/M <= eta <= 1/m: every slope between 0 and c is allowed."""
    steps = data.draw(st.integers(1, 20))
    run = NoisyCGD(
        n=data.draw(st.integers(3, 12)),
        batch_size=3,
        steps=steps,
        learning_rate=data.draw(st.lists(st.floats(0.1, 0.199), min_size=steps, max_size=steps)),
        noise=data.draw(st.lists(st.floats(0.3, 3.0), min_size=steps, max_size=steps)),
    )
    cert = certify(run, Geometry(**CLASS))
    assert cert.lower_mu == pytest.approx(cert.mu, rel=1e-9)


@pytest.mark.parametrize("eta", [0.05, 0.15, 0.195])
def test_a_smaller_last_batch_shows_fewer_slopes(eta: float) -> None:
    """Its sum is divided by b, so it curves less: in long runs all steps are held to that."""
    geometry = Geometry(**CLASS)
    bounds = []
    for epochs in (40_000, 60_000):  # step by step up to 200,000 steps, in closed form beyond
        run = NoisyCGD(
            n=13,
            batch_size=4,
            epochs=epochs,
            learning_rate=eta,
            noise=1.0,
            last_batch="divide_by_b",
        )
        cert = certify(run, geometry)
        assert cert.lower_mu is not None
        assert cert.mu is not None
        shape = NoisyCGD(**{**vars(run), "steps": 400})
        exact = max(linear_shift(shape, geometry, visits, 1.0) for _, visits in positions(shape))
        assert exact * (1 - 1e-9) <= cert.lower_mu <= cert.mu
        bounds.append(cert.lower_mu)
    assert bounds[1] <= bounds[0] * (1 + 1e-9)


def test_the_gap_of_the_paper_is_closed_on_mnist() -> None:
    geometry = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
    for epochs, gap in {50: 1.33, 100: 1.18, 200: 1.09}.items():
        run = NoisyCGD(n=60_000, batch_size=1_500, epochs=epochs, learning_rate=0.05, noise=0.01)
        cert = certify(run, geometry)
        assert cert.mu is not None
        assert cert.lower_mu == pytest.approx(cert.mu, rel=1e-9)
        last = range(39, run.steps, 40)
        quadratic = linear_shift(run, geometry, last, 0.002)
        assert cert.mu / quadratic == pytest.approx(gap, abs=0.005)


def test_small_steps_leave_a_gap() -> None:
    """eta < 1/M: a slope of 0 at the first visit is out of reach, and the bounds part."""
    run = NoisyCGD(n=9, batch_size=3, epochs=3, learning_rate=0.02, noise=1.0)
    cert = certify(run, Geometry(**CLASS))
    assert cert.mu is not None
    assert cert.lower_mu is not None
    assert 0.8 * cert.mu < cert.lower_mu < 0.9999 * cert.mu


@pytest.mark.parametrize(
    ("run", "changes"),
    [
        (NoisyGD(n=5, steps=9, learning_rate=0.1, noise=1.0), {"adjacency": "zero_out"}),
        (NoisyGD(n=5, steps=9, learning_rate=0.1, noise=1.0), {"diameter": 5.0}),
        (NoisyGD(n=5, steps=9, learning_rate=0.1, noise=1.0), {"strong_convexity": 10.0}),
        (NoisyGD(n=5, steps=9, learning_rate=0.1, noise=1.0), {"smoothness": math.inf}),
        (LangevinMC(steps=math.inf, learning_rate=0.1), {}),
        (ExponentialMechanism(), {"diameter": 5.0}),
        *(
            (
                NoisyCGD(n=9, batch_size=3, epochs=2, learning_rate=0.1, noise=1.0, order=order),
                {},
            )
            for order in ORDERS[1:]
        ),
    ],
)
def test_none_where_nothing_is_known(run: Any, changes: Any) -> None:
    assert certify(run, Geometry(**{**CLASS, **changes})).lower_mu is None


def test_equal_curvatures_are_not_exact() -> None:
    """theory.md: m = M = 1, eta = 1.5, t = 2 is truly .447 while gd-sc gives 1.342."""
    geometry = Geometry(strong_convexity=1.0, smoothness=1.0, sensitivity=1.0)
    run = NoisyGD(n=1, steps=2, learning_rate=1.5, noise=1.0)
    cert = certify(run, geometry)
    assert cert.mu == pytest.approx(1.342, abs=5e-4)
    assert linear_shift(run, geometry, [0, 1], 1.0) == pytest.approx(0.447, abs=5e-4)
    assert cert.lower_mu is None


def test_samplers() -> None:
    geometry = Geometry(**CLASS)
    draw = certify(ExponentialMechanism(), geometry)
    assert draw.lower_mu == pytest.approx(draw.mu, rel=1e-12)
    chain = certify(LangevinMC(steps=30, learning_rate=0.05), geometry)
    assert chain.lower_mu == pytest.approx(chain.mu, rel=1e-9)


@pytest.mark.parametrize("eta", [0.9999, 0.5, 0.99999999, 1.0, 1.9])
@pytest.mark.parametrize("spread", [1e-16, 1e-15, 1e-12, 1e-6])
def test_nearly_equal_curvatures_do_not_trip_over_rounding(eta: float, spread: float) -> None:
    M = 1.0 + 2 * spread
    geometry = Geometry(strong_convexity=1.0, smoothness=M, sensitivity=1.0)
    for rates in (eta, [eta] * 6):
        run = NoisyCGD(n=4, batch_size=2, epochs=3, learning_rate=rates, noise=1.0)
        cert = certify(run, geometry)
        assert cert.mu is not None
        assert (cert.lower_mu or 0.0) <= cert.mu


def test_a_run_that_only_composition_covers() -> None:
    """eta > 2/M: the class attains something, and composition is above it."""
    geometry = Geometry(strong_convexity=0.5, smoothness=3.0, sensitivity=1.0)
    run = NoisyGD(n=2, steps=6, learning_rate=1.0, noise=1.0)
    cert = certify(run, geometry, bounds="composition")
    assert cert.mu is not None
    assert cert.lower_mu is not None
    assert 0.5 * cert.mu < cert.lower_mu <= cert.mu
    fast = NoisyGD(n=2, steps=6, learning_rate=5.0, noise=1.0)  # eta m > 2
    assert certify(fast, geometry, bounds="composition").lower_mu is None


def test_each_run_has_the_statement_that_its_lower_bound_rests_on() -> None:
    size: dict[str, Any] = {"n": 10, "steps": 3, "learning_rate": 0.1, "noise": 1.0}
    assert lower_bound_of(NoisyGD(**size)).name == "Theorem B5"
    assert lower_bound_of(NoisySGD(**size, batch_size=2)).name == "Theorem B8"
    assert lower_bound_of(ExponentialMechanism()).citation == "[BSA24, Remark Tightness]"
