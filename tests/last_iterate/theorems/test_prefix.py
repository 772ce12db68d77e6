"""Theorem B6: against exact laws of small runs, published figures, and its own logic."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np
import pytest
from scipy.special import ndtr

import shiftdp as sdp
from shiftdp._errors import UnmetHypothesis
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.schedules.prefix import prefix_law
from shiftdp.last_iterate.theorems.prefix import PREFIX
from shiftdp.last_iterate.theorems.proofs import PrefixProof
from shiftdp.last_iterate.theorems.sampled_shifts import capped_steps, grouped_shifts
from shiftdp.last_iterate.theorems.theorem import Bound
from tests.last_iterate.theorems.test_hidden import setting

DELTA = 1e-5
(B6,) = PREFIX


def bound(run: sdp.NoisySGD, geometry: sdp.Geometry, delta: float = DELTA) -> Bound:
    return bound_by(B6, run, geometry, delta)


def epsilon_of(*arguments: Any, **more: Any) -> float:
    return bound(*setting(*arguments, **more)).f.epsilon(DELTA)


@pytest.mark.parametrize(
    ("p", "s", "c", "steps", "attained", "most"),
    [
        (0.01, 1.0, 0.95, 400, 0.255, 0.556),
        (0.05, 1.0, 0.9, 100, 1.21, 2.03),
        (0.3, 0.5, 0.95, 60, 3.86, 4.85),
    ],
)
def test_epsilon_is_between_what_is_attained_and_what_was_reached(
    p: float, s: float, c: float, steps: int, attained: float, most: float
) -> None:
    assert attained <= epsilon_of(p, s, c, steps) <= most


# --- exact laws ---


def mixture_delta(first: np.ndarray, second: np.ndarray, weight: np.ndarray, e: float) -> float:
    """H between two mixtures of unit Gaussians on the line with a monotone likelihood ratio."""
    x = np.linspace(-12.0, 12.0 + float(first.max()), 4001)
    p = ndtr(first[None, :] - x[:, None]) @ weight
    q = ndtr(second[None, :] - x[:, None]) @ weight
    return float(np.max(p - math.exp(e) * q))


@pytest.mark.parametrize("shape", ["without_replacement", "zero_out", "replace_one"])
def test_no_linear_recursion_leaks_more_whatever_the_prefix(shape: str) -> None:
    """Gradients that do not depend on the iterate: the last iterate is a mixture of Gaussians."""
    rng = np.random.default_rng(len(shape))
    for _ in range(3):
        t = int(rng.integers(2, 9))
        p, s, c = float(rng.choice([0.1, 0.2, 0.5])), float(rng.uniform(0.3, 3.0)), 0.8
        sampling = "without_replacement" if shape == "without_replacement" else "poisson"
        adjacency = "zero_out" if shape == "zero_out" else "replace_one"
        more = {} if sampling == "without_replacement" else {"batch_cap": round(10 / p)}
        run, geometry = setting(p, s, c, t, sampling, adjacency=adjacency, **more)
        steps = capped_steps(run, geometry, run.batch_cap)
        last, rate = int(rng.integers(1, t)), float(rng.choice([0.0, 0.1, 1.0])) * s
        prefix = prefix_law(steps, last, rate, DELTA, most=4)
        groups = grouped_shifts(steps.c, 1.0, last, 2)
        law = prefix.values, prefix.weights, prefix.grid
        proof = PrefixProof(t - last, rate, *law, groups, 1e-2, run.batch_cap)
        f = B6.rebuild(run, geometry, (proof,), 1e-3)
        patterns = np.array(list(itertools.product((0, 1), repeat=t)))
        w = c ** np.arange(t - 1, -1, -1.0)
        mean = patterns @ (w * s) / math.sqrt(float(np.sum(w * w)))
        weight = np.prod(np.where(patterns == 1, p, 1.0 - p), axis=1)
        pairs = {
            "without_replacement": [(mean, 0 * mean), (mean / 2, -mean / 2)],
            "zero_out": [(mean, 0 * mean)],
            "replace_one": [(mean, -mean)],
        }[shape]
        for first, second in pairs:
            for e in (0.0, 0.3, 1.0, 3.0):
                there = mixture_delta(first, second, weight, e)
                back = mixture_delta(-second, -first, weight, e)
                assert max(there, back) <= f.delta(e)


# --- logic ---


def test_it_is_best_where_a_record_is_worth_little_and_forgotten() -> None:
    table = sdp.compare(*setting(0.01, 1.0, 0.9, 100), delta=DELTA)
    epsilon = {row.name: row.epsilon for row in table}
    assert next(row.bound for row in table if row.name == "best") == "Theorem B6"
    assert cast(float, epsilon["Theorem B6"]) < 0.95 * cast(float, epsilon["Theorem B7"])


def test_it_is_not_tried_where_it_is_far_behind() -> None:
    assert B6.hopeless(*setting(0.05, 4.0, 0.9, 200), DELTA, 5.0)
    assert not B6.hopeless(*setting(0.01, 1.0, 0.95, 400), DELTA, 0.626)
    assert not B6.hopeless(*setting(0.01, 1.0, 0.95, 400), DELTA, math.inf)


def test_less_noise_leaks_more_and_a_small_set_less() -> None:
    assert epsilon_of(0.02, 0.5, 0.9, 60) < epsilon_of(0.02, 1.0, 0.9, 60)
    run, geometry = setting(0.3, 0.5, 0.95, 60)
    inside = bound(run, replace(geometry, diameter=0.05)).f.epsilon(DELTA)
    assert inside < 0.9 * bound(run, geometry).f.epsilon(DELTA)


@pytest.mark.parametrize(("adjacency", "most"), [("zero_out", 0.382), ("replace_one", 0.49)])
def test_poisson_batches_have_a_cap_and_both_adjacencies(adjacency: Any, most: float) -> None:
    """(Theorem B7 has 0.387 and 0.467 here.)"""
    exchanged = adjacency == "replace_one"
    geometry = sdp.Geometry(
        strong_convexity=1.0,
        smoothness=1.05,
        sensitivity=20.0 if exchanged else 10.0,
        gradient_bound=10.0 if exchanged else None,
        adjacency=adjacency,
    )
    run, _ = setting(0.01, 1.0, 0.8, 60, "poisson")
    found = bound(run, geometry)
    certificate = certificate_of(found, run, geometry)
    certificate.verify()
    assert any(item.name == "batch cap" for item in certificate.assumptions)
    assert found.f.epsilon(DELTA) < most


def test_an_endless_run_has_a_bound_that_no_length_exceeds() -> None:
    run, geometry = setting(0.01, 1.0, 0.9, 3000)
    endless = sdp.NoisySGD(**{**vars(run), "steps": math.inf})
    found = bound_by(B6, endless, geometry, DELTA)
    certificate_of(found, endless, geometry).verify()
    epsilon = bound(run, geometry).f.epsilon(DELTA)
    assert epsilon * (1 - 1e-9) <= found.f.epsilon(DELTA) <= 1.01 * epsilon


@pytest.mark.parametrize(
    ("arguments", "more", "word"),
    [
        ((0.01, 1.0, 1.0, 100), {}, "contraction"),
        ((0.01, 1.0, 0.9, 1), {}, "prefix"),
        ((0.01, 1.0, 0.9, 3), {"noise": [1.0, 2.0, 3.0]}, "noise"),
        ((0.1, 1.0, 0.9, 50, "poisson"), {"adjacency": "zero_out", "batch_cap": 12}, "batch_cap"),
    ],
)
def test_what_it_does_not_cover_is_refused(
    arguments: tuple[Any, ...], more: dict[str, Any], word: str
) -> None:
    with pytest.raises(UnmetHypothesis, match=word):
        bound(*setting(*arguments, **more))


# --- forged proofs ---


@cache
def honest() -> sdp.Certificate:
    run, geometry = setting(0.3, 0.5, 0.9, 40)
    return certificate_of(bound(run, geometry), run, geometry)


def proof() -> PrefixProof:
    return cast(PrefixProof, honest().proofs[0])


def forged(**changes: Any) -> sdp.Certificate:
    """The certificate with another proof, and the function that follows from it."""
    other = replace(proof(), **changes)
    run, geometry = cast(sdp.NoisySGD, honest().run), honest().geometry
    f = B6.rebuild(run, geometry, (other,), 1e-3)
    return replace(honest(), f=f, proofs=(other,))


def test_larger_numbers_are_no_lie() -> None:
    assert proof().rate > 0.0
    forged(rate=1.01 * proof().rate).verify()
    forged(values=tuple(1.01 * z for z in proof().values)).verify()
    forged(groups=tuple((1.01 * a, n) for a, n in proof().groups)).verify()


@pytest.mark.parametrize(
    "change",
    [
        lambda p: {"values": tuple(0.99 * z for z in p.values)},
        lambda p: {"weights": (p.weights[0] + p.weights[-2], *p.weights[1:-2], 0.0, p.weights[-1])},
        lambda p: {"rate": 0.5 * p.rate},
        lambda p: {"tau": p.tau + 1},
        lambda p: {"tau": 0},
        lambda p: {"tau": p.tau - 1},
        lambda p: {"groups": tuple((0.999 * a, n) for a, n in p.groups)},
        lambda p: {"groups": ((0.0, 40 - p.tau),)},
        lambda p: {"groups": tuple((a, 1) for a, n in p.groups for _ in range(n)) * 9},
        lambda p: {"grid": replace(p.grid, mesh=0.5 * p.grid.mesh)},
        lambda p: {"grid": replace(p.grid, blocks=p.grid.blocks[:-1])},
        lambda p: {"cap": 5},
        lambda p: {"accuracy": 1e-9},
    ],
)
def test_a_forged_proof_is_refused(change: Any) -> None:
    with pytest.raises((sdp.VerificationFailed, sdp.InvalidInput)):
        forged(**change(proof())).verify()


def test_a_law_with_thousands_of_values_is_refused_at_once() -> None:
    many = np.linspace(0.0, proof().values[-1], 5000)
    other = replace(proof(), values=tuple(many.tolist()), weights=(1 / 5000,) * 5000)
    with pytest.raises(sdp.VerificationFailed, match="too many"):
        replace(honest(), proofs=(other,)).verify()


def test_the_function_must_be_that_of_the_proof() -> None:
    for f in (sdp.GaussianTradeoff(0.0), honest().f.components[0]):  # type: ignore[attr-defined]
        with pytest.raises(sdp.VerificationFailed):
            replace(honest(), f=f).verify()


def test_it_is_tried_where_its_first_estimate_is_above_what_theorem_b7_gives() -> None:
    """Estimates are too large at small epsilons: 0.18 and 0.14 here, where 0.107 is proved."""
    run = sdp.NoisySGD(
        n=10_000, batch_size=50, steps=600, learning_rate=0.5, noise=0.05, sampling="poisson"
    )
    losses = sdp.Geometry(strong_convexity=0.02, smoothness=1, sensitivity=1, adjacency="zero_out")
    (theorem,) = PREFIX
    assert not theorem.hopeless(run, losses, 1e-5, rival=0.139)
    guess = bound_by(theorem, run, losses, 1e-5).guess
    assert guess is not None
    assert guess < 0.11
