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
from shiftdp.last_iterate.schedules.prefix_steps import prefix_steps
from shiftdp.last_iterate.theorems.prefix import PREFIX, PrefixProof
from shiftdp.last_iterate.theorems.theorem import Bound, Prospect
from tests.last_iterate.quadratic_run import QuadraticRun
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.test_hidden import setting

EXAMPLES: usual.Examples = {"Theorem B6": (usual.SGD, usual.LOSSES)}
SCHEDULED: usual.Examples = {"Theorem B6": (usual.COOLED, usual.LOSSES)}

DELTA = 1e-5
(B6,) = PREFIX


def bound(run: sdp.NoisySGD, geometry: sdp.Geometry, delta: float = DELTA) -> Bound:
    return bound_by(B6, run, geometry, delta)


def epsilon_of(*arguments: Any, **more: Any) -> float:
    return bound(*setting(*arguments, **more)).f.epsilon(DELTA)


@pytest.mark.parametrize(
    ("p", "s", "c", "steps", "attained", "most"),
    [
        (0.01, 1.0, 0.95, 400, 0.255, 0.533),
        (0.05, 1.0, 0.9, 100, 1.21, 1.96),
        (0.3, 0.5, 0.95, 60, 3.86, 4.73),
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


SHAPES = ["without_replacement", "zero_out", "replace_one"]


def any_proof(run: sdp.NoisySGD, geometry: sdp.Geometry, rng: np.random.Generator) -> PrefixProof:
    """A proof with any number of last steps and any payments."""
    steps = prefix_steps(run, geometry, run.batch_cap)
    last = int(rng.integers(1, run.steps))
    rate = float(rng.choice([0.0, 0.1, 1.0])) * geometry.sensitivity / run.batch_size
    prefix = prefix_law(steps, last, rate, DELTA, most=4)
    law = prefix.values, prefix.weights, prefix.grid
    return PrefixProof(run.steps - last, rate, *law, steps.shifts(last, 2), 1e-2, run.batch_cap)


@pytest.mark.parametrize("schedule", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_linear_recursion_leaks_more_whatever_the_prefix(shape: str, schedule: bool) -> None:
    """Gradients that do not depend on the iterate: the last iterate is a mixture of Gaussians."""
    rng = np.random.default_rng(len(shape))
    for _ in range(3):
        t = int(rng.integers(2, 9))
        p, s, c = float(rng.choice([0.1, 0.2, 0.5])), float(rng.uniform(0.3, 3.0)), 0.8
        sampling = "without_replacement" if shape == "without_replacement" else "poisson"
        adjacency = "zero_out" if shape == "zero_out" else "replace_one"
        more: dict[str, Any] = {}
        if sampling == "poisson":
            more = {"batch_cap": round(10 / p)}
        noise, rates = np.ones(t), np.full(t, 1.0 - c)
        if schedule:
            noise, rates = rng.uniform(0.5, 2.0, t), rng.uniform(0.02, 1.0, t)
        run, geometry = setting(p, s, c, t, sampling, adjacency=adjacency, **more)
        if schedule:
            run = replace(run, noise=tuple(noise.tolist()), learning_rate=tuple(rates.tolist()))
        proof = any_proof(run, geometry, rng)
        f = B6.rebuild(run, geometry, (proof,), 1e-3)
        B6.check_proof(run, geometry, proof, f.split_failure()[1], endless=False)
        patterns = np.array(list(itertools.product((0, 1), repeat=t)))
        w = np.append(np.cumprod(1.0 - rates[:0:-1])[::-1], 1.0)  # all losses have curvature 1
        sd = math.sqrt(float(np.sum((w * rates * noise) ** 2)))
        mean = patterns @ (w * rates * s) / sd
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


@pytest.mark.parametrize("shape", SHAPES)
def test_no_projected_walk_leaks_more(shape: str) -> None:
    """Quadratics on an interval, with rates and noises that change, by convolution on a grid."""
    rng = np.random.default_rng(7)
    n, b, t, slope, pull, sd, half = 20, 4, 5, 0.7, 0.6, 0.5, 0.9
    rates = tuple((float(rng.uniform(0.3, 1.0)), float(rng.uniform(0.6, 1.5))) for _ in range(t))
    exact = QuadraticRun(slope, b / n, sd, half, t, rates=rates)
    poisson = shape != "without_replacement"
    norm = pull * b  # of the record's gradient: it moves a step of rate 1 by `pull`
    geometry = sdp.Geometry(
        strong_convexity=1.0 - slope,
        smoothness=1.0 - slope,
        sensitivity=2.0 * norm if shape == "replace_one" else norm,
        gradient_bound=norm if shape == "replace_one" else None,
        diameter=2.0 * half,
        adjacency="zero_out" if shape == "zero_out" else "replace_one",
    )
    run = sdp.NoisySGD(
        n=n,
        batch_size=b,
        steps=t,
        learning_rate=[eta for eta, _ in rates],
        noise=[noise * sd / eta for eta, noise in rates],
        sampling="poisson" if poisson else "without_replacement",
        batch_cap=n if poisson else None,
    )
    for _ in range(3):
        proof = any_proof(run, geometry, rng)
        f = B6.rebuild(run, geometry, (proof,), 1e-3)
        B6.check_proof(run, geometry, proof, f.split_failure()[1], endless=False)
        for e in (0.0, 0.5, 1.5):
            other = -pull if shape == "replace_one" else 0.0
            assert exact.delta(pull, other, e) <= f.delta(e) + 1e-4  # the grid of the exact law


# --- logic ---


def test_it_is_best_where_a_record_is_worth_little_and_forgotten() -> None:
    table = sdp.compare(*setting(0.01, 1.0, 0.9, 100), delta=DELTA)
    epsilon = {row.name: row.epsilon for row in table}
    assert next(row.bound for row in table if row.name == "best") == "Theorem B6"
    assert cast(float, epsilon["Theorem B6"]) < 0.95 * cast(float, epsilon["Theorem B7"])


def test_it_is_not_tried_where_it_is_far_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    assert B6.prospect(*setting(0.05, 4.0, 0.9, 200), DELTA, 5.0) == Prospect.HOPELESS
    monkeypatch.setattr(B6, "search", lambda *_: pytest.fail("it was tried"))
    assert sdp.certify(*setting(0.05, 4.0, 0.9, 200)).bound != B6.name
    for rival in (0.626, math.inf):
        assert B6.prospect(*setting(0.01, 1.0, 0.95, 400), DELTA, rival) == Prospect.OPEN


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
        ((0.01, 1.0, 0.9, 3), {"noise": [1e-35, 1.0, 1e35]}, "decades"),
        ((0.1, 1.0, 0.9, 50, "poisson"), {"adjacency": "zero_out", "batch_cap": 12}, "batch_cap"),
    ],
)
def test_what_it_does_not_cover_is_refused(
    arguments: tuple[Any, ...], more: dict[str, Any], word: str
) -> None:
    with pytest.raises(UnmetHypothesis, match=word):
        bound(*setting(*arguments, **more))


# --- schedules ---


def test_equal_steps_one_by_one_are_equal_steps() -> None:
    run, geometry = setting(0.02, 1.0, 0.9, 60)
    listed = replace(run, noise=(1.0,) * 60)
    once, each = bound(run, geometry), bound(listed, geometry)
    assert each.f.epsilon(DELTA) == pytest.approx(once.f.epsilon(DELTA), rel=0.01)


@pytest.mark.parametrize(
    ("arguments", "last", "factor", "most"),
    [
        ((0.01, 1.0, 0.95, 400), 10, 2.0, 0.166),
        ((0.01, 1.0, 0.95, 400), 40, 3.0, 0.082),
        ((0.05, 1.0, 0.9, 100), 10, 3.0, 0.33),
    ],
)
def test_it_betters_theorem_b7_in_cool_downs(
    arguments: tuple[Any, ...], last: int, factor: float, most: float
) -> None:
    """(Theorem B7 has .194, .104 and .374 there.)"""
    noise = sdp.cooldown(arguments[-1], 1.0, last=last, factor=factor)
    run, geometry = setting(*arguments, noise=noise)
    found = bound(run, geometry)
    assert found.f.epsilon(DELTA) < most
    certificate_of(found, run, geometry).verify()


def test_the_certificate_of_a_cool_down_is_by_the_best_of_all_bounds() -> None:
    noise = sdp.cooldown(100, 1.0, last=10, factor=3)
    run, geometry = setting(0.05, 1.0, 0.9, 100, noise=noise)
    table = {row.name: row for row in sdp.compare(run, geometry, delta=DELTA)}
    ours = ("composition", "Theorem B3", "Theorem B6", "Theorem B7")
    least = min(cast(float, table[name].epsilon) for name in ours)
    certificate = sdp.certify(run, geometry)
    assert certificate.bound == "Theorem B6"
    assert certificate.epsilon(DELTA) == least
    twin = sdp.Certificate.from_json(certificate.to_json())
    twin.verify()
    assert twin.same_guarantee(certificate)


def test_falling_rates_and_noise_that_rises_are_covered() -> None:
    rates = (0.3 / (1.0 + np.arange(60) / 10.0)).tolist()
    geometry = sdp.Geometry(strong_convexity=1.0, smoothness=2.0, sensitivity=10.0)
    noise = np.linspace(1.0, 2.0, 60).tolist()
    run = sdp.NoisySGD(n=500, batch_size=10, steps=60, learning_rate=rates, noise=noise)
    found = bound(run, geometry)
    certificate_of(found, run, geometry).verify()
    assert found.f.epsilon(DELTA) < bound(replace(run, noise=1.0), geometry).f.epsilon(DELTA)


# --- forged proofs ---


@cache
def honest(schedule: bool = False) -> sdp.Certificate:
    run, geometry = setting(0.3, 0.5, 0.9, 40)
    if schedule:
        run = replace(run, noise=sdp.cooldown(40, 1.0, last=4, factor=2))
    return certificate_of(bound(run, geometry), run, geometry)


def proof(schedule: bool = False) -> PrefixProof:
    return cast(PrefixProof, honest(schedule).proofs[0])


def forged(schedule: bool = False, **changes: Any) -> sdp.Certificate:
    """The certificate with another proof, and the function that follows from it."""
    other = replace(proof(schedule), **changes)
    known = honest(schedule)
    f = B6.rebuild(cast(sdp.NoisySGD, known.run), known.geometry, (other,), 1e-3)
    return replace(known, f=f, proofs=(other,))


@pytest.mark.parametrize("schedule", [False, True])
def test_larger_numbers_are_no_lie(schedule: bool) -> None:
    known = proof(schedule)
    assert known.rate > 0.0
    honest(schedule).verify()
    forged(schedule, rate=1.01 * known.rate).verify()
    forged(schedule, values=tuple(1.01 * z for z in known.values)).verify()
    forged(schedule, groups=tuple((1.01 * a, n) for a, n in known.groups)).verify()


@pytest.mark.parametrize("schedule", [False, True])
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
def test_a_forged_proof_is_refused(change: Any, schedule: bool) -> None:
    with pytest.raises((sdp.VerificationFailed, sdp.InvalidInput)):
        forged(schedule, **change(proof(schedule))).verify()


@pytest.mark.parametrize(
    "noise",
    [
        sdp.cooldown(40, 1.0, last=4, factor=1.99),
        sdp.cooldown(40, 1.0, last=3, factor=2),
        (*(1.0,) * 30, 0.5, *(1.0,) * 5, *(2.0,) * 4),
    ],
)
def test_the_proof_of_one_schedule_is_none_of_another(noise: tuple[float, ...]) -> None:
    """Even with the function that would follow from it."""
    known = honest(True)
    run = replace(cast(sdp.NoisySGD, known.run), noise=noise)
    f = B6.rebuild(run, known.geometry, known.proofs, 1e-3)
    with pytest.raises(sdp.VerificationFailed):
        replace(known, run=run, f=f).verify()
    with pytest.raises(sdp.VerificationFailed):
        replace(known, run=run).verify()


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
    assert theorem.prospect(run, losses, 1e-5, rival=0.139) == Prospect.OPEN
    guess = bound_by(theorem, run, losses, 1e-5).guess
    assert guess is not None
    assert guess < 0.11
