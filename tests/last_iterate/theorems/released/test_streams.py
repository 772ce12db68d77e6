"""Theorem V2: each record is used once, and the stream may go on for ever."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp import (
    Certificate,
    Geometry,
    InvalidInput,
    LangevinMC,
    NoisyCGD,
    NoisyStream,
    VerificationFailed,
    calibrate_batch_size,
    calibrate_epochs,
    calibrate_noise,
    certify,
    compare,
)
from tests.last_iterate.brute_force import gaussian_delta
from tests.last_iterate.theorems import usual
from tests.last_iterate.theorems.released.joint_laws import joint_mu_of

EXAMPLES: usual.Examples = {"Theorem V2": (usual.STREAM, usual.RIDGE)}

RIDGE = Geometry(strong_convexity=0.5, smoothness=4.0, sensitivity=3.0)
MNIST = Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0)
SHAPE: dict[str, Any] = {
    "batch_size": 10, "batches_per_release": 6, "learning_rate": 0.2, "noise": 0.4,
}  # fmt: skip


def mu_of_visit(s: float, c: float, m: int) -> float:
    """The formula of the statement."""
    if c == 1.0:
        return s / math.sqrt(m + 1)
    return s * c**m * math.sqrt((1 - c**2) / (1 - c ** (2 * (m + 1))))


@given(st.floats(1e-6, 0.9) | st.just(0.0), st.integers(1, 12))
def test_a_record_is_hidden_by_the_steps_up_to_the_next_release(ridge: float, k: int) -> None:
    geometry = Geometry(strong_convexity=ridge, smoothness=1.0, sensitivity=3.0)
    stream = NoisyStream(**{**SHAPE, "batches_per_release": k, "learning_rate": 1.0})
    certificate = certify(stream, geometry)
    s, c = 3.0 / (10 * 0.4), 1 - ridge
    for j, mu in certificate.by_position().items():
        assert mu == pytest.approx(mu_of_visit(s, c, k - j), rel=1e-9)
    assert certificate.mu == pytest.approx(s, rel=1e-9)
    assert certificate.lower_mu == pytest.approx(s, rel=1e-9)


@pytest.mark.parametrize("order", ["fixed", "shuffled"])
def test_a_stream_of_one_window_is_one_epoch(order: Any) -> None:
    stream = certify(NoisyStream(**SHAPE, order=order), RIDGE)
    epoch = NoisyCGD(
        n=60,
        batch_size=10,
        epochs=1,
        learning_rate=0.2,
        noise=0.4,
        order="fixed" if order == "fixed" else "shuffled_once",
    )
    once = certify(epoch, RIDGE)
    assert stream.f == once.f
    assert stream.bound == "Theorem V2"
    assert [proof.to_dict() for proof in stream.proofs] == [p.to_dict() for p in once.proofs]
    stream.verify()


def test_shuffled_windows_are_the_mean_over_places() -> None:
    certificate = certify(NoisyStream(**SHAPE, order="shuffled"), RIDGE)
    s, c = 3.0 / (10 * 0.4), 0.9
    for epsilon in (0.0, 0.5, 1.0):
        exact = sum(gaussian_delta(mu_of_visit(s, c, m), epsilon) for m in range(6)) / 6
        assert certificate.delta(epsilon) == pytest.approx(exact, rel=1e-9)


def test_the_length_of_the_stream_does_not_count() -> None:
    """A run over many windows, each with records of its own: a record is visited in one of them.

    The joint law of *all* releases, of any linear recursion that the steps allow.
    """
    stream = certify(NoisyStream(**{**SHAPE, "batches_per_release": 4}), RIDGE)
    rng = np.random.default_rng(5)
    for windows in (1, 3, 8):
        t = 4 * windows
        releases, sd = range(4, t + 1, 4), np.full(t, 0.2 * 0.4)
        for visit in range(t):
            s = np.zeros(t)
            s[visit] = 0.2 * 3.0 / 10
            slopes = 0.9 * rng.choice([-1.0, 1.0, 0.3], (50, t))
            slopes[0] = 0.9
            slopes[0, visit] = 0.0  # what was hidden before the visit does not hide it
            exact = joint_mu_of(slopes, s, sd, releases)
            place = visit % 4 + 1
            allowed = stream.by_position()[place]
            assert np.all(exact <= allowed * (1 + 1e-9))
            # the certificate of the record's place is attained, in whichever window it is
            assert np.max(exact) == pytest.approx(allowed, rel=1e-6)


def test_a_million_windows_have_one_and_the_same_certificate() -> None:
    """Of cyclic batches over so many records, each used once: the releases are those of windows."""
    k = 4
    stream = certify(NoisyStream(**{**SHAPE, "batches_per_release": k}), RIDGE)
    for windows in (1, 10, 50):
        steps = k * windows
        shape: dict[str, Any] = {
            "n": 10 * steps,
            "batch_size": 10,
            "learning_rate": 0.2,
            "noise": 0.4,
        }
        run = NoisyCGD(**shape, epochs=1, releases=[k * i for i in range(1, windows + 1)])
        assert certify(run, RIDGE).mu == pytest.approx(stream.mu, rel=1e-12)
        shuffled = NoisyCGD(**{**shape, "n": 10 * k}, epochs=1, order="shuffled_once")
        dealt = certify(NoisyStream(**{**SHAPE, "batches_per_release": k}, order="shuffled"), RIDGE)
        assert dealt.f == certify(shuffled, RIDGE).f
    # nothing in the certificate knows how long it is: a million windows have this very one
    assert "steps" not in json.loads(stream.to_json())["run"]
    assert "however long it is" in stream.statement()


def test_rates_and_noise_may_change_within_a_window() -> None:
    noise = [0.4, 0.4, 0.4, 0.4, 0.8, 1.6]
    cooled = certify(NoisyStream(**{**SHAPE, "noise": noise}, order="shuffled"), RIDGE)
    plain = certify(NoisyStream(**SHAPE, order="shuffled"), RIDGE)
    assert cooled.epsilon(1e-5) < plain.epsilon(1e-5)
    cooled.verify()
    with pytest.raises(InvalidInput, match="one entry a step"):
        NoisyStream(**{**SHAPE, "noise": [1.0, 2.0]})


def test_a_projection_and_zero_out_are_allowed() -> None:
    ball = Geometry(
        strong_convexity=0.0,
        smoothness=4.0,
        sensitivity=3.0,
        diameter=0.01,
        adjacency="zero_out",
    )
    certificate = certify(NoisyStream(**SHAPE, order="shuffled"), ball)
    certificate.verify()
    wide = Geometry(strong_convexity=0.0, smoothness=4.0, sensitivity=3.0)
    assert certificate.epsilon(1e-5) <= certify(certificate.run, wide).epsilon(1e-5)


def test_calibration_then_account() -> None:
    stream = NoisyStream(**SHAPE, order="shuffled")
    found = calibrate_noise(stream, RIDGE, epsilon=1.0, delta=1e-5)
    assert 1 - 1e-5 < certify(found, RIDGE).epsilon(1e-5) <= 1.0
    sized = calibrate_batch_size(stream, RIDGE, epsilon=1.0, delta=1e-5)
    assert certify(sized, RIDGE).epsilon(1e-5) <= 1.0
    smaller = NoisyStream(**{**SHAPE, "batch_size": sized.batch_size - 1}, order="shuffled")
    assert certify(smaller, RIDGE).epsilon(1e-5) > 1.0
    with pytest.raises(InvalidInput, match="has no end"):
        calibrate_epochs(stream, RIDGE, epsilon=1.0, delta=1e-5)


def test_after_any_number_of_releases_it_is_the_same() -> None:
    certificate = certify(NoisyStream(**SHAPE), RIDGE)
    assert certificate.after(10**9) is certificate
    langevin = certify(LangevinMC(steps=5, learning_rate=0.1), RIDGE)
    assert langevin.after(1) is langevin
    with pytest.raises(InvalidInput, match="i=2"):
        langevin.after(2)


def test_the_statement_says_what_a_stream_is() -> None:
    text = certify(NoisyStream(**SHAPE, order="shuffled"), RIDGE).statement()
    assert "however long" in text
    assert "never used again" in text
    table = compare(NoisyStream(**SHAPE), RIDGE, delta=1e-5)
    assert table["best"].bound == "Theorem V2"
    assert table["composition"].epsilon == pytest.approx(table["best"].epsilon, rel=1e-9)


@pytest.mark.parametrize(
    "edit",
    [
        lambda d: d["run"].update(batches_per_release=7),
        lambda d: d["run"].update(order="fixed"),
        lambda d: d["proofs"].pop(),
        lambda d: d.update(bound="Theorem B4"),
        lambda d: d["tradeoff"]["components"].pop(),
    ],
)
def test_forged_certificates_are_refused(edit: Any) -> None:
    document = json.loads(certify(NoisyStream(**SHAPE, order="shuffled"), RIDGE).to_json())
    edit(document)
    with pytest.raises((VerificationFailed, InvalidInput)):
        Certificate.from_json(json.dumps(document)).verify()


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch_size", 0), ("batches_per_release", 0), ("order", "reshuffled"), ("noise", -1.0)],
)
def test_what_makes_no_stream_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=f"{name}="):
        NoisyStream(**{**SHAPE, name: value})
