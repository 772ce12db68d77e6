"""Theorem V1 for one position of the record: figures, brute force, identities, forgery."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import (
    Certificate,
    Geometry,
    InvalidInput,
    Mixture,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    UnmetHypothesis,
    VerificationFailed,
    certify,
    compare,
)
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.schedules.releases import release_steps
from shiftdp.last_iterate.theorems.descent import solve
from shiftdp.last_iterate.theorems.released import joint as module
from tests.last_iterate.brute_force import gaussian_delta, positions, steps_of
from tests.last_iterate.schedules.test_segments import with_releases
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.released.joint_laws import joint_mu_of, segments_mu

EXAMPLES: usual.Examples = {"Theorem V1": (usual.RELEASED, usual.RIDGE)}

MNIST = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
SHAPE: dict[str, Any] = {"n": 60_000, "batch_size": 1_500, "learning_rate": 0.05, "noise": 0.01}


def equally_spaced(number: int) -> list[int]:
    return [2_000 * i // number for i in range(1, number + 1)]


@pytest.mark.parametrize(
    ("number", "epsilon"),
    [(1, 4.3392), (2, 5.3687), (5, 7.9031), (10, 11.3178), (50, 30.5063)],
)
def test_the_figures_of_the_mnist_setting(number: int, epsilon: float) -> None:
    run = NoisyCGD(**SHAPE, epochs=50, releases=equally_spaced(number))
    certificate = certify(run, MNIST)
    assert certificate.epsilon(1e-5) == pytest.approx(epsilon, abs=5.1e-5)
    assert certificate.lower_mu == pytest.approx(certificate.mu, rel=1e-10)
    certificate.verify()


def test_one_release_is_the_certificate_of_the_last_iterate_bit_by_bit() -> None:
    alone = certify(NoisyCGD(**SHAPE, epochs=50), MNIST)
    same = certify(NoisyCGD(**SHAPE, epochs=50, releases=[2_000]), MNIST)
    assert same.to_json() == alone.to_json()


@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_all_iterates_released_are_composition(order: Any) -> None:
    run = NoisyCGD(**SHAPE, epochs=5, order=order, releases="all")
    best, composed = certify(run, MNIST), certify(run, MNIST, bounds="composition")
    assert best.delta(1.0) == pytest.approx(composed.delta(1.0), rel=1e-12)
    hidden = NoisyCGD(**SHAPE, epochs=5, order=order)
    assert composed.mu == certify(hidden, MNIST, bounds="composition").mu


def visited(run: NoisyCGD, geometry: Geometry, visits: list[int]) -> tuple[Any, Any, Any]:
    c, s, sd = steps_of(run, geometry)
    seen = np.zeros(run.steps)
    seen[visits] = s[visits]
    return c, seen, sd


@settings(max_examples=120)
@given(with_releases("fixed"))
def test_fixed_order_is_the_worst_position(setting: tuple[NoisyCGD, Geometry]) -> None:
    run, geometry = setting
    if run.releases is None:
        return
    found = certify(run, geometry)
    worst = max(
        segments_mu(*visited(run, geometry, visits), release_steps(run), geometry.diameter)
        for _, visits in positions(run)
    )
    assert found.mu is not None
    assert worst * (1 - 1e-9) <= found.mu
    if found.bound == "Theorem V1":
        assert found.mu <= worst * (1 + 1e-8)
    found.verify()


@settings(max_examples=60)
@given(with_releases("shuffled_once"))
def test_shuffled_once_is_the_average_over_positions(setting: tuple[NoisyCGD, Geometry]) -> None:
    run, geometry = setting
    if run.releases is None:
        return
    cases = [
        (w, segments_mu(*visited(run, geometry, v), release_steps(run), geometry.diameter))
        for w, v in positions(run)
    ]
    found = certify(run, geometry)
    for epsilon in (0.0, 0.5, 2.0):
        exact = math.fsum(w * gaussian_delta(mu, epsilon) for w, mu in cases)
        assert found.delta(epsilon) >= exact * (1 - 1e-10) - 1e-14
        if found.bound == "Theorem V1" and len(found.proofs) == len(cases):
            assert found.delta(epsilon) <= exact * (1 + 1e-6) + 1e-12
    found.verify()


def random_setting(rng: np.random.Generator) -> tuple[NoisyCGD, Geometry]:
    M = rng.uniform(0.5, 3.0)
    geometry = Geometry(
        strong_convexity=M * rng.uniform(0.0, 0.9), smoothness=M, sensitivity=rng.uniform(0.5, 5.0)
    )
    ell, steps = int(rng.integers(1, 5)), int(rng.integers(2, 14))
    run = NoisyCGD(
        n=3 * ell,
        batch_size=3,
        steps=steps,
        learning_rate=rng.uniform(0.1, 1.9) / M,
        noise=rng.uniform(0.3, 2.0)
        if rng.random() < 0.5
        else rng.uniform(0.3, 2.0, steps).tolist(),
        releases=rng.integers(1, steps + 1, int(rng.integers(1, 5))).tolist(),
    )
    return run, geometry


def test_no_joint_law_of_thousands_is_below_its_certificate() -> None:
    """Linear recursions whose slopes are anything that the steps allow: Gaussian vectors."""
    rng = np.random.default_rng(17)
    laws, tightest = 0, 0.0
    for _ in range(250):
        run, geometry = random_setting(rng)
        mu = certify(run, geometry).mu
        assert mu is not None
        for _, visits in positions(run):
            c, s, sd = visited(run, geometry, visits)
            slopes = c * rng.choice([-1.0, 1.0, 1.0, 0.5], (6, c.size)) * rng.uniform(0.7, 1.0)
            slopes[0] = c
            exact = joint_mu_of(slopes, s, sd, release_steps(run))
            assert np.all(exact <= mu * (1 + 1e-9))
            laws, tightest = laws + exact.size, max(tightest, float(np.max(exact)) / mu)
    assert laws > 3_000
    assert tightest > 0.999


def test_what_is_attained_is_the_joint_law_of_the_best_slopes() -> None:
    """Theorem B5 in each segment: the slopes are clipped so that the fit is flat."""
    geometry = Geometry(strong_convexity=0.1, smoothness=2.0, sensitivity=3.0)
    shape: dict[str, Any] = {
        "n": 12,
        "batch_size": 4,
        "steps": 14,
        "learning_rate": 0.9,
        "noise": 1.0,
    }
    run = NoisyCGD(**shape, releases=[5, 9])
    certificate = certify(run, geometry)
    assert certificate.lower_mu == pytest.approx(certificate.mu, rel=1e-9)
    best = 0.0
    rng = np.random.default_rng(3)
    for _, visits in positions(run):
        c, s, sd = visited(run, geometry, visits)
        slopes = c * np.where(rng.random((40_000, c.size)) < 0.7, 1.0, rng.random((40_000, c.size)))
        best = max(best, float(np.max(joint_mu_of(slopes, s, sd, release_steps(run)))))
    assert certificate.mu is not None
    assert 0.97 * certificate.mu < best <= certificate.mu


def test_full_batches_by_any_name() -> None:
    geometry = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=3.0)
    steps: dict[str, Any] = {"steps": 20, "learning_rate": 0.3, "noise": 0.5, "releases": [5, 11]}
    found = [
        certify(run, geometry)
        for run in (
            NoisyGD(n=30, **steps),
            NoisyCGD(n=30, batch_size=30, **steps),
            NoisyCGD(n=30, batch_size=30, order="reshuffled", **steps),
            NoisySGD(n=30, batch_size=30, **steps),
        )
    ]
    assert {certificate.bound for certificate in found} == {"Theorem V1"}
    assert len({certificate.mu for certificate in found}) == 1
    harder = NoisyGD(n=30, **{**steps, "noise": [0.5] * 20})
    assert certify(harder, geometry).mu == pytest.approx(found[0].mu, rel=1e-9)
    for certificate in found:
        certificate.verify()


@pytest.mark.parametrize("diameter", [0.05, 0.4, 3.0])
def test_a_projection_has_its_own_best_start_in_each_segment(diameter: float) -> None:
    geometry = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=3.0, diameter=diameter)
    run = NoisyGD(n=10, steps=90, learning_rate=0.5, noise=0.4, releases=[10, 50])
    c, s, sd = steps_of(run, geometry)
    exact = segments_mu(c, s, sd, (10, 50, 90), diameter)
    assert certify(run, geometry).mu == pytest.approx(exact, rel=1e-9)


@settings(max_examples=60)
@given(with_releases("fixed"), st.integers(1, 12))
def test_one_release_more_never_leaks_less(setting: tuple[NoisyCGD, Geometry], step: int) -> None:
    run, geometry = setting
    steps = [*(release_steps(run)), min(step, run.steps)]
    more = NoisyCGD(**{**vars(run), "releases": steps})
    few, many = certify(run, geometry).mu, certify(more, geometry).mu
    assert few is not None
    assert many is not None
    assert few <= many * (1 + 1e-9)


def test_the_first_releases_cost_less_and_less() -> None:
    certificate = certify(NoisyCGD(**SHAPE, epochs=50, releases=equally_spaced(5)), MNIST)
    spent = [certificate.after(i).epsilon(1e-5) for i in range(1, 6)]
    assert spent == sorted(spent)
    assert spent[0] == certify(NoisyCGD(**SHAPE, epochs=10), MNIST).epsilon(1e-5)
    assert certificate.after(5) is certificate
    certificate.after(3).verify()
    composed = certify(certificate.run, MNIST, bounds="composition").after(2)
    assert composed.bound == "Thm mgd (composition)"
    with pytest.raises(InvalidInput, match="i=6"):
        certificate.after(6)


def test_positions_are_told_apart() -> None:
    certificate = certify(NoisyCGD(**SHAPE, epochs=4, releases=[50, 85]), MNIST)
    each = certificate.by_position()
    assert max(each.values()) == pytest.approx(certificate.mu, rel=1e-9)
    assert max(each, key=lambda j: each[j]) in (10, 5, 40)


@pytest.mark.parametrize("equal", [True, False])
def test_many_positions_are_grouped_between_releases(equal: bool) -> None:
    """One of a group stands for all, at little cost, and no group reaches over a release."""
    batches, steps = 300, 1_000
    rates = 0.5 if equal else [0.5 / (1 + k / steps) for k in range(steps)]
    geometry = Geometry(strong_convexity=0.01, smoothness=2.0, sensitivity=4.0)
    run = NoisyCGD(
        n=2 * batches,
        batch_size=2,
        steps=steps,
        learning_rate=rates,
        noise=2.0,
        order="shuffled_once",
        releases=[130, 555],
    )
    found = certify(run, geometry)
    assert found.bound == "Theorem V1"
    assert len(found.proofs) < batches
    cases = [(1 / batches, mu) for mu in found.by_position().values()]
    for epsilon in (0.1, 0.5, 1.5):
        exact = math.fsum(w * gaussian_delta(mu, epsilon) for w, mu in cases)
        assert exact * (1 - 1e-9) <= found.delta(epsilon) <= exact * 1.2
    found.verify()


def test_long_runs_are_cut_as_fast_as_short_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def counted(schedule: Any) -> Any:
        calls.append(schedule)
        return solve(schedule)

    monkeypatch.setattr(module, "solve", counted)
    million = 10**6
    run = NoisyCGD(**SHAPE, steps=million, releases=[million * i // 50 for i in range(1, 51)])
    certify(run, MNIST)
    assert len(calls) <= 6
    calls.clear()
    certify(NoisyCGD(**SHAPE, epochs=10**9, releases="epochs"), MNIST)
    assert len(calls) == 1


def test_too_many_segments_are_left_to_composition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PARTS", 3)
    run = NoisyCGD(**SHAPE, epochs=10, releases=[7, 18, 31, 50])
    assert certify(run, MNIST).bound == "Thm mgd (composition)"


def test_a_release_without_noise_is_refused_with_its_step() -> None:
    noise = [1.0] * 4 + [0.0] * 2 + [1.0] * 4
    run = NoisyGD(n=10, steps=10, learning_rate=0.1, noise=noise, releases=[6])
    geometry = Geometry(strong_convexity=0.5, smoothness=2.0, sensitivity=1.0)
    with pytest.raises(UnmetHypothesis, match="step 6"):
        certify(run, geometry)
    certify(NoisyGD(n=10, steps=10, learning_rate=0.1, noise=noise, releases=[4, 7]), geometry)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    run = NoisyCGD(**SHAPE, epochs=4, releases=[50, 100])
    found: dict[str, Any] = json.loads(certify(run, MNIST).to_json())
    return found


def edits() -> dict[str, Any]:
    def halved(shifts: dict[str, Any]) -> None:
        shifts["amount"] = [0.5 * a for a in shifts["amount"]]

    def lower(shifts: dict[str, Any]) -> None:
        shifts["mu"] *= 1 - 1e-9

    return {
        "a release is denied": lambda d: d["run"].update(releases=[50, 160]),
        "all are denied": lambda d: d["run"].pop("releases"),
        "it is said to come later": lambda d: d["run"].update(releases=[60, 100, 160]),
        "a segment is left out": lambda d: d["proofs"][0]["segments"].pop(),
        "a segment is another": lambda d: d["proofs"][0]["segments"].reverse(),
        "a position is left out": lambda d: d["proofs"].pop(),
        "shifts are less": lambda d: halved(d["proofs"][0]["segments"][0]),
        "a part states less": lambda d: lower(d["proofs"][0]["segments"][0]),
        "the whole states less": lambda d: d.update(
            mu=d["mu"] * (1 - 1e-9), tradeoff={"type": "gaussian", "mu": d["mu"] * (1 - 1e-9)}
        ),
        "it is said to be the last iterate": lambda d: d.update(bound="Theorem B1"),
    }


@pytest.mark.parametrize("edit", edits())
def test_forged_certificates_are_refused(edit: str, document: dict[str, Any]) -> None:
    forged = json.loads(json.dumps(document))
    Certificate.from_json(json.dumps(forged)).verify()
    edits()[edit](forged)
    with pytest.raises((VerificationFailed, InvalidInput)):
        Certificate.from_json(json.dumps(forged)).verify()


def test_the_last_iterate_theorems_do_not_speak_of_runs_with_releases() -> None:
    run = NoisyCGD(**SHAPE, epochs=4, releases="epochs")
    hidden = certify(NoisyCGD(**SHAPE, epochs=4), MNIST)
    with pytest.raises(VerificationFailed, match="not about such a run"):
        replace(hidden, run=run).verify()
    assert certify(run, MNIST, bounds="paper").bound == "Thm mgd (composition)"


def test_the_table_of_others_knows_of_releases() -> None:
    table = compare(NoisyCGD(**SHAPE, epochs=50, releases=equally_spaced(5)), MNIST, delta=1e-5)
    assert table["prior Renyi"].epsilon is None
    assert "V1" in table["prior Renyi"].note
    assert table["lower bound"].epsilon == pytest.approx(table["best"].epsilon, rel=1e-6)
    assert table["best"].bound == "Theorem V1"


def test_a_mixture_has_no_mu_and_its_order_matters() -> None:
    costs, orders = {}, get_args(Order)
    for order, number in itertools.product(orders, (2, 10)):
        run = NoisyCGD(**SHAPE, epochs=50, order=order, releases=equally_spaced(number))
        costs[order, number] = certify(run, MNIST).epsilon(1e-5)
    assert costs["reshuffled", 2] < costs["shuffled_once", 2] < costs["fixed", 2]
    assert costs["reshuffled", 10] < 0.5 * costs["fixed", 10]
    shuffled = certify(
        NoisyCGD(**SHAPE, epochs=50, order="shuffled_once", releases="epochs"), MNIST
    )
    assert isinstance(shuffled.f, Mixture)
