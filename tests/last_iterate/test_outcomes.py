"""Which visits a record may have: against the enumeration of all of them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.last_iterate import Geometry, NoisyCGD, NoisyGD, certify
from shiftdp.last_iterate import outcomes as module
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.outcomes import outcomes
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.schedules.position_groups import position_groups
from shiftdp.last_iterate.schedules.visits import Visits, schedule_of, schedules_of, tables_of
from shiftdp.last_iterate.theorems.descent import proofs_of, solve
from tests.last_iterate.brute_force import (
    gaussian_delta,
    least_mu,
    mixed_delta,
    mu_of_visits,
    positions,
    reshuffles,
)
from tests.last_iterate.every_kind import proofs_in
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
    run = NoisyCGD(
        n=10,
        batch_size=10,
        epochs=300_000,
        learning_rate=0.5,
        noise=1.0,
        order=order,
    )
    plain = NoisyGD(n=10, steps=300_000, learning_rate=0.5, noise=1.0)
    assert certify(run, geometry).mu == certify(plain, geometry).mu


@pytest.mark.parametrize("order", ORDERS[1:])
@pytest.mark.parametrize("rates", ["equal", "listed", "falling"])
@pytest.mark.parametrize("steps", [60, 75])
def test_groups_of_positions_only_cost_a_little(
    order: Order, rates: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    geometry = Geometry(strong_convexity=0.02, smoothness=1.0, sensitivity=1.0)
    falling = [0.5 / (1 + k / 10) for k in range(steps)]
    kinds: dict[str, Any] = {"equal": 0.5, "listed": [0.5] * steps, "falling": falling}
    run = NoisyCGD(
        n=39,  # the last batch is smaller
        batch_size=2,
        steps=steps,
        learning_rate=kinds[rates],
        noise=0.3,
        order=order,
    )
    exact = certify(run, geometry)
    monkeypatch.setattr(module, "MOST_GROUPS", 12)
    monkeypatch.setattr(module, "_LEAST_GROUPS", 1)
    monkeypatch.setattr(module, "_EQUAL_GROUPS", 12)
    grouped = certify(run, geometry)
    assert len(grouped.proofs) < len(exact.proofs)
    assert math.fsum(proof.weight for proof in proofs_in(grouped)) == pytest.approx(1.0, rel=1e-12)
    for epsilon in (0.5, 2.0):
        assert exact.delta(epsilon) <= grouped.delta(epsilon) * (1 + 1e-9)
        assert grouped.delta(epsilon) <= 1.1 * exact.delta(epsilon)
    grouped.verify()


@settings(max_examples=100)
@given(st.sampled_from(ORDERS).flatmap(cyclic_runs), st.integers(1, 3))
def test_a_group_stands_for_each_of_its_positions(
    setting: tuple[NoisyCGD, Geometry], most: int
) -> None:
    """Falling rates, growing noise, steps that expand, a projection: whatever is drawn."""
    run, geometry = setting
    if isinstance(run.learning_rate, float) and isinstance(run.noise, float):
        return
    pattern, seen, cuts = module._positions(run)
    groups = position_groups(
        tables_of(run, geometry), seen, cuts, last_only=pattern == "final", most=most + len(cuts)
    )
    cases = [Visits(pattern, group[-1], group[0] if len(group) > 1 else 0) for group in groups]
    merged = [solve(schedule).mu for schedule in schedules_of(run, geometry, cases)]
    whole = [solve(schedule_of(run, geometry, case)).mu for case in cases]
    assert merged == pytest.approx(whole, rel=1e-9)
    if pattern == "final":
        begin = (run.steps - 1) // run.batches * run.batches
        ends = [(v[-1] - begin + 1 if v and v[-1] >= begin else 0, v) for _, v in reshuffles(run)]
    else:
        ends = [(j, visits) for j, (_, visits) in enumerate(positions(run), 1)]
    for j, visits in ends:
        for group, mu in zip(groups, merged, strict=True):
            if j in group:
                assert mu_of_visits(run, geometry, visits) <= mu * (1 + 1e-9)


FALLING: dict[str, Any] = {"smoothness": 1.0, "sensitivity": 2.0}


def falling(batches: int, epochs: int, order: Order) -> NoisyCGD:
    """Rates that fall to a third, noise so that a visit in the last step alone costs mu = 1."""
    steps = batches * epochs
    rates = [1.0 / math.sqrt(1 + 8 * k / steps) for k in range(steps)]
    return NoisyCGD(
        n=10 * batches,
        batch_size=10,
        epochs=epochs,
        learning_rate=rates,
        noise=0.2,
        order=order,
    )


@pytest.mark.parametrize("order", ORDERS)
def test_epsilon_falls_with_the_number_of_batches_whatever_it_is(order: Order) -> None:
    """No cliff: from a few hundred batches an epoch to twenty thousand."""
    geometry = Geometry(strong_convexity=0.0, **FALLING)
    found = []
    for batches in (250, 1_900, 2_048, 20_000):
        certificate = certify(falling(batches, 2, order), geometry)
        assert certificate.bound == ("Theorem B1" if order == "fixed" else "Theorem B4")
        assert len(certificate.proofs) <= 257
        found.append(certificate.epsilon(1e-5))
    assert all(x > y for x, y in itertools.pairwise(found))
    if order != "fixed":
        assert found[-1] < 0.4 * found[0]
    certificate.verify()


@pytest.mark.parametrize(("order", "curvature"), [("shuffled_once", 0.0), ("reshuffled", 0.01)])
def test_few_groups_are_as_good_as_every_position(
    order: Order, curvature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    geometry = Geometry(strong_convexity=curvature, **FALLING)
    run = falling(600, 3, order)
    grouped = certify(run, geometry)
    monkeypatch.setattr(module, "MOST_GROUPS", 10**6)
    exact = certify(run, geometry)
    assert len(exact.proofs) == 600
    assert len(grouped.proofs) <= 257
    for delta in (1e-2, 1e-5, 1e-9):
        low, high = exact.epsilon(delta), grouped.epsilon(delta)
        assert low * (1 - 1e-9) <= high <= 1.01 * low


def test_any_groups_are_accepted_that_leave_out_no_position() -> None:
    """Which positions stand for which is a choice; that each is in one group is not."""
    geometry = Geometry(strong_convexity=0.0, **FALLING)
    run = NoisyCGD(**{**vars(falling(6, 3, "shuffled_once")), "n": 57, "steps": 16,
                      "learning_rate": [0.5 / (1 + k) for k in range(16)]})  # fmt: skip
    groups = [range(1, 3), range(3, 5), range(5, 6), range(6, 7)]

    def stated(groups: list[range]) -> list[tuple[Visits, float]]:
        sizes = [10] * 5 + [7]
        return [
            (
                Visits("every", group[-1], group[0] if len(group) > 1 else 0),
                sum([*sizes, 0][j - 1] for j in group) / 57,
            )
            for group in groups
        ]

    assert module.are_outcomes(run, geometry, stated(groups))
    assert module.are_outcomes(run, geometry, stated([range(j, j + 1) for j in range(1, 7)]))
    forged: list[list[tuple[Visits, float]]] = [
        stated(groups[1:]),
        stated(groups[:-1]),
        stated([*groups[:1], *groups[2:]]),
        stated([range(1, 3), range(2, 5), *groups[2:]]),
        stated([range(1, 3), range(3, 7)]),  # positions up to 4 have a visit more
        stated([*groups, range(6, 7)]),
        stated([*groups, range(7, 8)]),
        [(visits, 0.25) for visits, _ in stated(groups)],
        [(Visits("final", visits.position, visits.first), w) for visits, w in stated(groups)],
        [(Visits("every", visits.position), w) for visits, w in stated(groups)],
        [*stated(groups), (Visits("every", 0), 0.0)],
        [(Visits("every", 2, 9), 20 / 57), *stated(groups)[1:]],
        [],
    ]
    for wrong in forged:
        assert not module.are_outcomes(run, geometry, wrong)


@pytest.mark.parametrize("order", ["shuffled_once", "reshuffled"])
def test_records_that_are_dropped_are_an_outcome_of_their_own(order: Order) -> None:
    geometry = Geometry(strong_convexity=0.0, **FALLING)
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


@pytest.mark.parametrize("expanding", [False, True])
@pytest.mark.parametrize("order", ORDERS)
def test_many_batches_an_epoch_are_grouped(order: Order, expanding: bool) -> None:
    """Equal steps: the later position is the worse, also where they expand."""
    m = -1e-4 if expanding else 1e-4
    geometry = Geometry(strong_convexity=m, smoothness=1.0, sensitivity=1.0, diameter=2.0)
    parts: dict[str, Any] = {"batch_size": 3, "learning_rate": 0.5, "noise": 0.5, "order": order}
    small = NoisyCGD(n=3 * 20, steps=50, **parts)
    by_position = [mu_of_visits(small, geometry, visits) for _, visits in positions(small)]
    for begin, end in ((0, 10), (10, 20)):
        assert all(x <= y * (1 + 1e-9) for x, y in itertools.pairwise(by_position[begin:end]))
    many = NoisyCGD(n=3 * 10**4, steps=25 * 10**3, **parts)
    cert = certify(many, geometry)
    assert len(cert.proofs) <= 130
    if order == "shuffled_once":
        fixed = certify(NoisyCGD(**{**vars(many), "order": "fixed"}), geometry)
        assert cert.epsilon(1e-6) < fixed.epsilon(1e-6)


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
        other = certify(
            NoisyCGD(**parts, learning_rate=rates, order=order),
            geometry,
        )
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
