"""Deletion from the distance after training: linear recursions are never further apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftdp import Certificate, Geometry, NoisyCGD, NoisyGD, NoisySGD, Unlearning, certify
from shiftdp.last_iterate import THEOREMS
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.theorems.derived.distance import largest_distance
from tests.last_iterate.theorems import usual

EXAMPLES: usual.Examples = {"Theorem V3 (distance)": (usual.deleted(usual.SGD), usual.LOSSES)}

(DISTANCE,) = (theorem for theorem in THEOREMS if theorem.name == "Theorem V3 (distance)")


def alternating(c: float, moves: Any) -> float:
    """The distance after steps that all expand by c, or contract, the moves pointing one way."""
    z = 0.0
    for move in moves:
        z = c * z + float(move)
    return z


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 14), st.sampled_from([0.0, 0.3, 0.5, 1.0, 1.3, 2.0]),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_no_order_of_visits_leads_further_apart(l: int, T: int, rate: float, seed: int) -> None:  # noqa: E741
    eta = max(rate, 0.1)
    losses = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=1.0)
    training = NoisyCGD(
        n=3 * l, batch_size=3, steps=T, learning_rate=eta, noise=1.0, order="reshuffled"
    )
    z = largest_distance(training, losses)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        moves = np.zeros(T)
        for e in range(0, T, l):
            place = e + int(rng.integers(0, l))
            if place < T:
                moves[place] = eta / 3
        assert alternating(losses.contraction(eta), moves) <= z
    worst = np.zeros(T)
    worst[(l - 1 if losses.contraction(eta) <= 1.0 else 0) :: l] = eta / 3
    if T % l == 0:
        assert alternating(losses.contraction(eta), worst) == pytest.approx(z, rel=1e-6)


def test_training_whose_steps_expand_is_forgotten_by_steps_that_contract() -> None:
    losses = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=1.0)
    training = NoisyGD(n=50, steps=12, learning_rate=0.6, noise=0.5)  # 1 - eta M = -1.4
    shape: dict[str, Any] = {"training": training, "learning_rate": 0.4}
    certificate = certify(Unlearning(**shape, further_steps=60), losses)
    assert certificate.bound == "Theorem V3 (distance)"
    Certificate.from_json(certificate.to_json()).verify()
    assert (certificate.mu or 0) < 1e-2 < (certify(training, losses, bounds="composition").mu or 0)
    # an instance whose training expands as fast as can be, and whose further steps do not contract
    weights = np.array([1.4 ** (11 - k) * 0.8**60 for k in range(12)])
    noise = math.hypot(0.3 * np.linalg.norm(weights), 0.2 * np.linalg.norm(0.8 ** np.arange(60.0)))
    assert 0.6 / 50 * float(weights.sum()) / noise <= (certificate.mu or 0)


def test_several_requests_add_up_and_are_above_exact_laws() -> None:
    rng = np.random.default_rng(5)
    losses = Geometry(strong_convexity=0.4, smoothness=4.9, sensitivity=1.0)
    training = NoisySGD(n=30, batch_size=3, steps=9, learning_rate=0.4, noise=0.7)
    requests = ((4, 1), (7, 2))
    run = Unlearning(
        training=training, further_steps=40, later_requests=requests, grid=0.01, dimension=1
    )
    certificate = certify(run, losses)
    Certificate.from_json(certificate.to_json()).verify()
    assert certificate.bound == "Theorem V3 (distance)"
    c, s, sd, t = losses.contraction(0.4), 0.4 / 3, 0.4 * 0.7, 49
    step = np.arange(t)
    for _ in range(200):
        slopes = np.where(rng.random(t) < 0.7, c, rng.uniform(0, c, t))
        weights = np.append(np.cumprod(slopes[:0:-1])[::-1], 1.0)
        moved = np.where(np.isin(step, (9, 13, 16)), 0.01 * slopes, 0.0)
        for end, records in ((9, 1), (13, 1), (16, 2)):
            moved += (rng.random((records, t)) < 0.8).sum(axis=0) * (step < end) * s
        exact = float(weights @ moved) / (sd * float(np.linalg.norm(weights)))
        assert exact <= (certificate.mu or 0)


def test_a_projection_bounds_the_distance_and_needs_no_cap_before() -> None:
    losses = Geometry(
        strong_convexity=0.2, smoothness=0.5, sensitivity=1.0, adjacency="zero_out", diameter=0.01
    )
    training = NoisySGD(
        n=400, batch_size=20, steps=900, learning_rate=1.9, noise=0.3, sampling="poisson",
        batch_cap=60,
    )  # fmt: skip
    run = Unlearning(training=training, further_steps=30)
    bound = bound_by(DISTANCE, run, losses, 1e-5)
    certificate_of(bound, run, losses).verify()
    longer = NoisySGD(**{**vars(training), "steps": 9_000})
    same = bound_by(DISTANCE, Unlearning(training=longer, further_steps=30), losses, 1e-5)
    assert same.f == bound.f
