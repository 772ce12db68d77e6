"""Theorem B7: against exact laws of small runs, published figures, and its own logic."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import shiftdp as sdp
from shiftdp._errors import UnmetHypothesis
from shiftdp.fdp import HiddenExchange
from shiftdp.last_iterate.certification import bound_by, certificate_of
from shiftdp.last_iterate.theorems.hidden import HIDDEN, HiddenProof
from shiftdp.last_iterate.theorems.registry import theorem_of
from shiftdp.last_iterate.theorems.theorem import Bound
from tests.last_iterate.theorems import usual

EXAMPLES: usual.Examples = {"Theorem B7": (usual.SGD, usual.LOSSES)}
SCHEDULED: usual.Examples = {"Theorem B7": (usual.COOLED, usual.LOSSES)}

DELTA = 1e-5
(B7,) = HIDDEN


def setting(
    p: float, s: float, c: float, steps: int, sampling: str = "without_replacement", **more: Any
) -> tuple[sdp.NoisySGD, sdp.Geometry]:
    """A run with participation p, displacement s in units of the noise, and contraction c."""
    b = 10
    contracts = c < 1.0
    eta = 1.0 - c if contracts else 0.5
    adjacency = more.pop("adjacency", "replace_one")
    geometry = sdp.Geometry(
        strong_convexity=1.0 if contracts else 0.0,
        smoothness=1.0,
        sensitivity=s * b * (2 if adjacency == "replace_one" and sampling == "poisson" else 1),
        gradient_bound=s * b if sampling == "poisson" else None,
        adjacency=adjacency,
    )
    run = sdp.NoisySGD(
        n=round(b / p),
        batch_size=b,
        steps=steps,
        learning_rate=eta,
        noise=more.pop("noise", 1.0),
        sampling=sampling,  # type: ignore[arg-type]
        **more,
    )
    return run, geometry


def bound(run: sdp.NoisySGD, geometry: sdp.Geometry, delta: float = DELTA) -> Bound:
    return bound_by(B7, run, geometry, delta)


@pytest.mark.parametrize(
    ("p", "s", "c", "steps", "attained", "most"),
    [
        (0.05, 2.0, 0.8, 30, 5.62, 7.19),
        (0.3, 0.5, 0.95, 60, 3.86, 4.71),
        (0.05, 1.0, 0.9, 100, 1.21, 2.06),
        (0.01, 1.0, 0.95, 400, 0.255, 0.64),
        (0.01, 2.0, 1.0, 1000, 3.59, 5.18),
    ],
)
def test_epsilon_is_between_what_is_attained_and_what_the_prototypes_reached(
    p: float, s: float, c: float, steps: int, attained: float, most: float
) -> None:
    epsilon = bound(*setting(p, s, c, steps)).f.epsilon(DELTA)
    assert attained <= epsilon <= most


def test_more_noise_in_the_last_steps_removes_most_of_the_cost() -> None:
    flat = bound(*setting(0.01, 4.0, 1.0, 1000)).f.epsilon(DELTA)
    noise = sdp.cooldown(1000, 1.0, last=30, factor=3)
    cooled = bound(*setting(0.01, 4.0, 1.0, 1000, noise=noise)).f.epsilon(DELTA)
    assert 16.6 <= flat <= 19.6
    assert 7.0 <= cooled <= 7.4


# --- exact laws ---


def moved(c: float, noise: np.ndarray, v: tuple[int, ...], s: float, eta: float) -> float:
    """The mean of the last iterate of a linear recursion, in units of its deviation."""
    t = len(v)
    w = c ** np.arange(t - 1, -1, -1.0)
    return float(np.sum(w * s * np.array(v)) / math.sqrt(np.sum((w * noise) ** 2)))


def mixture_delta(
    means_p: np.ndarray, means_q: np.ndarray, weights: np.ndarray, epsilon: float
) -> float:
    """H between two mixtures of unit Gaussians on the line with a monotone likelihood ratio."""
    x = np.linspace(-12.0, 12.0 + float(means_p.max()), 4001)
    p = ndtr(means_p[None, :] - x[:, None]) @ weights
    q = ndtr(means_q[None, :] - x[:, None]) @ weights
    return float(np.max(p - math.exp(epsilon) * q))


@settings(max_examples=25, deadline=None)
@given(
    p=st.sampled_from([0.05, 0.2, 0.5]),
    s=st.floats(0.3, 4.0),
    c=st.sampled_from([0.5, 0.8, 0.95, 1.0]),
    noise=st.lists(st.floats(0.5, 3.0), min_size=1, max_size=7),
    epsilon=st.floats(0.0, 6.0),
    shape=st.sampled_from(["without_replacement", "zero_out", "replace_one"]),
)
def test_no_linear_recursion_leaks_more(
    p: float, s: float, c: float, noise: list[float], epsilon: float, shape: str
) -> None:
    """Gradients that do not depend on the iterate: the last iterate is a mixture of Gaussians."""
    sampling = "without_replacement" if shape == "without_replacement" else "poisson"
    adjacency = "zero_out" if shape == "zero_out" else "replace_one"
    run, geometry = setting(p, s, c, len(noise), sampling, noise=noise, adjacency=adjacency)
    f = bound(run, geometry).f
    patterns = list(itertools.product((0, 1), repeat=len(noise)))
    sd = np.array(noise)
    mean = np.array([moved(c, sd, v, s, 1.0) for v in patterns])
    weight = np.array([math.prod(p if x else 1.0 - p for x in v) for v in patterns])
    # without replacement the two versions of the record are s apart; exchanged, they go both ways
    first, second = (mean, -mean) if shape == "replace_one" else (mean, 0.0 * mean)
    if shape == "without_replacement":
        first, second = mean / 2, -mean / 2
        assert mixture_delta(mean, 0.0 * mean, weight, epsilon) <= f.delta(epsilon)
    there = mixture_delta(first, second, weight, epsilon)
    back = mixture_delta(-second, -first, weight, epsilon)
    assert max(there, back) <= f.delta(epsilon)


# --- logic ---


def test_one_step_under_poisson_sampling_is_what_that_step_costs() -> None:
    run, geometry = setting(0.1, 1.5, 1.0, 1, "poisson", adjacency="zero_out", batch_cap=100)
    composed = sdp.certify(run, geometry, bounds="composition").epsilon(DELTA)
    assert bound(run, geometry).f.epsilon(DELTA) == pytest.approx(composed, rel=2e-3)


def test_less_noise_and_more_steps_leak_more() -> None:
    epsilons = [bound(*setting(0.05, s, 0.9, 40)).f.epsilon(DELTA) for s in (0.5, 1.0, 2.0)]
    assert epsilons == sorted(epsilons)
    lengths = [bound(*setting(0.05, 1.0, 1.0, t)).f.epsilon(DELTA) for t in (5, 50, 500)]
    assert lengths == sorted(lengths)


def test_certify_prefers_it_to_composition_where_batches_are_small() -> None:
    run, geometry = setting(0.01, 4.0, 1.0, 500)
    certificate = sdp.certify(run, geometry)
    assert certificate.bound == "Theorem B7"
    assert certificate.epsilon(DELTA) < 0.3 * sdp.certify(
        run, geometry, bounds="composition"
    ).epsilon(DELTA)


def test_noise_is_calibrated_and_accounted_for() -> None:
    run, geometry = setting(0.02, 2.0, 1.0, 200)
    found = sdp.calibrate_noise(run, geometry, epsilon=2.0, delta=DELTA)
    assert 1.999 <= sdp.certify(found, geometry).epsilon(DELTA) <= 2.0


def test_an_endless_run_that_forgets_has_a_bound_that_no_length_exceeds() -> None:
    run, geometry = setting(0.01, 1.0, 0.9, 3000)
    endless = sdp.NoisySGD(**{**vars(run), "steps": math.inf})
    f = bound_by(B7, endless, geometry, DELTA).f
    assert f.epsilon(DELTA) >= bound(run, geometry).f.epsilon(DELTA)
    assert f.epsilon(DELTA) <= 1.02 * bound(run, geometry).f.epsilon(DELTA)


def test_an_endless_run_that_remembers_is_refused() -> None:
    run, geometry = setting(0.01, 1.0, 1.0, 10)
    with pytest.raises(UnmetHypothesis, match="steps=inf"):
        bound_by(B7, sdp.NoisySGD(**{**vars(run), "steps": math.inf}), geometry, DELTA)


def test_a_batch_cap_that_is_passed_too_often_is_refused() -> None:
    run, geometry = setting(0.1, 1.0, 1.0, 50, "poisson", adjacency="zero_out", batch_cap=12)
    with pytest.raises(UnmetHypothesis, match="batch_cap=12"):
        bound(run, geometry)


def test_the_registry_knows_it_by_its_name() -> None:
    assert theorem_of("Theorem B7") is B7


# --- forged laws ---


def with_law(mu: Any, weight: Any) -> sdp.Certificate:
    """The certificate of a run with another law in its proof and its function."""
    run, geometry = setting(0.05, 2.0, 0.8, 30)
    honest = sdp.certify(run, geometry)
    (proof,) = honest.proofs
    law: dict[str, Any] = {"mu": tuple(mu), "weight": tuple(weight)}
    forged = replace(cast(HiddenProof, proof), **law)
    return replace(honest, f=HiddenExchange(**law), proofs=(forged,))


def test_a_law_that_leaves_the_tail_out_is_refused() -> None:
    run, geometry = setting(0.05, 2.0, 0.8, 30)
    honest = cast(HiddenProof, sdp.certify(run, geometry).proofs[0])
    mu, weight = np.array(honest.mu), np.array(honest.weight)
    for moved in (0.999, 0.9, 0.5):  # a little of the mass moves down
        below = weight.copy()
        below[0] += (1.0 - moved) * below[-100:].sum()
        below[-100:] *= moved
        with pytest.raises(sdp.VerificationFailed):
            with_law(mu, below).verify()
    with pytest.raises(sdp.VerificationFailed):
        with_law(mu * (1.0 - 1e-3), weight).verify()


def test_a_larger_law_is_no_lie() -> None:
    run, geometry = setting(0.05, 2.0, 0.8, 30)
    honest = cast(HiddenProof, sdp.certify(run, geometry).proofs[0])
    with_law(np.array(honest.mu) * 1.01, honest.weight).verify()


def test_one_does_not_stand_in_for_steps_that_expand() -> None:
    """A double well: its slopes are up to 1.5, and a law for slopes of 1 is far too small."""
    geometry = sdp.Geometry(strong_convexity=-1.0, smoothness=2.0, sensitivity=60.0)
    run = sdp.NoisySGD(n=1000, batch_size=10, steps=20, learning_rate=0.5, noise=1.0)
    tame = sdp.Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=60.0)
    wrong = cast(HiddenProof, bound(run, tame).proofs[0])
    honest = certificate_of(bound(run, geometry), run, geometry)
    forged = replace(wrong, contracting=False)
    f = HiddenExchange(forged.mu, forged.weight)
    with pytest.raises(sdp.VerificationFailed, match="expand"):
        replace(honest, f=f, proofs=(forged,)).verify()


def test_a_grid_that_would_take_minutes_is_refused_at_once() -> None:
    run, geometry = setting(0.05, 2.0, 0.8, 30)
    honest = sdp.certify(run, geometry)
    proof = cast(HiddenProof, honest.proofs[0])
    assert proof.grid is not None
    endless = replace(proof, grid=replace(proof.grid, cells=10**9))
    with pytest.raises(sdp.VerificationFailed, match="too long"):
        replace(honest, proofs=(endless,)).verify()


# --- random allocation ---


def allocated(epochs: int, c: float, batches: int = 10) -> tuple[sdp.NoisySGD, sdp.Geometry]:
    geometry = sdp.Geometry(
        strong_convexity=1.0 if c < 1.0 else 0.0,
        smoothness=1.0 if c < 1.0 else 0.01,
        sensitivity=10.0,
        adjacency="zero_out",
    )
    run = sdp.NoisySGD(
        n=10 * batches,
        batch_size=10,
        epochs=epochs,
        learning_rate=1.0 - c if c < 1.0 else 0.5,
        noise=1.0,
        sampling="random_allocation",
    )
    return run, geometry


def test_random_allocation_forgets_whole_epochs() -> None:
    few, many = (bound(*allocated(epochs, 0.5)).f.epsilon(DELTA) for epochs in (6, 100))
    assert few <= many <= 1.01 * few


def test_very_many_epochs_have_a_bound() -> None:
    run, geometry = allocated(40_000, 1.0, batches=2)
    f = bound(run, geometry).f
    assert math.isfinite(f.epsilon(DELTA))
    assert f.epsilon(DELTA) <= sdp.certify(run, geometry, bounds="composition").epsilon(DELTA)


def test_an_endless_run_costs_hardly_more_than_a_long_one() -> None:
    """What is forgotten is forgotten: at c = .9 nothing older than 400 steps can be felt."""
    losses = sdp.Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=2.0)
    shape: dict[str, Any] = {"n": 100, "batch_size": 10, "learning_rate": 1.0, "noise": 1.0}
    long, endless = (
        bound_by(HIDDEN[0], sdp.NoisySGD(**shape, steps=t), losses, 1e-5).f.epsilon(1e-5)
        for t in (60, math.inf)
    )
    assert long <= endless <= 1.01 * long


@pytest.mark.filterwarnings("error")
def test_epochs_so_old_that_their_clocks_stand_are_certified_and_verified() -> None:
    """Hulls divided 0 by 0: a warning in the search, and an error in the check."""
    run = sdp.NoisySGD(
        n=400,
        batch_size=20,
        epochs=20,
        learning_rate=0.5,
        noise=1 / 20,
        sampling="random_allocation",
    )
    geometry = sdp.Geometry(
        strong_convexity=0.5, smoothness=1.0, sensitivity=1.0, adjacency="zero_out"
    )
    certificate = sdp.certify(run, geometry)
    assert certificate.bound == "Theorem B7"
    certificate.verify()


@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
def test_one_certificate_serves_smaller_deltas(sampling: Any) -> None:
    adjacency: Any = "zero_out" if sampling == "poisson" else "replace_one"
    geometry = sdp.Geometry(
        strong_convexity=0.0, smoothness=1.0, sensitivity=40.0, adjacency=adjacency
    )
    run = sdp.NoisySGD(
        n=500, batch_size=10, steps=100, learning_rate=0.05, noise=1.0, sampling=sampling
    )
    usual, composed = sdp.certify(run, geometry), sdp.certify(run, geometry, bounds="composition")
    for delta in (1e-9, 1e-12):
        made_for_it = sdp.certify(run, geometry, delta=delta).epsilon(delta)
        assert usual.epsilon(delta) <= 1.02 * made_for_it
        assert usual.epsilon(delta) <= composed.epsilon(delta)


def test_gradients_that_are_all_the_same_are_certified() -> None:
    """Theorem B6, which is about how far a record moves something, is no rival there."""
    run = sdp.NoisySGD(
        n=1000, batch_size=1, steps=99, learning_rate=0.1, noise=1e-3, sampling="poisson"
    )
    geometry = sdp.Geometry(
        strong_convexity=0.5, smoothness=1.0, sensitivity=0.0, gradient_bound=1.0
    )
    certificate = sdp.certify(run, geometry)
    certificate.verify()
    composed = sdp.certify(run, geometry, bounds="composition")
    assert certificate.epsilon(delta=1e-5) <= composed.epsilon(delta=1e-5)


@pytest.mark.parametrize(
    ("sampling", "adjacency", "noise"),
    [("without_replacement", "replace_one", 0.06), ("poisson", "zero_out", 0.05)],
)
def test_values_so_large_that_their_density_vanishes_are_verified(
    sampling: Any, adjacency: Any, noise: float
) -> None:
    geometry = sdp.Geometry(
        strong_convexity=0.3, smoothness=0.5, sensitivity=4.0, adjacency=adjacency
    )
    run = sdp.NoisySGD(
        n=1000, batch_size=4, steps=100, learning_rate=0.1, noise=noise, sampling=sampling
    )
    certificate = sdp.certify(run, geometry)
    (proof,) = HiddenProof.among(certificate.proofs)
    assert proof.mu[-1] > 40.0
    certificate.verify()
