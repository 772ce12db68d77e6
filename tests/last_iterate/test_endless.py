"""Runs without end: one bound for every length."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import (
    Certificate,
    Geometry,
    InvalidInput,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    UnmetHypothesis,
    VerificationFailed,
    certify,
    compare,
)
from shiftdp.fdp import GaussianTradeoff, Mixture
from shiftdp.interpolation.closed_forms.cyclic_descent import mgd_sc
from shiftdp.interpolation.closed_forms.gradient_descent import gd_proj_best, gd_sc
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.endless import stand_in
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.theorems.composed_visits import composition_mu
from shiftdp.last_iterate.theorems.proofs import Proof

STRONG = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=2.0)
BODY = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=2.0, diameter=0.5)
WEAK = Geometry(strong_convexity=-0.05, smoothness=2.0, sensitivity=2.0, diameter=0.5)
ORDERS: list[Order] = ["fixed", "shuffled_once", "reshuffled"]


def test_the_limits_of_the_closed_forms() -> None:
    run = NoisyGD(n=10, steps=math.inf, learning_rate=0.1, noise=0.5)
    assert certify(run, STRONG).mu == pytest.approx(gd_sc(0.98, 0.02, 0.05, math.inf), rel=1e-10)
    bounded = certify(run, BODY)
    assert bounded.mu == pytest.approx(gd_proj_best(0.02, 0.05, 0.5, math.inf), rel=1e-10)
    cyclic = NoisyCGD(n=40, batch_size=10, epochs=math.inf, learning_rate=0.1, noise=0.5)
    assert cyclic.epochs == cyclic.steps == math.inf
    expected = mgd_sc(0.98, 0.02, 0.05, 4, math.inf)
    assert certify(cyclic, STRONG).mu == pytest.approx(expected, rel=1e-10)
    assert certify(cyclic, STRONG, bounds="paper").mu == pytest.approx(expected, rel=1e-10)


@given(
    st.sampled_from(ORDERS),
    st.sampled_from([STRONG, BODY, WEAK, replace(STRONG, diameter=0.3)]),
    st.integers(1, 5),
    st.integers(1, 4),
    st.floats(0.01, 0.99),
    st.integers(1, 2000),
)
def test_no_length_leaks_more(
    order: Order, geometry: Geometry, ell: int, size: int, rate: float, epochs: int
) -> None:
    given: dict[str, Any] = {
        "n": ell * size,
        "batch_size": size,
        "learning_rate": rate,
        "noise": 0.5,
        "order": order,
    }
    endless = certify(NoisyCGD(**given, epochs=math.inf), geometry)
    finite = certify(NoisyCGD(**given, epochs=epochs), geometry)
    assert finite.epsilon(1e-5) <= endless.epsilon(1e-5) * (1.0 + 1e-11)
    assert finite.advantage() <= endless.advantage() * (1.0 + 1e-11)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("geometry", [STRONG, replace(STRONG, diameter=0.3)])
def test_endless_certificates_are_checked_and_stored(order: Order, geometry: Geometry) -> None:
    run = NoisyCGD(n=40, batch_size=10, epochs=math.inf, learning_rate=0.1, noise=0.5, order=order)
    certificate = certify(run, geometry)
    certificate.verify()
    again = Certificate.from_json(certificate.to_json())
    assert again.run == run
    again.verify()
    assert "steps=inf" in certificate.statement()
    # the certificate of some finite run is not one of the endless one
    short = certify(NoisyCGD(**{**vars(run), "steps": 8}), geometry)
    with pytest.raises(VerificationFailed):
        replace(short, run=run).verify()


@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
@pytest.mark.parametrize(
    "geometry", [replace(STRONG, strong_convexity=2.0), replace(BODY, diameter=0.02)]
)
def test_random_batches_without_end(sampling: Any, geometry: Geometry) -> None:
    geometry = replace(geometry, gradient_bound=1.0)
    given: dict[str, Any] = {
        "n": 100,
        "batch_size": 10,
        "learning_rate": 0.05,
        "noise": 1.0,
        "sampling": sampling,
    }
    run = NoisySGD(**given, steps=math.inf)
    certificate = certify(run, geometry)
    certificate.verify()
    assert certificate.run.steps == math.inf  # type: ignore[union-attr]
    limit = certificate.epsilon(1e-5)
    for steps in (10, 10**6):
        # the search over tau is not the same; what it finds may be worse by a little
        assert certify(NoisySGD(**given, steps=steps), geometry).epsilon(1e-5) <= limit * 1.01
    with pytest.raises(UnmetHypothesis, match="never forgotten"):
        certify(run, geometry, bounds="composition")


def test_what_never_forgets_is_refused() -> None:
    plain = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=2.0)
    run = NoisyGD(n=10, steps=math.inf, learning_rate=0.1, noise=0.5)
    for geometry in (plain, Geometry(strong_convexity=-0.1, smoothness=2.0, sensitivity=2.0)):
        with pytest.raises(UnmetHypothesis, match="never forgotten"):
            certify(run, geometry)
    with pytest.raises(UnmetHypothesis, match="never forgotten"):
        certify(run, STRONG, bounds="composition")
    with pytest.raises(UnmetHypothesis):
        certify(LangevinMC(steps=math.inf, learning_rate=0.1), plain)
    capped = NoisySGD(
        n=100,
        batch_size=10,
        steps=math.inf,
        learning_rate=0.05,
        noise=1.0,
        sampling="poisson",
        batch_cap=60,
    )
    with pytest.raises(UnmetHypothesis):
        certify(capped, STRONG)
    for name in ("learning_rate", "noise"):
        given: dict[str, Any] = {"learning_rate": 0.1, "noise": 0.5, name: (0.1, 0.2)}
        with pytest.raises(InvalidInput, match="one entry a step"):
            NoisyGD(n=10, steps=math.inf, **given)


def test_a_contraction_too_close_to_one_is_refused() -> None:
    """1 - c = 2e-17 is not forgotten in 2^53 steps."""
    close = Geometry(strong_convexity=1e-17, smoothness=2.0, sensitivity=2.0)
    run = NoisyGD(n=10, steps=math.inf, learning_rate=0.1, noise=0.5)
    with pytest.raises(UnmetHypothesis, match="never forgotten"):
        stand_in(run, close)


def test_compare_has_the_limits() -> None:
    run = NoisyCGD(n=40, batch_size=10, epochs=math.inf, learning_rate=0.1, noise=0.5)
    table = compare(run, STRONG, delta=1e-5)
    assert table["composition"].epsilon is None
    lower, best, paper, prior = (
        table[name].epsilon for name in ("lower bound", "best", "paper", "prior Renyi")
    )
    assert lower is not None
    assert best is not None
    assert paper is not None
    assert prior is not None
    assert lower <= best <= paper * (1 + 1e-11) < prior
    refused = [name for name, _ in evaluate(run, STRONG).refused]
    assert "Thm mgd (composition)" in refused


def test_composition_of_the_stand_in_caps_nothing() -> None:
    """Records that come first in an epoch dominate by 2^49: composition of 2^53 steps is below."""
    geometry = Geometry(strong_convexity=-10.0, smoothness=2.0, sensitivity=1e-8, diameter=0.02)
    given: dict[str, Any] = {
        "n": 50,
        "batch_size": 1,
        "learning_rate": 0.1,
        "noise": 1.0,
        "order": "reshuffled",
    }
    run = NoisyCGD(**given, epochs=math.inf)
    cert = certify(run, geometry)
    most = composition_mu(stand_in(run, geometry), geometry)
    proofs = [proof for proof in cert.proofs if isinstance(proof, Proof)]
    assert isinstance(cert.f, Mixture)
    assert min(proof.shifts.mu for proof in proofs) > most
    assert cert.f.components == tuple(GaussianTradeoff(proof.shifts.mu) for proof in proofs)
    cert.verify()
    capped = Mixture([GaussianTradeoff(most)] * len(proofs), cert.f.weights)
    with pytest.raises(VerificationFailed, match="less than is proved"):
        replace(cert, f=capped).verify()
    # of a run that has an end, composition is a bound
    finite = certify(NoisyCGD(**given, epochs=100), geometry)
    composed = certify(finite.run, geometry, bounds="composition")
    assert finite.advantage() <= composed.advantage() * (1 + 1e-9)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("c", [0.97, 1.0, 1.0005, 1.24])
def test_the_limit_of_the_finite_runs(order: Order, c: float) -> None:
    """At least each of them, never falling, and reached."""
    geometry = Geometry(
        strong_convexity=(1.0 - c) / 0.1, smoothness=10.0, sensitivity=1.0, diameter=0.05
    )
    given: dict[str, Any] = {
        "n": 10,
        "batch_size": 2,
        "learning_rate": 0.1,
        "noise": 2.0,
        "order": order,
    }
    endless = certify(NoisyCGD(**given, epochs=math.inf), geometry)
    endless.verify()
    limit = endless.delta(1.0)
    before = 0.0
    for epochs in (1, 2, 5, 20, 100, 200, 250, 300, 400, 1000, 10**5):
        delta = certify(NoisyCGD(**given, epochs=epochs), geometry).delta(1.0)
        assert before <= delta * (1 + 1e-10)
        assert delta <= limit * (1 + 1e-10)
        before = delta
    assert before == pytest.approx(limit, rel=1e-9)


def test_composition_is_passed_over_where_another_bound_has_a_limit() -> None:
    """A sensitivity so small that 2^53 steps compose to nothing: the diameter still counts."""
    tiny = replace(BODY, sensitivity=1e-13)
    cert = certify(NoisyGD(n=10, steps=math.inf, learning_rate=0.1, noise=0.5), tiny)
    assert cert.bound == "Theorem B1"
    cert.verify()


def test_records_that_are_never_used_do_not_stand_in_the_way() -> None:
    run = NoisyCGD(
        n=11,
        batch_size=2,
        epochs=math.inf,
        learning_rate=0.1,
        noise=0.5,
        order="shuffled_once",
        last_batch="drop",
    )
    cert = certify(run, BODY)
    cert.verify()
    assert cert.epsilon(1e-5) < certify(NoisyCGD(**{**vars(run), "order": "fixed"}), BODY).epsilon(
        1e-5
    )


FAR = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=1.0, diameter=10.0)
"""So wide that 2^53 of the steps below do not lead from one end to the other."""
FAR_RUNS: list[Any] = [
    NoisyGD(n=10**9, steps=math.inf, learning_rate=1e-7, noise=0.1),
    NoisySGD(
        n=10**9,
        batch_size=10**9,
        steps=math.inf,
        learning_rate=1e-7,
        noise=0.1,
    ),
    LangevinMC(steps=math.inf, learning_rate=1e-16),
    *(
        NoisyCGD(
            n=10**10,
            batch_size=10**9,
            epochs=math.inf,
            learning_rate=1e-7,
            noise=0.1,
            order=order,
        )
        for order in ORDERS
    ),
]


@pytest.mark.parametrize("run", FAR_RUNS)
@pytest.mark.parametrize("c", [1.0, 1.0 - 2.0**-53])
def test_a_proof_for_the_stand_in_alone_is_no_proof(run: Any, c: float) -> None:
    """Shifts that begin one step later, from what one step can lead to, are still about 2^53."""
    if isinstance(run, LangevinMC):
        c = 1.0  # otherwise it is proved by a formula
    geometry = replace(FAR, strong_convexity=(1.0 - c) / run.learning_rate)
    descent = run.as_descent(run.steps) if isinstance(run, LangevinMC) else run
    finite = stand_in(descent, geometry)
    long = certify(finite, geometry)
    if isinstance(run, LangevinMC):
        run = replace(run, steps=finite.steps)
        long = certify(run, geometry)
    data = json.loads(long.to_json())
    data["run"]["steps"] = "inf"
    for proof in data["proofs"]:
        shifts = proof["shifts"]
        if shifts["tau"] == 0 and shifts["first"][0] < shifts["last"][0]:
            shifts["tau"], shifts["first"][0] = 1, 2
            shifts["start"] = 1e-15
    with pytest.raises(VerificationFailed, match="never forgotten"):
        Certificate.from_json(json.dumps(data)).verify()


def test_a_proof_from_the_distance_of_one_step_was_accepted() -> None:
    geometry = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0, diameter=1e4)
    given: dict[str, Any] = {"n": 10**8, "batch_size": 100, "learning_rate": 1e-5, "noise": 1.0}
    steps = 2**53 // 10**6 * 10**6
    data = json.loads(certify(NoisyCGD(**given, steps=steps), geometry).to_json())
    data["run"]["steps"] = "inf"
    shifts = data["proofs"][0]["shifts"]
    shifts["tau"], shifts["first"][0] = 1, 2
    shifts["mu"] = data["mu"] = data["tradeoff"]["mu"] = shifts["mu"] * (1 + 1e-9)
    with pytest.raises(VerificationFailed, match="never forgotten"):
        Certificate.from_json(json.dumps(data)).verify()


@pytest.mark.parametrize("run", FAR_RUNS)
@pytest.mark.parametrize("slope", [0.0, 1.0, -1.0])
def test_a_bounded_set_gives_every_endless_run_a_number(run: Any, slope: float) -> None:
    """From the diameter; not below the number of a long run, nor far above the paper's window."""
    geometry = replace(FAR, strong_convexity=slope * 2.0**-53 / run.learning_rate)
    cert = certify(run, geometry)
    cert.verify()
    Certificate.from_json(cert.to_json()).verify()
    long = certify(replace(run, steps=10**15), geometry)
    assert long.epsilon(1e-5) <= cert.epsilon(1e-5) * (1 + 1e-9)
    if isinstance(run, NoisyGD) and slope == 0.0:
        expected = gd_proj_best(1e-7 / 10**9, 1e-8, 10.0, 2**53)
        assert cert.mu == pytest.approx(expected, rel=1e-9)


def test_sampled_batches_on_a_wide_set_have_a_number() -> None:
    run = NoisySGD(
        n=10**9,
        batch_size=10**8,
        steps=math.inf,
        learning_rate=1e-7,
        noise=0.1,
    )
    cert = certify(run, FAR)
    assert cert.bound == "Thm sgd-proj"
    cert.verify()


def test_the_stationary_law_is_not_that_of_a_long_run() -> None:
    """A contraction that 2^53 steps do not feel: no formula for so many steps is one for all."""
    close = replace(FAR, strong_convexity=2.0**-50 / 1e-16, smoothness=20.0)
    run = LangevinMC(steps=math.inf, learning_rate=1e-16)
    names = [bound.name for bound in evaluate(run, close).found]
    assert "Thm gd-sc" not in names
    plain = NoisyGD(n=10**9, steps=math.inf, learning_rate=1e-7, noise=0.1)
    names = [bound.name for bound in evaluate(plain, replace(close, strong_convexity=8e-9)).found]
    assert "Thm gd-sc" not in names
    assert "Thm gd-proj" in names


@pytest.mark.parametrize("steps", [math.inf, 2**53])
def test_the_strongly_convex_theorem_is_verified_next_to_no_contraction(steps: Any) -> None:
    run = NoisySGD(n=1000, batch_size=10, steps=steps, learning_rate=0.5, noise=0.1)
    geometry = Geometry(strong_convexity=2e-6, smoothness=1.0, sensitivity=1.0)
    cert = certify(run, geometry, bounds="paper")
    assert cert.bound == "Thm sgd-sc"
    cert.verify()


@pytest.mark.parametrize(
    "run",
    [
        NoisyGD(n=1, steps=2**53, learning_rate=50.0, noise=1.0),
        LangevinMC(steps=2**53, learning_rate=50.0),
    ],
)
def test_records_without_effect_are_verified_however_steps_expand(run: Any) -> None:
    geometry = Geometry(strong_convexity=-1e5, smoothness=1e-3, sensitivity=0.0, diameter=1e-6)
    cert = certify(run, geometry)
    assert cert.bound == "Theorem B1"
    assert cert.mu == 0.0
    cert.verify()
