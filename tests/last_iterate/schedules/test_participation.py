"""Laws of mu(V) for runs: one for all amounts of noise, found once and checked by other code."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shiftdp as sdp
from shiftdp._errors import VerificationFailed
from shiftdp.interpolation.participation.law import ParticipationLaw
from shiftdp.last_iterate.schedules.participation import (
    followed_steps,
    participation_law,
    verify_participation,
)
from shiftdp.last_iterate.theorems.sampled.shifts import step_arrays

GEOMETRY = sdp.Geometry(strong_convexity=1.0, smoothness=1.0, sensitivity=20.0)
RUN = sdp.NoisySGD(n=200, batch_size=10, steps=30, learning_rate=0.2, noise=1.0)
DELTA = 1e-5


def law_of(run: sdp.NoisySGD) -> ParticipationLaw:
    steps = step_arrays(run, GEOMETRY)
    shape: dict[str, Any] = {"contracting": True, "followed": run.steps, "delta": DELTA}
    return participation_law(run, GEOMETRY, steps, **shape)[0]


@pytest.mark.parametrize("noise", [1.0, [1.0] * 20 + [2.0] * 10])
def test_twice_the_noise_halves_mu(noise: float | list[float]) -> None:
    run = sdp.NoisySGD(**{**vars(RUN), "noise": noise})
    double = (2.0 * np.asarray(noise)).tolist()
    more = sdp.NoisySGD(**{**vars(RUN), "noise": double})
    # each is made of few values where that costs least, which is not the same place
    assert law_of(more).mean == pytest.approx(0.5 * law_of(run).mean, rel=1e-2)


def test_a_list_of_equal_noises_is_one_noise() -> None:
    listed = sdp.NoisySGD(**{**vars(RUN), "noise": [1.0] * 30})
    assert law_of(listed).mean == pytest.approx(law_of(RUN).mean, rel=5e-3)


@pytest.mark.parametrize("noise", [1.0, [1.0] * 20 + [2.0] * 10])
@pytest.mark.parametrize("shrunk", [1.0, 0.999])
def test_a_law_is_proved_and_a_smaller_one_is_not(
    noise: float | list[float], shrunk: float
) -> None:
    run = sdp.NoisySGD(**{**vars(RUN), "noise": noise})
    steps = step_arrays(run, GEOMETRY)
    shape: dict[str, Any] = {"contracting": True, "followed": 30, "delta": DELTA}
    law, grid = participation_law(run, GEOMETRY, steps, **shape)
    claim = replace(law, mu=tuple(shrunk * mu for mu in law.mu))
    if shrunk == 1.0:
        verify_participation(run, GEOMETRY, steps, **shape, law=claim, grid=grid)
        return
    with pytest.raises(VerificationFailed):
        verify_participation(run, GEOMETRY, steps, **shape, law=claim, grid=grid)


def test_a_law_without_a_grid_has_to_be_that_of_composition() -> None:
    steps = step_arrays(RUN, GEOMETRY)
    shape: dict[str, Any] = {"contracting": True, "followed": 30, "delta": DELTA, "grid": None}
    law = ParticipationLaw((2.0 * 30**0.5 * (1 + 1e-9),), (1.0,))
    verify_participation(RUN, GEOMETRY, steps, **shape, law=law)
    with pytest.raises(VerificationFailed, match="composition"):
        verify_participation(RUN, GEOMETRY, steps, **shape, law=replace(law, mu=(1.0,)))


def followed(run: sdp.NoisySGD, geometry: sdp.Geometry, contracting: bool = True) -> int:
    steps = step_arrays(run, geometry)
    return followed_steps(run, geometry, steps, contracting=contracting)


def test_bounded_sets_are_cut_and_long_runs_that_do_not_contract() -> None:
    assert followed(RUN, GEOMETRY) == 30
    small = replace(GEOMETRY, strong_convexity=0.0, diameter=2.0)
    long = sdp.NoisySGD(**{**vars(RUN), "steps": 500})
    assert 1 <= followed(long, small) < 500
    longer = sdp.NoisySGD(**{**vars(RUN), "steps": 10**6})
    assert followed(longer, GEOMETRY) == 10**6
    assert followed(longer, GEOMETRY, contracting=False) < 10**4
    assert followed(longer, replace(GEOMETRY, strong_convexity=0.0)) < 10**4


def test_no_steps_are_left_out_of_a_run_that_contracts() -> None:
    walk = replace(GEOMETRY, strong_convexity=0.0)
    shape: dict[str, Any] = {"contracting": True, "followed": 10, "delta": DELTA}
    law, grid = participation_law(RUN, walk, step_arrays(RUN, walk), **shape)
    verify_participation(RUN, walk, step_arrays(RUN, walk), **shape, law=law, grid=grid)
    with pytest.raises(VerificationFailed, match="left out"):
        verify_participation(RUN, GEOMETRY, step_arrays(RUN, GEOMETRY), **shape, law=law, grid=grid)


def allocated(epochs: int) -> sdp.NoisySGD:
    return sdp.NoisySGD(
        n=16, batch_size=4, epochs=epochs, learning_rate=1.0, noise=1.0,
        sampling="random_allocation",
    )  # fmt: skip


def test_old_epochs_of_an_allocation_are_counted_though_not_listed() -> None:
    geometry = sdp.Geometry(
        strong_convexity=0.3, smoothness=1.0, sensitivity=6.0, adjacency="zero_out"
    )
    shape: dict[str, Any] = {"contracting": True, "delta": 1e-12}
    laws = list[ParticipationLaw]()
    for run in map(allocated, (2, 10, 10**9)):
        steps, shape["followed"] = step_arrays(run, geometry), run.steps
        law, grid = participation_law(run, geometry, steps, **shape)
        laws.append(law)
    few, some, many = (law.mean for law in laws)
    assert few < 0.99 * some
    assert many == pytest.approx(some, rel=1e-2)
    verify_participation(run, geometry, steps, **shape, law=laws[-1], grid=grid)
    smaller = replace(laws[-1], mu=tuple(0.999 * mu for mu in laws[-1].mu))
    with pytest.raises(VerificationFailed):
        verify_participation(run, geometry, steps, **shape, law=smaller, grid=grid)


def test_what_is_revealed_is_compared_tail_by_tail() -> None:
    steps = step_arrays(RUN, GEOMETRY)
    shape: dict[str, Any] = {"contracting": True, "followed": 30, "delta": 1e-12}
    law, grid = participation_law(RUN, GEOMETRY, steps, **shape)
    verify_participation(RUN, GEOMETRY, steps, **shape, law=law, grid=grid)
    with pytest.raises(VerificationFailed, match="only prove"):
        verify_participation(RUN, GEOMETRY, steps, **shape, law=law, grid=grid, revealed=True)
    law, grid = participation_law(RUN, GEOMETRY, steps, **shape, revealed=True)
    verify_participation(RUN, GEOMETRY, steps, **shape, law=law, grid=grid, revealed=True)


def test_a_law_for_less_noise_does_not_pass_in_another_scale() -> None:
    """Values over the noise are the same, but the order of Theorem C8 is not."""
    steps = step_arrays(RUN, GEOMETRY)
    shape: dict[str, Any] = {"contracting": True, "followed": 30, "delta": 1e-12}
    louder = sdp.NoisySGD(**{**vars(RUN), "noise": 4.0})
    law, grid = participation_law(louder, GEOMETRY, step_arrays(louder, GEOMETRY), **shape)
    scaled = replace(law, mu=tuple(4.0 * mu for mu in law.mu))
    with pytest.raises(VerificationFailed, match="only prove"):
        verify_participation(RUN, GEOMETRY, steps, **shape, law=scaled, grid=grid)
