"""What a certificate answers, and that it cannot be changed."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

from shiftdp import GaussianTradeoff, InvalidInput, NoClosedForm
from shiftdp.last_iterate import Certificate, Geometry, NoisyCGD, certify
from tests.interpolation.brute_force import precise_gd_sc, precise_mgd_sc
from tests.last_iterate.brute_force import gaussian_delta
from tests.last_iterate.every_kind import CERTIFICATES, proofs_in

MNIST = certify(
    NoisyCGD(n=60_000, batch_size=1_500, epochs=50, learning_rate=0.05, noise=0.01),
    Geometry(strong_convexity=0.002, smoothness=32.502, sensitivity=10.0),
)
every_kind = pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())


def test_numbers_of_a_gaussian_certificate() -> None:
    mu = MNIST.mu
    assert mu is not None
    epsilon = MNIST.epsilon(delta=1e-5)
    assert gaussian_delta(mu, epsilon) == pytest.approx(1e-5, rel=1e-9)
    assert MNIST.delta(epsilon=1.0) == pytest.approx(gaussian_delta(mu, 1.0), rel=1e-9)
    assert MNIST.renyi(3.0) == pytest.approx(1.5 * mu**2, rel=1e-9)
    assert MNIST.advantage() == pytest.approx(gaussian_delta(mu, 0.0), rel=1e-9)
    assert MNIST.kind == "certified"


@every_kind
def test_all_answers_agree_with_each_other(cert: Certificate) -> None:
    for delta in (1e-8, 1e-3, 0.1):
        low, high = cert.epsilon_interval(delta)
        assert low <= high == cert.epsilon(delta)
        assert high - low <= 1e-8 * (1 + high)
        assert cert.delta(high) <= delta * (1 + 1e-9)
        if high > 0:
            assert cert.delta(high * (1 - 1e-6)) >= delta * (1 - 1e-6)
    fpr = 0.01
    assert cert.tpr(fpr) == pytest.approx(1 - float(cert.tradeoff(fpr)), rel=1e-12)
    assert cert.advantage() == cert.delta(0.0)
    curve = cert.tradeoff(np.linspace(0, 1, 51))
    assert isinstance(curve, np.ndarray)
    assert curve.shape == (51,)
    assert np.all(np.diff(curve) <= 1e-12)
    assert np.all(curve <= 1 - np.linspace(0, 1, 51) + 1e-12)
    # f and its profile are two faces of one function
    gamma = math.exp(0.5)
    reached = np.max(1 - curve - gamma * np.linspace(0, 1, 51))
    assert reached <= cert.delta(0.5) + 1e-9


@pytest.mark.parametrize("ridge", [2**-5, 2**-15, 2**-21, 2**-31, 2**-45, 0.0])
@pytest.mark.parametrize(("batches", "epochs"), [(1, 40), (40, 7), (40, 10**5), (30_000, 3)])
def test_the_interval_holds_the_exact_value(ridge: float, batches: int, epochs: int) -> None:
    """mgd-sc in 60 digits (its c is exact here), at s/sd = 1; gd-sc for one batch."""
    geometry = Geometry(strong_convexity=ridge, smoothness=1.0, sensitivity=1.0)
    run = NoisyCGD(n=batches, batch_size=1, epochs=epochs, learning_rate=1.0, noise=1.0)
    cert = certify(run, geometry)
    if ridge == 0.0:
        exact = math.sqrt(epochs) if batches == 1 else math.sqrt(1 + (epochs - 1) / batches)
    elif batches == 1:
        exact = precise_gd_sc(1 - ridge, epochs)
    else:
        exact = precise_mgd_sc(1 - ridge, batches, epochs)
    low, high = cert.epsilon_interval(1e-5)
    truth = GaussianTradeoff(exact).epsilon(1e-5)
    assert low <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= high
    assert high - low <= 1e-6 * high
    assert cert.mu is not None
    assert cert.mu >= exact * (1 - 1e-15)
    # and what is attained is rounded down
    assert (cert.lower_mu or 0.0) <= exact * (1 + 1e-15)


@every_kind
def test_it_is_frozen(cert: Certificate) -> None:
    for field in dataclasses.fields(cert):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(cert, field.name, None)
    with pytest.raises(AttributeError):
        cert.mu = 0.0  # type: ignore[misc]
    for proof in proofs_in(cert):
        for array in (proof.shifts.amount, proof.shifts.first):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
    assert hash(cert) == hash(cert)


@every_kind
def test_it_survives_copying_and_pickling(cert: Certificate) -> None:
    for twin in (copy.deepcopy(cert), pickle.loads(pickle.dumps(cert))):
        assert twin.to_json() == cert.to_json()
        twin.verify()


@every_kind
def test_the_statement_can_be_read(cert: Certificate) -> None:
    text = cert.statement(delta=1e-6)
    assert str(cert) == cert.statement(delta=1e-5)
    assert type(cert.run).__name__ in text
    assert cert.bound in text
    assert "certified" in text
    # numbers are rounded up: what is printed is proved as well
    printed = float(text.partition("(")[2].partition(",")[0])
    assert cert.epsilon(1e-6) <= printed <= cert.epsilon(1e-6) * (1 + 1e-4)
    if cert.mu is not None:
        printed = float(text.partition("mu = ")[2].partition("\n")[0])
        assert cert.mu <= printed <= cert.mu * (1 + 1e-5)
    assert "1e-06" in text
    for item in cert.assumptions:
        assert item.statement in text
    assert max(map(len, text.splitlines())) < 250
    assert "array(" not in text


BAD_DELTAS: list[Any] = [0.0, 1.0, -1e-5, 1.5, math.nan, math.inf, "1e-5", None, True, [1e-5]]


@pytest.mark.parametrize("delta", BAD_DELTAS)
def test_bad_deltas(delta: Any) -> None:
    for question in (MNIST.epsilon, MNIST.epsilon_interval, MNIST.statement):
        with pytest.raises(InvalidInput) as caught:
            question(delta=delta)
        assert caught.value.name == "delta"


@pytest.mark.parametrize("epsilon", [-1e-9, -1.0, math.nan, "1", None, True, [1.0]])
def test_bad_epsilons(epsilon: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        MNIST.delta(epsilon)
    assert caught.value.name == "epsilon"


@pytest.mark.parametrize("alpha", [-0.1, 1.1, math.nan, [], "x", [0.5, math.nan], None])
def test_bad_rates(alpha: Any) -> None:
    with pytest.raises(InvalidInput, match="alpha"):
        MNIST.tradeoff(alpha)
    with pytest.raises(InvalidInput, match="fpr"):
        MNIST.tpr(alpha)


@pytest.mark.parametrize("order", [1.0, 0.5, -2.0, math.nan, math.inf, "2", None])
def test_bad_orders(order: Any) -> None:
    with pytest.raises(InvalidInput, match="order"):
        MNIST.renyi(order)


@every_kind
def test_renyi_divergence_grows_with_its_order(cert: Certificate) -> None:
    try:
        values = [cert.renyi(order) for order in (1.5, 2.0, 8.0)]
    except NoClosedForm:
        assert "and pure DP" in cert.bound
        return
    assert values == sorted(values)
    assert values[0] >= 0


def test_the_edge_of_the_profile() -> None:
    assert MNIST.delta(math.inf) == 0.0
    assert MNIST.delta(0) == MNIST.advantage()
    assert MNIST.tradeoff(0.0) == 1.0
    assert MNIST.tradeoff(1.0) == 0.0
    assert MNIST.tpr(0.0) == 0.0
