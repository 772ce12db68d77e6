"""What is drawn of a proof adds up to the mu that it proves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import ExponentialMechanism, Geometry, NoisySGD, NoisyStream, certify
from shiftdp.ui.explorer.answers import certified
from shiftdp.ui.explorer.paths import MOST_DRAWN, LawOfMu, NoPath, ShiftsOverTime, path_of
from tests.ui.explorer.examples import RUNS, SMALL, settings

WITHOUT = ("exponential", "sampled", "composition")


@pytest.mark.parametrize("name", [name for name in RUNS if name not in WITHOUT])
def test_shifts_are_shown_and_end_without_a_distance(name: str) -> None:
    path = path_of(certified(RUNS[name].asked()).certificate)
    assert isinstance(path, ShiftsOverTime)
    assert path.distance is not None
    assert path.at.size == path.shift.size == path.distance.size
    assert np.all(path.shift >= 0.0)
    assert path.distance[-1] == 0.0
    assert path.about.startswith("For a record ")


@pytest.mark.parametrize("name", ["fixed", "full batches", "a stream", "langevin"])
def test_shifts_in_units_of_the_noise_prove_mu(name: str) -> None:
    certificate = certified(RUNS[name].asked()).certificate
    path = path_of(certificate)
    assert isinstance(path, ShiftsOverTime)
    run: Any = getattr(certificate.run, "window", certificate.run)
    noise = run.learning_rate * run.noise
    assert np.sqrt(np.sum((path.shift / noise) ** 2)) == pytest.approx(certificate.mu, rel=1e-9)


@pytest.mark.parametrize("name", ["releases", "released epochs", "all released"])
def test_releases_set_the_distance_to_zero(name: str) -> None:
    path = path_of(certified(RUNS[name].asked()).certificate)
    assert isinstance(path, ShiftsOverTime)
    assert path.distance is not None
    ends = {"releases": [5, 11, 19], "released epochs": [3], "all released": [0, 1, 2, 3]}
    assert np.all(path.distance[ends[name]] == 0.0)


@pytest.mark.parametrize("name", WITHOUT)
def test_where_there_is_no_path_the_reason_is_said(name: str) -> None:
    path = path_of(certified(RUNS[name].asked()).certificate)
    assert isinstance(path, NoPath)
    assert path.about.endswith(".")
    assert path.about.startswith("Composition") == (name != "exponential")


def test_pure_dp_is_a_formula_without_steps() -> None:
    losses = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=0.1, diameter=1.0)
    certificate = certify(ExponentialMechanism(), losses, bounds="composition")
    path = path_of(certificate)
    assert isinstance(path, NoPath)
    assert path.about == "pure DP is a formula: it carries no shifts."


def test_of_a_long_run_the_end_is_shown() -> None:
    path = path_of(certified(settings(kind="gd", n="1000", steps="2500").asked()).certificate)
    assert isinstance(path, ShiftsOverTime)
    assert path.at.tolist() == list(range(501, 2501))
    assert path.at.size == MOST_DRAWN
    assert "the last 2000 of 2500" in path.about


def test_a_window_too_long_to_be_drawn_is_not_followed() -> None:
    losses = Geometry(strong_convexity=1.0, smoothness=2.0, sensitivity=1.0)
    stream = NoisyStream(
        batch_size=1, batches_per_release=10**12, learning_rate=0.1, noise=1.0, order="shuffled"
    )
    path = path_of(certify(stream, losses))
    assert isinstance(path, NoPath)
    assert "too many to be drawn" in path.about


def test_hidden_participation_has_a_law() -> None:
    asked = settings(**{**SMALL, "kind": "sgd", "steps": "60", "sampling": "random_allocation"},
                     adjacency="zero_out").asked()  # fmt: skip
    assert isinstance(asked.run, NoisySGD)
    certificate = certify(asked.run, asked.geometry)
    path = path_of(certificate)
    if certificate.bound != "Theorem B7":
        pytest.skip(f"{certificate.bound} is tighter here")
    assert isinstance(path, LawOfMu)
    assert path.weight.sum() == pytest.approx(1.0, abs=1e-6)
