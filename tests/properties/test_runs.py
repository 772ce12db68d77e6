"""What must hold for every run: the best bound is best, and more of a good thing never hurts."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shiftdp import Geometry, LangevinMC, NoisyCGD, NoisyGD, certify
from shiftdp.interpolation.closed_forms.cyclic_descent import mgd, mgd_proj_best, mgd_sc
from shiftdp.last_iterate.certification import evaluate
from tests.last_iterate.random_runs import (
    ORDERS,
    Setting,
    cyclic_runs,
    full_batch_runs,
    settings_of,
)

EPSILONS = (0.0, 0.5, 2.0)
UP = 1 + 1e-9  # a stated number is rounded up, two ways to it differently
TINY = 1e-13


def profile(run: Any, geometry: Geometry, **options: Any) -> list[float]:
    cert = certify(run, geometry, **options)
    return [cert.delta(epsilon) for epsilon in EPSILONS]


def at_most(one: list[float], other: list[float]) -> None:
    for a, b in zip(one, other, strict=True):
        assert a <= b * UP + TINY


def changed(run: Any, **changes: Any) -> Any:
    return type(run)(**{**vars(run), **changes})


@settings(max_examples=250)
@given(settings_of())
def test_the_best_bound_is_above_no_other(setting: Setting) -> None:
    """In particular not above composition, nor above any bound of the paper."""
    run, geometry = setting
    best = profile(run, geometry)
    others = evaluate(run, geometry).found
    assert others[0].family == "composition"
    for bound in others:
        at_most(best, [bound.f.delta(epsilon) for epsilon in EPSILONS])
    at_most(best, profile(run, geometry, bounds="paper"))
    at_most(profile(run, geometry, bounds="paper"), profile(run, geometry, bounds="composition"))


@settings(max_examples=150)
@given(cyclic_runs("fixed", equal_steps=True, weakly=False), st.integers(1, 200))
def test_the_closed_forms_of_the_paper_written_out(
    setting: tuple[NoisyCGD, Geometry], epochs: int
) -> None:
    run, geometry = setting
    size, ell = run.batch_size, run.batches
    run = NoisyCGD(
        n=size * ell,
        batch_size=size,
        epochs=epochs,
        learning_rate=run.learning_rate,
        noise=run.noise,
    )
    assert isinstance(run.learning_rate, float)
    assert isinstance(run.noise, float)
    eta, m, M = run.learning_rate, geometry.strong_convexity, geometry.smoothness
    c = min(1.0, max(abs(1 - eta * m), abs(1 - eta * M)) * (1 + 1e-15))
    s, sd = eta * geometry.sensitivity / size, eta * run.noise
    mu = certify(run, geometry).mu
    assert mu is not None
    forms = [mgd(s, sd, epochs), mgd_sc(c, s, sd, ell, epochs)]
    if geometry.bounded:
        forms.append(mgd_proj_best(s, sd, geometry.diameter, ell, epochs))
    assert mu <= min(forms) * UP
    if not geometry.bounded and ell > 1:  # of a single batch, mgd-sc is not the optimum
        assert mu == pytest.approx(forms[1], rel=1e-9)


@settings(max_examples=150)
@given(settings_of(), st.floats(1.0, 3.0))
def test_more_noise_never_leaks_more(setting: Setting, factor: float) -> None:
    run, geometry = setting
    assume(not isinstance(run, LangevinMC))
    noise = run.noise * factor if isinstance(run.noise, float) else [x * factor for x in run.noise]
    at_most(profile(changed(run, noise=noise), geometry), profile(run, geometry))


@settings(max_examples=100)
@given(st.one_of(cyclic_runs("fixed"), cyclic_runs("shuffled_once")), st.data())
def test_more_noise_in_one_step_never_leaks_more(setting: Setting, data: st.DataObject) -> None:
    run, geometry = setting
    noise = [run.noise] * run.steps if isinstance(run.noise, float) else list(run.noise)
    before = profile(changed(run, noise=noise), geometry)
    noise[data.draw(st.integers(0, run.steps - 1))] *= data.draw(st.floats(1.0, 4.0))
    at_most(profile(changed(run, noise=noise), geometry), before)


@settings(max_examples=150)
@given(settings_of(), st.floats(1.0, 3.0))
def test_more_sensitivity_never_leaks_less(setting: Setting, factor: float) -> None:
    run, geometry = setting
    wider = dataclasses.replace(geometry, sensitivity=geometry.sensitivity * factor)
    at_most(profile(run, geometry), profile(run, wider))


@settings(max_examples=150)
@given(settings_of(), st.floats(1.0, 3.0))
def test_weaker_assumptions_never_prove_more(setting: Setting, factor: float) -> None:
    run, geometry = setting
    wider = dataclasses.replace(geometry, diameter=geometry.diameter * factor)
    at_most(profile(run, geometry), profile(run, wider))
    m = geometry.strong_convexity
    flatter = dataclasses.replace(geometry, strong_convexity=m - 0.1 * abs(m))
    at_most(profile(run, geometry), profile(run, flatter))


@settings(max_examples=100)
@given(full_batch_runs(), st.integers(1, 30))
def test_more_records_never_leak_more(setting: tuple[NoisyGD, Geometry], more: int) -> None:
    run, geometry = setting
    at_most(profile(changed(run, n=run.n + more), geometry), profile(run, geometry))


@settings(max_examples=100)
@given(
    st.sampled_from(ORDERS).flatmap(
        lambda order: cyclic_runs(order, equal_steps=True, weakly=False)
    ),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_more_batches_an_epoch_never_leak_more(
    setting: tuple[NoisyCGD, Geometry], epochs: int, more: int
) -> None:
    """As many epochs over more batches of the same size: contractions only, whole epochs."""
    run, geometry = setting
    profiles = []
    for ell in (run.batches, run.batches + more):
        parts = {"n": ell * run.batch_size, "steps": ell * epochs}
        profiles.append(profile(changed(run, **parts), geometry))
    at_most(profiles[1], profiles[0])


@settings(max_examples=120)
@given(
    st.sampled_from(ORDERS).flatmap(lambda order: cyclic_runs(order, equal_steps=True)),
    st.integers(1, 4),
    st.one_of(st.integers(1, 40), st.integers(40, 2000)),
)
def test_more_epochs_never_leak_less(
    setting: tuple[NoisyCGD, Geometry], epochs: int, more: int
) -> None:
    """Up to a run without end, if there is a bound on it."""
    run, geometry = setting
    lengths = (epochs, epochs + more, epochs + 2 * more)
    profiles = [profile(changed(run, steps=run.batches * E), geometry) for E in lengths]
    if geometry.bounded or geometry.strong_convexity > 0.0:
        profiles.append(profile(changed(run, steps=math.inf), geometry))
    for shorter, longer in itertools.pairwise(profiles):
        at_most(shorter, longer)


@settings(max_examples=80)
@given(st.one_of(full_batch_runs(), cyclic_runs("fixed")), st.data())
def test_a_longer_schedule_in_front_never_leaks_less(setting: Setting, data: st.DataObject) -> None:
    """A run that began one epoch earlier, with any steps."""
    run, geometry = setting
    ell = run.batches
    eta = (
        [run.learning_rate] * run.steps
        if isinstance(run.learning_rate, float)
        else [*run.learning_rate]
    )
    noise = [run.noise] * run.steps if isinstance(run.noise, float) else [*run.noise]
    rates = st.floats(0.05, 0.999).map(lambda x: x * 2.0 / geometry.smoothness)
    earlier = data.draw(st.lists(rates, min_size=ell, max_size=ell))
    longer = changed(
        run,
        steps=run.steps + ell,
        learning_rate=[*earlier, *eta],
        noise=[*[1.0] * ell, *noise],
    )
    at_most(profile(run, geometry), profile(longer, geometry))


@settings(max_examples=100)
@given(settings_of())
def test_numbers_are_numbers(setting: Setting) -> None:
    cert = certify(*setting)
    for delta in (1e-300, 1e-12, 0.3):
        epsilon = cert.epsilon(delta)
        assert 0.0 <= epsilon < math.inf
        low, high = cert.epsilon_interval(delta)
        assert low <= epsilon == high
    assert 0.0 <= cert.delta(0.0) <= 1.0
    assert type(cert.epsilon(1e-5)) is float
    assert cert.mu is None or type(cert.mu) is float
