"""Which visits a record may have: against the enumeration of all of them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from shiftdp.last_iterate import Geometry, NoisyCGD, NoisyGD, certify
from shiftdp.last_iterate import outcomes as module
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.outcomes import outcomes
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.schedules.visits import Visits, schedule_of
from shiftdp.last_iterate.theorems.descent import proofs_of, solve
from tests.last_iterate.brute_force import (
    gaussian_delta,
    least_mu,
    mixed_delta,
    mu_of_visits,
    positions,
    reshuffles,
)
from tests.last_iterate.random_runs import ORDERS, cyclic_runs

EPSILONS = (0.0, 0.3, 1.0, 3.0)


def shifted(run: NoisyCGD, geometry: Geometry) -> float:
    """mu of Theorem B1 alone, before the best bound is picked."""
    return max(proof.shifts.mu for proof in proofs_of(run, geometry))


@settings(max_examples=300)
@given(cyclic_runs("fixed", most_batches=5, most_epochs=4))
def test_fixed_order_is_the_worst_position(setting: tuple[NoisyCGD, Geometry]) -> None:
    run, geometry = setting
    worst = max(mu_of_visits(run, geometry, visits) for _, visits in positions(run))
    assert shifted(run, geometry) == pytest.approx(worst, rel=1e-9)


@settings(max_examples=150)
@given(cyclic_runs("shuffled_once"))
def test_shuffled_once_is_the_average_over_positions(setting: tuple[NoisyCGD, Geometry]) -> None:
    run, geometry = setting
    cases = [(w, mu_of_visits(run, geometry, visits)) for w, visits in positions(run)]
    found = [(proof.weight, proof.shifts.mu) for proof in proofs_of(run, geometry)]
    assert math.fsum(w for w, _ in found) == pytest.approx(1.0, rel=1e-12)
    for epsilon in EPSILONS:
        exact = mixed_delta(cases, epsilon)
        assert mixed_delta(found, epsilon) == pytest.approx(exact, rel=1e-7, abs=1e-14)
        assert certify(run, geometry).delta(epsilon) >= exact * (1 - 1e-10) - 1e-14


@settings(max_examples=200)
@given(cyclic_runs("reshuffled"))
def test_reshuffled_bounds_the_average_over_all_sequences(
    setting: tuple[NoisyCGD, Geometry],
) -> None:
    run, geometry = setting
    cases = [(w, mu_of_visits(run, geometry, visits)) for w, visits in reshuffles(run)]
    assert math.fsum(w for w, _ in cases) == pytest.approx(1.0, rel=1e-12)
    cert = certify(run, geometry)
    for epsilon in EPSILONS:
        assert cert.delta(epsilon) >= mixed_delta(cases, epsilon) * (1 - 1e-10) - 1e-14


@settings(max_examples=200)
@given(cyclic_runs("reshuffled"))
def test_a_dominating_visit_stands_for_every_sequence_with_the_same_end(
    setting: tuple[NoisyCGD, Geometry],
) -> None:
    """The heart of the reshuffled bound, sequence by sequence and not only on average."""
    run, geometry = setting
    begin = (run.steps - 1) // run.batches * run.batches
    bound = {
        case.visits.position: solve(schedule_of(run, geometry, case.visits)).mu
        for case in outcomes(run, geometry)
    }
    for _, visits in reshuffles(run):
        last = visits[-1] - begin + 1 if visits and visits[-1] >= begin else 0
        assert mu_of_visits(run, geometry, visits) <= bound[last] * (1 + 1e-10)


def test_one_enumerated_epoch_is_nearly_exact_where_steps_hardly_contract() -> None:
    geometry = Geometry(strong_convexity=0.05, smoothness=2.0, sensitivity=4.0)
    run = NoisyCGD(n=8, batch_size=2, epochs=4, learning_rate=0.2, noise=1.0, order="reshuffled")
    cases = [(w, mu_of_visits(run, geometry, visits)) for w, visits in reshuffles(run)]
    exact = mixed_delta(cases, 1.0)
    assert exact < certify(run, geometry).delta(1.0) < 1.25 * exact


# --- the counterexamples of theory.md ---


def test_later_is_not_worse_where_steps_expand() -> None:
    """c = 1.38, l = 4, E = 2: (4, 1) -> (4, 2) lowers mu from 1.213 to 1.100."""
    c, sd = np.full(8, 1.38), np.ones(8)

    def mu(*sequence: int) -> float:
        s = np.zeros(8)
        s[[epoch * 4 + j - 1 for epoch, j in enumerate(sequence)]] = 1.0
        return least_mu(c, s, sd)

    assert mu(4, 1) == pytest.approx(1.21296, abs=1e-5)
    assert mu(4, 2) == pytest.approx(1.10045, abs=1e-5)
    geometry = Geometry(strong_convexity=-0.38, smoothness=1.0, sensitivity=4.0)
    run = NoisyCGD(n=16, batch_size=4, epochs=2, learning_rate=1.0, noise=1.0, order="reshuffled")
    cases = [(w, mu_of_visits(run, geometry, visits)) for w, visits in reshuffles(run)]
    assert max(cases)[1] == pytest.approx(mu(4, 4), rel=1e-9)
    cert = certify(run, geometry)
    assert cert.delta(1.0) >= mixed_delta(cases, 1.0)
    cert.verify()


def test_later_is_not_worse_where_steps_decay() -> None:
    """Positions 1, 1 are worse than 2, 2, and putting an earlier visit last misses (1, 2)."""
    geometry = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0)
    rates = [1.0, 0.01, 0.009, 0.0001]
    run = NoisyCGD(n=2, batch_size=1, epochs=2, learning_rate=rates, noise=1.0)
    first, second = (mu_of_visits(run, geometry, [j, j + 2]) for j in (0, 1))
    assert first > 1.1 * second
    assert certify(run, geometry).mu == pytest.approx(first, rel=1e-9)
    reshuffled = NoisyCGD(**{**vars(run), "order": "reshuffled"})
    cases = [(w, mu_of_visits(run, geometry, v)) for w, v in reshuffles(reshuffled)]
    trusting = [(0.5, mu_of_visits(run, geometry, [1, 2 + j])) for j in (0, 1)]
    for epsilon in EPSILONS:
        assert mixed_delta(trusting, epsilon) < 0.99 * mixed_delta(cases, epsilon)
        assert certify(reshuffled, geometry).delta(epsilon) >= mixed_delta(cases, epsilon)


def test_decay_slower_than_the_contraction_is_harmless() -> None:
    """s_{k+1} >= c_{k+1} s_k is all that is asked: here rates fall, but slower than c^k."""
    geometry = Geometry(strong_convexity=1.0, smoothness=1.5, sensitivity=2.0)
    rates = [0.5 * 0.9**k for k in range(12)]
    run = NoisyCGD(n=9, batch_size=3, epochs=4, learning_rate=rates, noise=1.0)
    assert len(list(outcomes(run, geometry))) == 1
    by_position = [mu_of_visits(run, geometry, visits) for _, visits in positions(run)]
    assert max(by_position) == by_position[-1]


# --- what is listed ---


def test_weights_are_the_sizes_of_the_batches() -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    run = NoisyCGD(
        n=10, batch_size=4, epochs=2, learning_rate=0.5, noise=1.0, order="shuffled_once"
    )
    assert [case.weight for case in outcomes(run, geometry)] == [0.4, 0.4, 0.2]
    half = NoisyCGD(n=10, batch_size=4, steps=5, learning_rate=0.5, noise=1.0, order="reshuffled")
    cases = list(outcomes(half, geometry))
    assert [case.visits for case in cases] == [Visits("final", j) for j in (1, 2, 0)]
    assert [case.weight for case in cases] == [0.4, 0.4, 0.2]


@pytest.mark.parametrize("order", ORDERS)
def test_one_batch_has_no_order(order: Order) -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0)
    run = NoisyCGD(n=10, batch_size=10, epochs=300_000, learning_rate=0.5, noise=1.0, order=order)
    plain = NoisyGD(n=10, steps=300_000, learning_rate=0.5, noise=1.0)
    assert certify(run, geometry).mu == certify(plain, geometry).mu


@pytest.mark.parametrize("order", ["shuffled_once", "reshuffled"])
def test_records_that_are_dropped_are_an_outcome_of_their_own(order: Order) -> None:
    geometry = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=2.0)
    run = NoisyCGD(n=10, batch_size=3, steps=5, learning_rate=[0.5, 0.4, 0.3, 0.2, 0.1], noise=1.0,
                   order=order, last_batch="drop")  # fmt: skip
    cases = [(case.visits, case.weight) for case in outcomes(run, geometry)]
    assert module.are_outcomes(run, geometry, cases)
    assert cases[-1][0].position == 0
    assert not module.are_outcomes(run, geometry, cases[:-1])
    assert not module.are_outcomes(run, geometry, [*cases, cases[-1]])
    assert not module.are_outcomes(run, geometry, [cases[-1], *cases[:-1]])


@pytest.mark.parametrize("rest", [0, 1, 3])
@pytest.mark.parametrize("diameter", [0.2, 2.0])
def test_reshuffled_expanding_runs_converge_as_they_get_longer(rest: int, diameter: float) -> None:
    geometry = Geometry(strong_convexity=-0.1, smoothness=1.0, sensitivity=1.0, diameter=diameter)

    def mus(epochs: int) -> list[float]:
        run = NoisyCGD(
            n=8,
            batch_size=2,
            steps=4 * epochs + rest,
            learning_rate=0.1,
            noise=1.0,
            order="reshuffled",
        )
        return [proof.shifts.mu for proof in proofs_of(run, geometry)]

    levels = [mus(epochs) for epochs in (1, 2, 10, 100, 10**4, 10**9)]
    for shorter, longer in itertools.pairwise(levels):
        assert all(x <= y for x, y in zip(shorter, longer, strict=True))
    assert levels[-1] == levels[-2]


def test_reshuffled_is_no_worse_than_fixed_order_however_long() -> None:
    """Convex, no projection: a late start from a coupling bound would be far worse."""
    geometry = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0)
    for epochs in (100, 10_000, 1_000_000):
        fixed, once, anew = (
            certify(
                NoisyCGD(
                    n=40, batch_size=1, epochs=epochs, learning_rate=0.1, noise=1.0, order=order
                ),
                geometry,
            ).epsilon(1e-6)
            for order in ORDERS
        )
        assert once <= anew <= fixed


@pytest.mark.parametrize("order", ORDERS)
def test_whole_epochs_of_contractions_are_never_worse_in_random_order(order: Order) -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=2.0, sensitivity=3.0, diameter=4.0)
    parts: dict[str, Any] = {"n": 11, "batch_size": 4, "epochs": 5, "noise": 1.0}
    for rates in (0.4, [0.3 + 0.02 * k for k in range(15)]):
        fixed = certify(NoisyCGD(**parts, learning_rate=rates), geometry)
        other = certify(NoisyCGD(**parts, learning_rate=rates, order=order), geometry)
        for epsilon in EPSILONS:
            assert other.delta(epsilon) <= fixed.delta(epsilon) * (1 + 1e-9)


def test_visits_are_placed_where_they_say() -> None:
    geometry = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0)
    run = NoisyCGD(n=5, batch_size=2, steps=8, learning_rate=0.5, noise=1.0, order="reshuffled")
    s, _ = 0.25, 0.5
    for visits, expected in {
        Visits("every", 2): {1: s, 4: s, 7: s},
        Visits("every", 3): {2: 2 * s, 5: 2 * s},
        Visits("final", 1): {2: 2 * s, 5: 2 * s, 6: s},
        Visits("final", 0): {2: 2 * s, 5: 2 * s},
    }.items():
        schedule = schedule_of(run, geometry, visits)
        found = schedule.window(0, 8)[1]
        wanted = [expected.get(k, 0.0) for k in range(8)]
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_rounding_goes_to_the_safe_side() -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=0.3)
    run = NoisyCGD(n=7, batch_size=3, epochs=2, learning_rate=0.7, noise=1.0)
    for visits in (Visits("every", 1), Visits("every", 3)):
        up = schedule_of(run, geometry, visits).window(0, 6)
        down = schedule_of(run, geometry, visits, attained=True).window(0, 6)
        assert np.all(up[0] > down[0])
        assert np.all(up[1][up[1] > 0] > down[1][down[1] > 0])


def test_the_average_is_over_delta_not_mu() -> None:
    """Jensen goes the wrong way: the profile of the mean mu is below the mean profile."""
    cases = [(0.5, 0.2), (0.5, 2.0)]
    assert gaussian_delta(1.1, 2.0) < mixed_delta(cases, 2.0)


def test_all_rules_are_tried() -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=1.0, diameter=3.0)
    run = NoisyCGD(n=6, batch_size=2, epochs=2, learning_rate=0.5, noise=1.0)
    names = [bound.name for bound in evaluate(run, geometry).found]
    assert names == ["Thm mgd (composition)", "Thm mgd-sc", "Thm mgd-proj", "Theorem B1"]
    assert len(set(itertools.chain(names))) == 4
