"""Random batches in steps that differ, and random allocation: composition, its check, its JSON."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp import UnmetHypothesis, VerificationFailed
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.sampled.checks import verify_constants
from shiftdp.last_iterate.theorems.sampled.composition import product, subsampled
from shiftdp.last_iterate.theorems.sampled.shifts import charged_steps, participation_up
from tests.last_iterate.quadratic_run import QuadraticRun
from tests.last_iterate.theorems.sampled.cases import b3_of, certificate_by

ALONE = sdp.Geometry(strong_convexity=0.2, smoothness=1, sensitivity=5, adjacency="zero_out")
PAIR = sdp.Geometry(strong_convexity=0.2, smoothness=1, sensitivity=5, gradient_bound=2.5)
SHAPE: dict[str, Any] = {"n": 60, "batch_size": 20, "learning_rate": 0.1}
CASES = [("without_replacement", PAIR), ("poisson", PAIR), ("poisson", ALONE)]


def two_levels(sampling: Any, steps: int = 12) -> sdp.NoisySGD:
    noise = [2.0] * (steps // 2) + [1.0] * (steps - steps // 2)
    return sdp.NoisySGD(**SHAPE, steps=steps, noise=noise, sampling=sampling)


@pytest.mark.parametrize(("sampling", "geometry"), CASES)
def test_equal_steps_one_by_one_are_equal_steps(sampling: Any, geometry: sdp.Geometry) -> None:
    once = sdp.NoisySGD(**SHAPE, steps=12, noise=1.0, sampling=sampling)
    each = sdp.NoisySGD(**{**SHAPE, "learning_rate": [0.1] * 12}, steps=12, noise=[1.0] * 12,
                        sampling=sampling)  # fmt: skip
    whole = sdp.certify(once, geometry, bounds="composition")
    listed = sdp.certify(each, geometry, bounds="composition")
    assert listed.f == whole.f


@pytest.mark.parametrize(("sampling", "geometry"), CASES)
def test_more_noise_in_some_steps_leaks_less(sampling: Any, geometry: sdp.Geometry) -> None:
    def epsilon(noise: Any, bounds: Any = "best") -> float:
        run = sdp.NoisySGD(**SHAPE, steps=12, noise=noise, sampling=sampling)
        return sdp.certify(run, geometry, bounds=bounds).epsilon(1e-5)

    early, late, mixed = [2.0] * 6 + [1.0] * 6, [1.0] * 6 + [2.0] * 6, [2.0, 1.0] * 6
    less = [1.0] * 7 + [1.5] * 5
    assert epsilon(2.0) < epsilon(late) < epsilon(less) < epsilon(1.0)
    # it helps most in the last steps, but to composition it does not matter where it is
    assert epsilon(late) < epsilon(early) < epsilon(1.0)
    assert epsilon(late, "composition") < epsilon(less, "composition")
    assert epsilon(early, "composition") == epsilon(mixed, "composition")


def test_two_different_steps_against_the_exact_law() -> None:
    """Poisson, zero_out: the hockey-stick divergence of two steps, by quadrature on a plane."""
    run = sdp.NoisySGD(n=60, batch_size=20, steps=2, learning_rate=0.1, noise=[0.25, 0.5],
                       sampling="poisson")  # fmt: skip
    p, shifts = 1 / 3, (1.0, 0.5)
    grid = np.arange(-9.0, 10.5, 0.01)

    def density(x: np.ndarray, centre: float) -> np.ndarray:
        return np.exp(-0.5 * (x - centre) ** 2) / math.sqrt(2 * math.pi)

    there = [(1 - p) * density(grid, 0.0) + p * density(grid, s) for s in shifts]
    P, Q = np.outer(*there), np.outer(density(grid, 0.0), density(grid, 0.0))
    certificate = sdp.certify(run, ALONE, bounds="composition", accuracy=1e-5)
    for epsilon in (0.1, 0.5, 1.0):
        worse = max(
            float(np.maximum(A - math.exp(epsilon) * B, 0.0).sum()) for A, B in ((P, Q), (Q, P))
        )
        assert certificate.delta(epsilon) == pytest.approx(worse * 1e-4, rel=1e-3)


def test_very_many_different_steps_are_charged_as_a_few() -> None:
    noise = np.geomspace(1.0, 4.0, 2000)
    run = sdp.NoisySGD(n=2000, batch_size=20, steps=2000, learning_rate=0.1, noise=noise.tolist())
    charged = charged_steps(run, PAIR)
    assert len(charged) == 64
    verify_constants(run, PAIR, participation_up(run), charged)
    found = product([(subsampled(0.01, s), n) for s, n in charged], 1e-3).epsilon(1e-5)
    # from below: the same steps, rounded down to twenty levels
    exact = np.sort(5.0 / (20 * noise)).reshape(20, 100)
    below = product([(subsampled(0.01, float(row[0])), 100) for row in exact], 1e-3)
    assert below.epsilon(1e-5) < found < 1.06 * below.epsilon(1e-5)


def test_steps_may_not_be_charged_less_than_they_cost() -> None:
    run = two_levels("without_replacement")
    p, charged = participation_up(run), charged_steps(run, PAIR)
    (small, m), (large, n) = charged
    verify_constants(run, PAIR, p, charged)
    verify_constants(run, PAIR, p, [(large, n + m)])
    for forged in (
        [(small, m + n)],
        [(small, m + 1), (large, n - 1)],
        [(small, m - 1), (large, n)],
        [(small * (1 - 1e-12), m), (large, n)],
        [(small, m), (large * (1 - 1e-12), n)],
        [(small, m), (math.inf, n)],
    ):
        with pytest.raises(VerificationFailed):
            verify_constants(run, PAIR, p, forged)


@pytest.mark.parametrize(("sampling", "geometry"), [*CASES, ("random_allocation", ALONE)])
def test_certificates_of_schedules_are_kept_and_checked(
    sampling: Any, geometry: sdp.Geometry
) -> None:
    certificate = sdp.certify(two_levels(sampling), geometry)
    certificate.verify()
    back = Certificate.from_json(certificate.to_json())
    assert back == certificate
    back.verify()
    noise = [2.0] * 5 + [1.0] * 7
    other = sdp.NoisySGD(**{**vars(certificate.run), "noise": noise})
    with pytest.raises(VerificationFailed):
        replace(certificate, run=other).verify()


@pytest.mark.parametrize(("sampling", "geometry"), CASES)
def test_the_theorems_of_the_paper_are_for_equal_steps(
    sampling: Any, geometry: sdp.Geometry
) -> None:
    refused = dict(evaluate(two_levels(sampling), geometry, "paper").refused)
    assert set(refused) == {"Thm sgd-sc", "Thm sgd-proj"}
    assert all(isinstance(reason, UnmetHypothesis) for reason in refused.values())
    if sampling == "without_replacement":
        assert refused["Thm sgd-sc"].name == "noise"
        assert "give one number for all steps" in refused["Thm sgd-sc"].remedy


class TestRandomAllocation:
    """One visit an epoch: s sqrt(E), and with unequal steps the worst of each epoch.

    Theorem A1 is the better bound by composition, for which the same moves count.
    """

    def revealed(self, noise: Any) -> Certificate:
        """With the places revealed, whether or not that is the best bound."""
        found = certificate_by("Random allocation (composition)", self.run(noise), ALONE, 1e-5)
        hidden = sdp.certify(self.run(noise), ALONE, bounds="composition")
        assert hidden.bound == "Theorem A1 (composition)"
        hidden.verify()
        assert hidden.epsilon(1e-5) < found.epsilon(1e-5)
        assert hidden.delta(0.2) < found.delta(0.2)
        return found

    def run(self, noise: Any, epochs: int = 4) -> sdp.NoisySGD:
        return sdp.NoisySGD(**SHAPE, epochs=epochs, noise=noise, sampling="random_allocation")

    def test_one_visit_an_epoch_is_charged(self) -> None:
        certificate = self.revealed(0.5)
        assert certificate.mu is not None
        assert certificate.mu == pytest.approx(5 / 20 / 0.5 * 2, rel=1e-12)
        assert certificate.mu >= 1.0

    def test_the_least_noise_of_an_epoch_counts(self) -> None:
        noise = [1.0, 0.5, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 0.25, 4.0, 4.0, 4.0]
        certificate = self.revealed(noise)
        worst = [0.5, 2.0, 0.25, 4.0]
        assert certificate.mu == pytest.approx(math.hypot(*(0.25 / x for x in worst)), rel=1e-12)

    def test_full_batches_are_gradient_descent(self) -> None:
        run = sdp.NoisySGD(n=20, batch_size=20, epochs=5, learning_rate=0.1, noise=1.0,
                           sampling="random_allocation")  # fmt: skip
        full = sdp.NoisyGD(n=20, steps=5, learning_rate=0.1, noise=1.0)
        assert sdp.certify(run, ALONE).mu == sdp.certify(full, ALONE).mu

    def test_replace_one_is_refused(self) -> None:
        with pytest.raises(UnmetHypothesis, match="adjacency='zero_out'"):
            sdp.certify(self.run(0.5), PAIR)

    def test_the_assumption_says_what_is_drawn(self) -> None:
        words = str(sdp.certify(self.run(0.5), ALONE))
        assert "each of the 60 records goes into one of 3 batches" in words
        assert "sums are divided by 20" in words


def led(run: sdp.NoisySGD, geometry: sdp.Geometry, delta: float = 1e-5) -> Certificate:
    """The certificate by Theorem B3, whether or not it is the best; verified."""
    certificate = certificate_by(b3_of(run), run, geometry, delta)
    certificate.verify()
    return certificate


class TestTheoremB3:
    """Shifts that lead two runs together, where steps differ."""

    LONG: ClassVar[dict[str, Any]] = {"n": 1000, "batch_size": 10, "steps": 400}
    RIDGE = sdp.Geometry(strong_convexity=1.0, smoothness=10, sensitivity=10.0, gradient_bound=10)
    SINGLE = sdp.Geometry(strong_convexity=1, smoothness=10, sensitivity=10, adjacency="zero_out")

    @pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
    def test_equal_steps_one_by_one_have_the_number_of_equal_steps(self, sampling: Any) -> None:
        geometry = self.SINGLE if sampling == "poisson" else self.RIDGE
        equal = sdp.NoisySGD(**self.LONG, learning_rate=0.05, noise=1.0, sampling=sampling)
        listed = sdp.NoisySGD(**self.LONG, learning_rate=[0.05] * 400, noise=1.0, sampling=sampling)
        assert led(listed, geometry).epsilon(1e-5) == pytest.approx(
            led(equal, geometry).epsilon(1e-5), rel=2e-3
        )

    @pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
    def test_a_cool_down_helps(self, sampling: Any) -> None:
        geometry = self.SINGLE if sampling == "poisson" else self.RIDGE
        noise = sdp.cooldown(400, 1.0, last=20, factor=2)

        def epsilon(noise: Any) -> float:
            run = sdp.NoisySGD(**self.LONG, learning_rate=0.05, noise=noise, sampling=sampling)
            return led(run, geometry).epsilon(1e-5)

        assert epsilon(noise) < 0.9 * epsilon(1.0)

    @pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
    @pytest.mark.parametrize("half", [1.0, pytest.param(12.0, marks=pytest.mark.slow)])
    def test_it_is_never_below_an_exact_law(self, sampling: Any, half: float) -> None:
        """Quadratics on a line, with falling rates and more noise at the end."""
        slope, p, s, eta = 0.6, 0.2, 1.0, 0.1
        steps = tuple(
            (1.0 / (1 + k / 4), 1.0 / (1 + k / 4) * (3.0 if k >= 6 else 1.0)) for k in range(8)
        )
        exact = QuadraticRun(slope, p, 1.0, half, 8, rates=steps)
        run = sdp.NoisySGD(
            n=1000,
            batch_size=200,
            steps=8,
            learning_rate=[eta * rate for rate, _ in steps],
            noise=[noise / (rate * eta) for rate, noise in steps],
            sampling=sampling,
        )
        curvature = (1.0 - slope) / eta
        for pull, other in ((s, 0.0), (s / 2, -s / 2)):
            alone = sampling == "poisson" and other == 0.0
            geometry = sdp.Geometry(
                strong_convexity=curvature,
                smoothness=curvature,
                sensitivity=s * 200 / eta,
                diameter=math.inf if half >= 8.0 else 2.0 * half,
                adjacency="zero_out" if alone else "replace_one",
                gradient_bound=max(abs(pull), abs(other)) * 200 / eta,
            )
            leaks = {epsilon: exact.delta(pull, other, epsilon) for epsilon in (0.2, 1.0)}
            for certificate in (led(run, geometry, 1e-3), sdp.certify(run, geometry, delta=1e-3)):
                for epsilon, leaked in leaks.items():
                    assert leaked <= certificate.delta(epsilon) * (1 + 1e-3) + 1e-6
                if half >= 8.0:
                    assert leaks[0.2] > 0.1 * certificate.delta(0.2)

    def test_forged_shifts_are_refused(self) -> None:
        noise = sdp.cooldown(400, 1.0, last=20, factor=2)
        rates = [0.05 / math.sqrt(1 + k / 100) for k in range(400)]
        run = sdp.NoisySGD(**self.LONG, learning_rate=rates, noise=noise)
        certificate = led(run, self.RIDGE)
        back = Certificate.from_json(certificate.to_json())
        back.verify()
        (proof,) = certificate.proofs
        assert isinstance(proof, StochasticProof)
        (a, n), *rest = proof.groups
        for groups, tau in (
            (tuple((x * (1 - 1e-6), k) for x, k in proof.groups), proof.tau),
            (((a, n + 1), *rest), proof.tau),
            (((a, n - 1), *rest), proof.tau + 1),
            ((), proof.tau),
        ):
            forged = replace(proof, groups=groups, tau=tau)
            with pytest.raises(VerificationFailed):
                replace(certificate, proofs=(forged,)).verify()
        for change in (
            {"noise": [*noise[:-1], noise[-1] * 1.01]},
            {"learning_rate": [*rates[:-1], rates[-1] * 0.9]},
        ):
            other = sdp.NoisySGD(**{**vars(run), **change})
            with pytest.raises(VerificationFailed):
                replace(certificate, run=other).verify()

    def test_without_contraction_or_a_bounded_set_nothing_is_forgotten(self) -> None:
        flat = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=10)
        run = sdp.NoisySGD(**self.LONG, learning_rate=[0.1] * 200 + [0.05] * 200, noise=1.0)
        refused = dict(evaluate(run, flat).refused)
        assert "nothing is forgotten" in str(refused["Theorem B3"])
