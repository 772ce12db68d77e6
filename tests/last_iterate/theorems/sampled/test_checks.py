"""NoisySGD: what is refused, and certificates that were tampered with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import shiftdp as sdp
from shiftdp._errors import VerificationFailed
from shiftdp.fdp import WithFailure
from shiftdp.last_iterate.theorems.proofs import StochasticProof
from shiftdp.last_iterate.theorems.sampled.checks import verify_constants, verify_groups
from shiftdp.last_iterate.theorems.sampled.composition import product, subsampled
from shiftdp.last_iterate.theorems.sampled.shifts import grouped_shifts, steps_of
from tests.last_iterate.theorems.sampled.cases import certificate_by

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
SAMPLED = sdp.NoisySGD(**RUN)
POISSON = sdp.NoisySGD(**RUN, sampling="poisson")
BRIEF = {**RUN, "steps": 20}
ALLOCATED = sdp.NoisySGD(**{**BRIEF, "batch_size": 50}, sampling="random_allocation")
CASES = [
    (SAMPLED, BALL, "Theorem B3"),
    (SAMPLED, BALL, "Thm sgd-proj"),
    (SAMPLED, BALL, "Thm sgd (composition)"),
    (SAMPLED, RIDGE, "Theorem B3"),
    (SAMPLED, RIDGE, "Thm sgd-sc"),
    (POISSON, OUT, "Theorem B3 (Poisson)"),
    (POISSON, OUT, "Poisson (composition)"),
    (POISSON, CLIPPED, "Theorem B3 (Poisson)"),
    (sdp.NoisySGD(**BRIEF), RIDGE, "Theorem B7"),
    (sdp.NoisySGD(**BRIEF), replace(BALL, diameter=0.2), "Theorem B7"),
    (sdp.NoisySGD(**BRIEF, sampling="poisson"), OUT, "Theorem B7"),
    (sdp.NoisySGD(**BRIEF, sampling="poisson"), CLIPPED, "Theorem B7"),
    (ALLOCATED, OUT, "Theorem B7"),
    (sdp.NoisySGD(**{**RUN, "steps": 500}), replace(RIDGE, diameter=0.5), "Theorem B6"),
    (sdp.NoisySGD(**{**RUN, "steps": 500}, sampling="poisson"), OUT, "Theorem B6"),
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
            ({"steps": None}, "is missing"),
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
    @pytest.mark.parametrize(("run", "geometry", "name"), CASES)
    def test_json(self, run: sdp.NoisySGD, geometry: sdp.Geometry, name: str) -> None:
        cert = certificate_by(name, run, geometry)
        back = sdp.Certificate.from_json(cert.to_json())
        assert back == cert
        back.verify()
        assert back.epsilon(1e-5) == cert.epsilon(1e-5)

    @pytest.mark.parametrize(("run", "geometry", "name"), CASES)
    def test_tampered(self, run: sdp.NoisySGD, geometry: sdp.Geometry, name: str) -> None:
        document = json.loads(certificate_by(name, run, geometry).to_json())
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
        run = SAMPLED
        honest = certificate_by(name, run, geometry)
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
        honest = certificate_by("Theorem B3", SAMPLED, RIDGE)
        honest.verify()
        for proof in (
            StochasticProof(1, split=2.0),
            StochasticProof(1),
            StochasticProof(1, ((0.0, 0),)),
            StochasticProof(1, ((0.0, 4999),), split=2.0),
        ):
            for f in (sdp.GaussianTradeoff(0.0), honest.f):
                with pytest.raises(VerificationFailed):
                    replace(honest, f=f, proofs=(proof,)).verify()

    @pytest.mark.parametrize(
        ("name", "steps"), [("Theorem B3 (Poisson)", 5000), ("Theorem B7", 20)]
    )
    def test_the_cap_of_the_proof_is_that_of_the_run(self, name: str, steps: int) -> None:
        run = replace(POISSON, steps=steps, batch_cap=40)
        honest = certificate_by(name, run, OUT)
        honest.verify()
        other = replace(run, batch_cap=39)
        with pytest.raises(VerificationFailed):
            replace(honest, run=other).verify()

    @pytest.mark.parametrize(
        ("name", "steps"), [("Theorem B3 (Poisson)", 5000), ("Theorem B7", 20)]
    )
    def test_the_failure_may_not_be_lowered(self, name: str, steps: int) -> None:
        honest = certificate_by(name, replace(POISSON, steps=steps, batch_cap=40), OUT)
        assert isinstance(honest.f, WithFailure)
        for factor in (1 - 1e-8, 0.5, 0.0, 1.1):
            f = WithFailure(honest.f.base, honest.f.failure * factor)
            with pytest.raises(VerificationFailed):
                replace(honest, f=f).verify()


def _tamperings(document: dict[str, Any]) -> list[dict[str, Any]]:
    """More noise and fewer draws leave a law true, which is an upper bound, but no product."""
    law = document["bound"] == "Theorem B7"
    changes: list[tuple[list[Any], Any]] = [
        (["run", "noise"], 2.99 if law else 3.01),
        (["run", "n"], 990 if law else 1001),
        (["run", "steps"], document["run"]["steps"] + document["run"]["n"]),
        (["geometry", "sensitivity"], document["geometry"]["sensitivity"] * 1.001),
        (["geometry", "gradient_bound"], 0.999 * document["geometry"]["sensitivity"] / 2),
        (["bound"], "Theorem B1"),
        (["bound"], "Theorem B9"),
        (["assumptions"], document["assumptions"][1:]),
        (["proofs"], document["proofs"] * 2 or [{"tau": 1, "groups": [], "split": 2, "cap": None}]),
    ]
    changes += [(["proofs"], [])] if document["proofs"] else []
    for proof in document["proofs"]:
        if proof["cap"] is not None:
            changes.append((["proofs", 0, "cap"], proof["cap"] - 1))
        if "revealed" in proof:
            changes += _tampered_laws(proof)
            continue
        changes += [
            (["proofs", 0, "tau"], proof["tau"] + 1),
            (["proofs", 0, "tau"], -1),
        ]
        if proof.get("split") is not None:
            changes.append((["proofs", 0, "split"], proof["split"] * 1.01))
        if "rate" in proof:
            changes += _tampered_prefixes(proof)
        if proof["groups"]:
            a, n = proof["groups"][0]
            changes += [
                (["proofs", 0, "groups", 0], [a * 0.999, n]),
                (["proofs", 0, "groups", 0], [a, n - 1]),
                (["proofs", 0, "groups", 0], [-a, n]),
            ]
    function = document["tradeoff"]
    path: list[Any] = ["tradeoff"]
    while "factors" not in function and "mu" not in function:
        if function["type"] == "with_failure":
            changes.append(([*path, "failure"], 0.0))
            path, function = [*path, "base"], function["base"]
        else:
            path, function = [*path, "components", 0], function["components"][0]
    if "factors" in function:
        changes.append(([*path, "factors", -1, 1], function["factors"][-1][1] - 1))
    else:
        changes.append(([*path, "mu"], _smaller(function["mu"])))
    found = []
    for where, value in changes:
        copy = json.loads(json.dumps(document))
        target = copy
        for key in where[:-1]:
            target = target[key]
        target[where[-1]] = value
        found.append(copy)
    return found


def _tampered_laws(proof: dict[str, Any]) -> list[tuple[list[Any], Any]]:
    """Changes of a proof by Theorem B7."""
    weight = proof["weight"]
    return [
        (["proofs", 0, "mu"], _smaller(proof["mu"])),
        (["proofs", 0, "weight"], [weight[0] + weight[-1], *weight[1:-1], 0.0]),
        (["proofs", 0, "followed"], proof["followed"] + 1),
        (["proofs", 0, "tail"], 0.0),
        (["proofs", 0, "cells"], 10**6),
    ]


def _tampered_prefixes(proof: dict[str, Any]) -> list[tuple[list[Any], Any]]:
    """Changes of a proof by Theorem B6."""
    weights = proof["weights"]
    return [
        (["proofs", 0, "values"], _smaller(proof["values"])),
        (["proofs", 0, "weights"], [weights[0] + weights[-2], *weights[1:-2], 0.0, weights[-1]]),
        (["proofs", 0, "rate"], proof["rate"] * 1.01 + 0.01),
        (["proofs", 0, "grid", "mesh"], proof["grid"]["mesh"] * 0.9),
        (["proofs", 0, "grid", "cells"], 10**9),
        (["proofs", 0, "accuracy"], 0.5),
    ]


def _smaller(values: Any) -> Any:
    return [0.999 * x for x in values] if isinstance(values, list) else 0.999 * values


def test_groups_and_constants_are_checked() -> None:
    run = SAMPLED
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
