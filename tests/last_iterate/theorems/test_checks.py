"""NoisySGD: what is refused, and certificates that were tampered with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import shiftdp as sdp
from shiftdp._errors import VerificationFailed
from shiftdp.fdp import WithFailure
from shiftdp.last_iterate.certification import certificate_of, evaluate
from shiftdp.last_iterate.theorems.checks import verify_constants, verify_groups
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.sampled import product, subsampled
from shiftdp.last_iterate.theorems.sampled_shifts import grouped_shifts, steps_of

RUN: dict[str, Any] = {
    "n": 1000,
    "batch_size": 10,
    "steps": 5000,
    "learning_rate": 0.1,
    "noise": 3.0,
}
BALL = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=10, diameter=1)
RIDGE = sdp.Geometry(strong_convexity=0.05, smoothness=1, sensitivity=10)
CLIPPED = sdp.Geometry(strong_convexity=0.05, smoothness=1, sensitivity=10, gradient_bound=5)
OUT = sdp.Geometry(strong_convexity=0.05, smoothness=1, sensitivity=5, adjacency="zero_out")
CASES = [
    (sdp.NoisySGD(**RUN), BALL, "best"),
    (sdp.NoisySGD(**RUN), BALL, "paper"),
    (sdp.NoisySGD(**RUN), BALL, "composition"),
    (sdp.NoisySGD(**RUN), RIDGE, "best"),
    (sdp.NoisySGD(**RUN), RIDGE, "paper"),
    (sdp.NoisySGD(**RUN, sampling="poisson"), OUT, "best"),
    (sdp.NoisySGD(**RUN, sampling="poisson"), OUT, "composition"),
    (sdp.NoisySGD(**RUN, sampling="poisson"), CLIPPED, "best"),
]


class TestRun:
    @pytest.mark.parametrize(
        ("change", "word"),
        [
            ({"n": 0}, "n="),
            ({"batch_size": 1001}, "exceeds n"),
            ({"batch_size": 0}, "batch_size"),
            ({"steps": 0}, "steps"),
            ({"steps": 1.5}, "steps"),
            ({"learning_rate": 0.0}, "learning_rate"),
            ({"learning_rate": [0.1, 0.2]}, "one entry a step"),
            ({"noise": -1.0}, "noise"),
            ({"noise": float("nan")}, "noise"),
            ({"sampling": "shuffled"}, "sampling"),
            ({"batch_cap": 20}, "random size"),
            ({"batch_cap": 0, "sampling": "poisson"}, "batch_cap"),
        ],
    )
    def test_bad_input(self, change: dict[str, Any], word: str) -> None:
        with pytest.raises(sdp.InvalidInput, match=word):
            sdp.NoisySGD(**{**RUN, **change})

    def test_zero_out_without_replacement(self) -> None:
        with pytest.raises(sdp.UnmetHypothesis, match="L = 2G"):
            sdp.certify(sdp.NoisySGD(**RUN), OUT)

    def test_not_contractive(self) -> None:
        run = sdp.NoisySGD(**{**RUN, "learning_rate": 2.5})
        with pytest.raises(sdp.UnmetHypothesis, match="2/smoothness"):
            sdp.certify(run, BALL)
        assert sdp.certify(run, BALL, bounds="composition").epsilon(1e-5) > 0.0

    @pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, float("nan"), "x"])
    def test_bad_delta(self, delta: Any) -> None:
        with pytest.raises(sdp.InvalidInput, match="delta"):
            sdp.certify(sdp.NoisySGD(**RUN), BALL, delta=delta)

    def test_small_cap(self) -> None:
        run = sdp.NoisySGD(**RUN, sampling="poisson", batch_cap=15)
        assert sdp.certify(run, OUT).bound == "Poisson (composition)"

    def test_nothing_to_protect(self) -> None:
        still = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=0, diameter=1)
        assert sdp.certify(sdp.NoisySGD(**RUN), still).epsilon(1e-5) == 0.0


class TestRoundTrip:
    @pytest.mark.parametrize(("run", "geometry", "bounds"), CASES)
    def test_json(self, run: sdp.NoisySGD, geometry: sdp.Geometry, bounds: Any) -> None:
        cert = sdp.certify(run, geometry, bounds=bounds)
        back = sdp.Certificate.from_json(cert.to_json())
        assert back == cert
        back.verify()
        assert back.epsilon(1e-5) == cert.epsilon(1e-5)

    @pytest.mark.parametrize(("run", "geometry", "bounds"), CASES)
    def test_tampered(self, run: sdp.NoisySGD, geometry: sdp.Geometry, bounds: Any) -> None:
        document = json.loads(sdp.certify(run, geometry, bounds=bounds).to_json())
        for change in _tamperings(document):
            with pytest.raises((VerificationFailed, sdp.InvalidInput)):
                sdp.Certificate.from_json(json.dumps(change)).verify()


class TestForgeries:
    """Free parameters of a proof, outside of the range in which they prove anything."""

    @pytest.mark.parametrize("geometry", [BALL, RIDGE])
    @pytest.mark.parametrize("beta", [1e154, 1e155, 1e160, 1e300, 1e9, 1.0 + 1e-15])
    def test_no_split_makes_the_gaussian_factor_vanish(
        self, geometry: sdp.Geometry, beta: float
    ) -> None:
        name = "Thm sgd-proj" if geometry.bounded else "Thm sgd-sc"
        run = sdp.NoisySGD(**RUN)
        found = next(item for item in evaluate(run, geometry).found if item.name == name)
        honest = certificate_of(found, run, geometry)
        honest.verify()
        steps = steps_of(run, geometry)
        count = 1 if geometry.bounded else run.steps
        for f in (
            sdp.GaussianTradeoff(0.0),
            product([(subsampled(steps.p, min(2.0 * beta * steps.s, 1e300)), count)], 1e-3),
        ):
            forged = replace(honest, f=f, proofs=(StochasticProof(run.steps - 1, split=beta),))
            with pytest.raises(VerificationFailed):
                forged.verify()

    def test_theorem_b3_without_shifts_proves_nothing(self) -> None:
        honest = sdp.certify(sdp.NoisySGD(**RUN), RIDGE)
        assert honest.bound == "Theorem B3"
        for proof in (
            StochasticProof(1, split=2.0),
            StochasticProof(1),
            StochasticProof(1, ((0.0, 0),)),
            StochasticProof(1, ((0.0, 4999),), split=2.0),
        ):
            for f in (sdp.GaussianTradeoff(0.0), honest.f):
                with pytest.raises(VerificationFailed):
                    replace(honest, f=f, proofs=(proof,)).verify()

    def test_the_cap_of_the_proof_is_that_of_the_run(self) -> None:
        run = sdp.NoisySGD(**RUN, sampling="poisson", batch_cap=40)
        honest = sdp.certify(run, OUT)
        assert honest.bound == "Theorem B3 (Poisson)"
        honest.verify()
        other = sdp.NoisySGD(**RUN, sampling="poisson", batch_cap=39)
        with pytest.raises(VerificationFailed):
            replace(honest, run=other).verify()

    def test_the_failure_may_not_be_lowered(self) -> None:
        honest = sdp.certify(sdp.NoisySGD(**RUN, sampling="poisson"), OUT)
        assert isinstance(honest.f, WithFailure)
        for factor in (1 - 1e-8, 0.5, 0.0, 1.1):
            f = WithFailure(honest.f.base, honest.f.failure * factor)
            with pytest.raises(VerificationFailed):
                replace(honest, f=f).verify()


def _tamperings(document: dict[str, Any]) -> list[dict[str, Any]]:
    changes: list[tuple[list[Any], Any]] = [
        (["run", "noise"], 3.01),
        (["run", "n"], 1001),
        (["run", "steps"], 5001),
        (["geometry", "sensitivity"], document["geometry"]["sensitivity"] * 1.001),
        (["geometry", "gradient_bound"], 0.999 * document["geometry"]["sensitivity"] / 2),
        (["bound"], "Theorem B1"),
        (["bound"], "Theorem B9"),
        (["assumptions"], document["assumptions"][1:]),
        (["proofs"], document["proofs"] * 2 or [{"tau": 1, "groups": [], "split": 2, "cap": None}]),
    ]
    if document["proofs"]:
        proof = document["proofs"][0]
        changes += [
            (["proofs", 0, "tau"], proof["tau"] + 1),
            (["proofs", 0, "tau"], -1),
            (["proofs"], []),
        ]
        if proof["split"] is not None:
            changes.append((["proofs", 0, "split"], proof["split"] * 1.01))
        if proof["groups"]:
            a, n = proof["groups"][0]
            changes += [
                (["proofs", 0, "groups", 0], [a * 0.999, n]),
                (["proofs", 0, "groups", 0], [a, n - 1]),
                (["proofs", 0, "groups", 0], [-a, n]),
            ]
        if proof["cap"] is not None:
            changes.append((["proofs", 0, "cap"], proof["cap"] - 1))
    product = document["tradeoff"]
    path: list[Any] = ["tradeoff"]
    while product["type"] != "product":
        if product["type"] == "with_failure":
            changes.append(([*path, "failure"], 0.0))
            path, product = [*path, "base"], product["base"]
        else:
            path, product = [*path, "components", 0], product["components"][0]
    changes.append(([*path, "factors", -1, 1], product["factors"][-1][1] - 1))
    found = []
    for where, value in changes:
        copy = json.loads(json.dumps(document))
        target = copy
        for key in where[:-1]:
            target = target[key]
        target[where[-1]] = value
        found.append(copy)
    return found


def test_groups_and_constants_are_checked() -> None:
    run = sdp.NoisySGD(**RUN)
    steps = steps_of(run, BALL)
    good = StochasticProof(4000, grouped_shifts(1.0, steps.diameter, 1000))
    verify_constants(run, BALL, steps.p, [(steps.s, run.steps)])
    verify_groups(run, BALL, good, 0.0)
    for proof in (
        StochasticProof(4000, ((good.groups[0][0] * (1 - 1e-9), 1000),)),
        StochasticProof(4001, good.groups),
        StochasticProof(5000, ()),
        StochasticProof(4000, ()),
        StochasticProof(4000, good.groups, cap=100),
    ):
        with pytest.raises(VerificationFailed):
            verify_groups(run, BALL, proof, 0.0)
    for p, s in (
        (steps.p * 0.999, steps.s),
        (steps.p, steps.s * 0.999),
        (steps.p, steps.s * 1.001),
    ):
        with pytest.raises(VerificationFailed):
            verify_constants(run, BALL, p, [(s, run.steps)])
