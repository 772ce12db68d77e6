"""Theorem V1 for batches that are drawn afresh: against all orders, exact laws, and forgery."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from shiftdp import (
    Certificate,
    Geometry,
    InvalidInput,
    NoisyCGD,
    NoisySGD,
    VerificationFailed,
    certify,
)
from shiftdp.last_iterate.certification import evaluate
from shiftdp.last_iterate.schedules.releases import release_steps, segments_of
from shiftdp.last_iterate.theorems.released.segments import segment_run
from tests.last_iterate.brute_force import gaussian_delta, hockey_stick, reshuffles, steps_of
from tests.last_iterate.random_runs import cyclic_runs
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.released.joint_laws import linear_laws, segments_mu

NAME = "Theorem V1 (independent segments)"
EXAMPLES: usual.Examples = {NAME: (usual.EPOCHS, usual.RIDGE)}
RIDGE = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)
LOSSES = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=10, gradient_bound=5)
ALONE = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=5, adjacency="zero_out")
CYCLIC: dict[str, Any] = {"n": 30, "batch_size": 10, "learning_rate": 0.2, "noise": 0.4}
RANDOM: dict[str, Any] = {
    "n": 200, "batch_size": 10, "steps": 40, "learning_rate": 0.1, "noise": 3.0,
}  # fmt: skip


@settings(max_examples=25)
@given(cyclic_runs("reshuffled", most_batches=3))
def test_reshuffled_is_above_the_average_over_all_orders(
    setting: tuple[NoisyCGD, Geometry],
) -> None:
    """Given the order, the releases are Gaussian together; the product of means is the mean."""
    shuffled, geometry = setting
    run = NoisyCGD(**{**vars(shuffled), "releases": "epochs"})
    found = certify(run, geometry)
    c, s, sd = steps_of(run, geometry)
    cases = []
    for weight, visits in reshuffles(run):
        seen = np.zeros(run.steps)
        seen[visits] = s[visits]
        cases.append((weight, segments_mu(c, seen, sd, release_steps(run), geometry.diameter)))
    for epsilon in (0.0, 0.7, 2.0):
        exact = math.fsum(w * gaussian_delta(mu, epsilon) for w, mu in cases)
        assert found.delta(epsilon) >= exact * (1 - 1e-9) - 1e-13
    found.verify()


def test_it_is_as_tight_as_the_average_where_batches_are_alike() -> None:
    run = NoisyCGD(**CYCLIC, epochs=3, order="reshuffled", releases="epochs")
    c, s, sd = steps_of(run, RIDGE)
    found = certify(run, RIDGE, accuracy=1e-4)
    assert found.bound == NAME
    cases = []
    for weight, visits in reshuffles(run):
        seen = np.zeros(run.steps)
        seen[visits] = s[visits]
        cases.append((weight, segments_mu(c, seen, sd, (3, 6, 9))))
    for epsilon in (0.2, 1.0):
        exact = math.fsum(w * gaussian_delta(mu, epsilon) for w, mu in cases)
        assert exact <= found.delta(epsilon) <= exact * 1.01


def test_releases_within_epochs_are_left_to_composition() -> None:
    run = NoisyCGD(**CYCLIC, epochs=4, order="reshuffled", releases=[4])
    assert certify(run, RIDGE).bound == "Thm mgd (composition)"
    refused = dict(evaluate(run, RIDGE).refused)
    assert 'releases="epochs"' in str(refused[NAME])


@pytest.mark.parametrize(
    ("sampling", "geometry"),
    [
        ("poisson", ALONE),
        pytest.param("without_replacement", LOSSES, marks=pytest.mark.slow),
        pytest.param("poisson", LOSSES, marks=pytest.mark.slow),
        pytest.param("random_allocation", ALONE, marks=pytest.mark.slow),
    ],
)
def test_every_way_to_sample_has_a_certificate_that_is_verified(
    sampling: Any, geometry: Geometry
) -> None:
    run = NoisySGD(**RANDOM, sampling=sampling, releases=[20])
    found = certify(run, geometry)
    hidden = certify(NoisySGD(**RANDOM, sampling=sampling), geometry)
    composed = certify(run, geometry, bounds="composition")
    costs = [each.epsilon(1e-5) for each in (hidden, found, composed)]
    assert costs[0] <= costs[1] * 1.001
    assert costs[1] <= costs[2] * 1.001
    found.verify()
    twin = Certificate.from_json(found.to_json())
    twin.verify()
    assert twin.to_json() == found.to_json()


def test_a_batch_cap_may_fail_in_each_segment() -> None:
    ridge = Geometry(strong_convexity=2.0, smoothness=3.0, sensitivity=5, adjacency="zero_out")
    shape = {**RANDOM, "learning_rate": 0.3, "sampling": "poisson", "releases": [20]}
    found = certify(NoisySGD(**shape), ridge)
    if found.bound == NAME and found.f.split_failure()[1] > 0.0:
        document = json.loads(found.to_json())
        document["tradeoff"]["failure"] *= 0.99
        with pytest.raises(VerificationFailed, match="fails"):
            Certificate.from_json(json.dumps(document)).verify()
    assert found.bound == NAME


def joint_delta(run: NoisySGD, geometry: Geometry, epsilon: float) -> float:
    """Two releases of a linear recursion with random participation, by a grid in the plane.

    The record pushes by s whenever it is drawn; all patterns are enumerated.
    """
    eta, sigma = float(run.learning_rate), float(run.noise)  # type: ignore[arg-type]
    slope = 1 - eta * geometry.strong_convexity
    t, p = run.steps, run.participation
    s = eta * geometry.sensitivity / run.batch_size
    sd, releases = np.full(t, eta * sigma), release_steps(run)
    patterns = list(itertools.product((0.0, 1.0), repeat=t))
    _, C = linear_laws(np.full(t, slope), np.zeros(t), sd, releases)
    root = np.linalg.cholesky(C[0])
    grid = np.arange(-7.0, 11.0, 0.05)
    x, y = np.meshgrid(grid, grid, indexing="ij")
    with_record = np.zeros_like(x)
    for pattern in patterns:
        d, _ = linear_laws(np.full(t, slope), s * np.array(pattern), sd, releases)
        m = np.linalg.solve(root, d[0])
        chance = math.prod(p if v else 1 - p for v in pattern)
        with_record += chance * np.exp(-((x - m[0]) ** 2 + (y - m[1]) ** 2) / 2)
    without = np.exp(-(x**2 + y**2) / 2)
    unit = 0.05**2 / (2 * math.pi)
    return hockey_stick(with_record.ravel() * unit, without.ravel() * unit, epsilon)


@pytest.mark.parametrize("noise", [0.8, 2.0])
@pytest.mark.parametrize("sampling", ["poisson", "without_replacement"])
def test_an_exact_joint_law_of_random_batches_is_not_above(sampling: Any, noise: float) -> None:
    """Without replacement, one version of the record is like all others, and pushes nowhere."""
    adjacency: Any = "zero_out" if sampling == "poisson" else "replace_one"
    geometry = Geometry(strong_convexity=0.5, smoothness=1.0, sensitivity=5, adjacency=adjacency)
    shape: dict[str, Any] = {
        "n": 12,
        "batch_size": 4,
        "steps": 6,
        "learning_rate": 0.5,
        "noise": noise,
    }
    run = NoisySGD(**shape, sampling=sampling, releases=[3])
    found = certify(run, geometry)
    for epsilon in (0.1, 0.5, 1.5):
        exact = joint_delta(run, geometry, epsilon)
        assert exact > 0.0
        assert found.delta(epsilon) >= exact * (1 - 1e-3)


def test_segments_are_runs_of_their_own_steps() -> None:
    noise = [1.0 + k for k in range(12)]
    run = NoisyCGD(**{**CYCLIC, "noise": noise}, steps=12, order="reshuffled", releases=[3, 9])
    parts = [segment_run(run, segment) for segment in segments_of(run)]
    assert [part.noise for part in parts] == [
        (1.0, 2.0, 3.0),
        tuple(noise[3:9]),
        tuple(noise[9:]),
    ]
    assert all(part.releases is None for part in parts)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    shape: dict[str, Any] = {
        "n": 2000,
        "batch_size": 100,
        "steps": 40,
        "learning_rate": 0.1,
        "noise": 0.1,
    }
    geometry = Geometry(strong_convexity=1.0, smoothness=10.0, sensitivity=10.0)
    run = NoisySGD(**shape, releases=[10])
    found: dict[str, Any] = json.loads(certify(run, geometry).to_json())
    assert found["bound"] == NAME
    return found


EDITS: dict[str, Any] = {
    "a release is denied": lambda d: d["run"].pop("releases"),
    "it is said to come elsewhere": lambda d: d["run"].update(releases=[20, 40]),
    "a segment is left out": lambda d: d["proofs"].pop(),
    "segments are exchanged": lambda d: d["proofs"].reverse(),
    "a segment is said to be another theorem's": lambda d: d["proofs"][0].update(
        theorem="Theorem B3 (Poisson)"
    ),
    "a segment is proved by itself": lambda d: d["proofs"][0].update(theorem=NAME),
    "a segment has no proof": lambda d: d["proofs"][1].update(proofs=[]),
    "a factor is left out": lambda d: d["tradeoff"]["factors"].pop(),
}


@pytest.mark.parametrize("edit", EDITS)
def test_forged_certificates_are_refused(edit: str, document: dict[str, Any]) -> None:
    forged = json.loads(json.dumps(document))
    EDITS[edit](forged)
    with pytest.raises((VerificationFailed, InvalidInput)):
        Certificate.from_json(json.dumps(forged)).verify()


def test_calibrated_noise_meets_the_budget_with_releases() -> None:
    from shiftdp import calibrate_epochs, calibrate_noise

    run = NoisyCGD(**CYCLIC, epochs=6, order="reshuffled", releases="epochs")
    found = calibrate_noise(run, RIDGE, epsilon=1.0, delta=1e-5)
    assert found.releases == "epochs"
    assert 0.999 < certify(found, RIDGE).epsilon(1e-5) <= 1.0
    fixed = NoisyCGD(**CYCLIC, epochs=1, releases="epochs")
    longest = calibrate_epochs(fixed, RIDGE, epsilon=6.0, delta=1e-5)
    assert longest.releases == "epochs"
    assert certify(longest, RIDGE).epsilon(1e-5) <= 6.0
    with pytest.raises(InvalidInput, match="are steps of a run of this length"):
        calibrate_epochs(NoisyCGD(**CYCLIC, epochs=4, releases=[5]), RIDGE, epsilon=3.0, delta=1e-5)
