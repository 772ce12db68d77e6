"""A certificate that was issued answers every question that can be asked of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shiftdp import Geometry, InvalidInput, NoisyCGD, NoisyGD, NoisySGD, certify, risk
from shiftdp._checks import GREATEST, LEAST
from shiftdp.last_iterate import Certificate
from tests.last_iterate.every_kind import CERTIFICATES
from tests.last_iterate.theorems.sampled.cases import certificate_by

DELTAS = (1e-300, 1e-100, 1e-11, 1e-5, 0.1, 0.9)
EPSILONS = (0.0, 1e-9, 1.0, 100.0, 1e4)
ALPHAS = (0.0, 1e-300, 1e-9, 0.1, 0.5, 1.0 - 1e-9, 1.0)
ORDERS = (1.0 + 1e-6, 2.0, 1e4)


def ask_everything(certificate: Certificate) -> None:
    """Every answer is a number in its range, and they rise or fall as they must."""
    with np.errstate(invalid="raise", divide="raise", over="raise"):
        epsilon = [certificate.epsilon(delta) for delta in DELTAS]
        delta = [certificate.delta(eps) for eps in EPSILONS]
        curve = np.asarray(certificate.tradeoff(ALPHAS))
        renyi = [certificate.renyi(order) for order in ORDERS]
        low, high = certificate.epsilon_interval(1e-5)
        advantage, tpr = certificate.advantage(), certificate.tpr(1e-3)
        answer = risk(certificate)
    assert epsilon == sorted(epsilon, reverse=True)
    assert min(epsilon) >= 0.0
    assert delta == sorted(delta, reverse=True)
    assert 0.0 <= min(delta) <= max(delta) <= 1.0
    assert np.all((curve >= 0.0) & (curve <= 1.0 - np.array(ALPHAS)))
    assert np.all(curve[1:] <= curve[:-1])
    assert renyi == sorted(renyi)
    assert 0.0 <= low <= high == epsilon[DELTAS.index(1e-5)]
    assert 0.0 <= advantage <= 1.0
    assert 1e-3 <= tpr <= 1.0
    assert 0.5 <= answer.membership <= 1.0
    for text in (certificate.statement(delta=1e-300), str(certificate), str(answer)):
        assert "nan" not in text
    assert certificate.to_json()


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_of_every_kind(kind: str) -> None:
    ask_everything(CERTIFICATES[kind])


GEOMETRY: dict[str, Any] = {"strong_convexity": 0.0, "smoothness": 1.0, "diameter": 1.0}


@pytest.mark.parametrize(
    ("sampling", "s"),
    [
        ("poisson", 5.0),
        ("without_replacement", 1e-30),
        *(
            pytest.param(sampling, s, marks=pytest.mark.slow)
            for sampling in ("without_replacement", "poisson")
            for s in (1e-3, 5.0, 1e10, 1e75)
        ),
    ],
)
def test_of_random_batches_however_loud_the_record(sampling: Any, s: float) -> None:
    # s = L / (b noise)
    L = math.sqrt(s) * 10.0
    run = NoisySGD(
        n=100,
        batch_size=10,
        steps=3,
        learning_rate=0.1,
        noise=1.0 / math.sqrt(s),
        sampling=sampling,
    )
    adjacency: Any = "zero_out" if sampling == "poisson" else "replace_one"
    geometry = Geometry(**GEOMETRY, sensitivity=L, adjacency=adjacency)
    ask_everything(certify(run, geometry, bounds="composition"))


@pytest.mark.parametrize("L", [0.0, LEAST, 1.0, GREATEST])
@pytest.mark.parametrize("noise", [LEAST, GREATEST])
@pytest.mark.parametrize("order", ["fixed", "shuffled_once", "reshuffled"])
def test_at_the_corners_of_the_ranges(L: float, noise: float, order: Any) -> None:
    geometry = Geometry(**GEOMETRY, sensitivity=L)
    run = NoisyCGD(n=7, batch_size=3, epochs=4, learning_rate=0.1, noise=noise, order=order)
    ask_everything(certify(run, geometry))


def test_a_delta_that_floats_hardly_hold_is_refused() -> None:
    cert = certify(
        NoisyGD(n=9, steps=12, learning_rate=0.4, noise=0.7), Geometry(**GEOMETRY, sensitivity=1.0)
    )
    assert cert.epsilon(1e-300) < math.inf
    for delta in (0.0, 5e-324, 9e-301, 1.0):
        with pytest.raises(InvalidInput, match=r"delta=.* give a number in \[1e-300, 1\)"):
            cert.epsilon(delta)


@pytest.mark.parametrize("sampling", ["poisson", "random_allocation"])
def test_no_answer_is_above_composition(sampling: Any) -> None:
    """A cap on batches may be passed; far below the probability of that Theorem B7 says nothing."""
    geometry = Geometry(
        strong_convexity=1.0, smoothness=1.0, sensitivity=20.0, adjacency="zero_out"
    )
    length: dict[str, Any] = {"epochs": 1} if sampling == "random_allocation" else {"steps": 20}
    run = NoisySGD(
        n=200,
        batch_size=10,
        learning_rate=0.2,
        noise=1.0,
        sampling=sampling,
        batch_cap=35,
        **length,
    )
    last = certificate_by("Theorem B7", run, geometry)
    all_steps = certify(run, geometry, bounds="composition")
    assert last.f.epsilon(1e-11) == math.inf
    for delta in (1e-2, 1e-5, 1e-9, 1e-11, 1e-20):
        # compositions are as accurate as it matters, which is not the same for both
        assert last.epsilon(delta) <= all_steps.epsilon(delta) * (1 + 1e-3)
        low, high = last.epsilon_interval(delta)
        assert low <= high == last.epsilon(delta)
    for epsilon in (0.1, 1.0, 10.0):
        assert last.delta(epsilon) <= all_steps.delta(epsilon) * (1 + 1e-2)
