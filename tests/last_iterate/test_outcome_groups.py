"""Positions in groups: few of them stand for all, at next to no cost."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp.last_iterate import Geometry, NoisyCGD, certify
from shiftdp.last_iterate import outcomes as module
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.schedules.position_groups import position_groups
from shiftdp.last_iterate.schedules.visits import Visits, schedule_of, schedules_of, tables_of
from shiftdp.last_iterate.theorems.descent import solve
from tests.last_iterate.brute_force import mu_of_visits, positions, reshuffles
from tests.last_iterate.every_kind import proofs_in
from tests.last_iterate.random_runs import ORDERS, cyclic_runs


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
        n=10 * batches, batch_size=10, epochs=epochs, learning_rate=rates, noise=0.2, order=order
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
