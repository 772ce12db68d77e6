"""Inversion of all parameters but the noise: epochs, rates, batches, ridge, diameter."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

import shiftdp.privacy
from shiftdp import (
    ExponentialMechanism,
    GaussianTradeoff,
    Geometry,
    InvalidInput,
    LangevinMC,
    NoisyCGD,
    NoisyGD,
    NoisySGD,
    NoisyStream,
    Unlearning,
    certify,
)
from shiftdp.last_iterate.certification import Bounds
from shiftdp.last_iterate.runs import Order
from shiftdp.privacy import (
    ImpossibleBudget,
    calibrate,
    calibrate_batch_size,
    calibrate_diameter,
    calibrate_epochs,
    calibrate_learning_rate,
    calibrate_noise,
    calibrate_strong_convexity,
)
from shiftdp.privacy.calibration import scaled
from shiftdp.privacy.parameters import with_parameter
from tests.privacy.spending import CYCLIC, MNIST, STRONG, met, spent
from tests.privacy.targets import A_LITTLE, KINDS, ORDERS

# --- the length ---


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("terms", KINDS)
def test_the_most_epochs(order: Order, terms: dict[str, Any]) -> None:
    run = NoisyCGD(n=300, batch_size=30, epochs=4, learning_rate=0.1, noise=0.15, order=order)
    terms = dict(terms)
    one = with_parameter(run, STRONG, "epochs", 1)[0]
    always = with_parameter(run, STRONG, "epochs", math.inf)[0]
    name = next(iter(terms))
    low, high = spent(terms, one, STRONG), spent(terms, always, STRONG)
    terms[name] = 0.1 * low + 0.9 * high
    found = calibrate_epochs(run, STRONG, **terms)
    assert 1 <= found.epochs < math.inf
    assert met(terms, found, STRONG)
    longer = with_parameter(run, STRONG, "epochs", int(found.epochs) + 1)[0]
    assert not met(terms, longer, STRONG)
    terms[name] = high
    assert calibrate_epochs(run, STRONG, **terms).epochs == math.inf
    terms[name] = 0.99 * low
    with pytest.raises(ImpossibleBudget) as refusal:
        calibrate_epochs(run, STRONG, **terms)
    assert refusal.value.nearest.limit == low
    assert "epochs=1" in str(refusal.value)


def test_train_as_long_as_you_like() -> None:
    found = calibrate_epochs(CYCLIC, MNIST, epsilon=13.0, delta=1e-5)
    assert found == NoisyCGD(**{**vars(CYCLIC), "steps": math.inf})
    assert found.epochs == math.inf
    limit = certify(found, MNIST).epsilon(1e-5)
    assert limit <= 13.0
    for epochs in (1, 50, 10**4, 10**6, 2**47):
        run = NoisyCGD(**{**vars(CYCLIC), "steps": 40 * epochs})
        assert certify(run, MNIST).epsilon(1e-5) <= limit
    composed = calibrate_epochs(CYCLIC, MNIST, bounds="composition", epsilon=13.0, delta=1e-5)
    most = (GaussianTradeoff.from_budget(13.0, 1e-5).mu / (10.0 / 1500 / 0.01)) ** 2
    assert composed.epochs == math.floor(most)


@pytest.mark.parametrize(
    "run",
    [
        NoisyGD(n=50, steps=3, learning_rate=0.1, noise=0.5),
        LangevinMC(steps=3, learning_rate=0.001),
        NoisySGD(n=200, batch_size=10, steps=10, learning_rate=0.1, noise=0.2),
    ],
)
def test_the_most_steps(run: Any) -> None:
    geometry = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=2.0)
    found = calibrate_epochs(run, geometry, epsilon=2.0, delta=1e-5)
    terms = {"epsilon": 2.0, "delta": 1e-5}
    assert met(terms, found, geometry)
    longer = with_parameter(run, geometry, "steps", int(found.steps) + 1)[0]
    assert not met(terms, longer, geometry)
    bounded = Geometry(**{**vars(geometry), "diameter": 1e-3})
    assert calibrate_epochs(run, bounded, epsilon=2.0, delta=1e-5).steps == math.inf


# --- the learning rate and the batch size ---


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_the_largest_learning_rate(order: Order, share: float) -> None:
    run = NoisyCGD(n=300, batch_size=30, epochs=20, learning_rate=0.1, noise=0.15, order=order)
    top = 2.0 / STRONG.smoothness
    rates = [top * (1 + i) / 400 for i in range(400)]
    terms: dict[str, Any] = {"mu": 1.0}
    values = [
        spent(terms, with_parameter(run, STRONG, "learning_rate", x)[0], STRONG) for x in rates
    ]
    terms["mu"] = min(values) + share * (max(values) - min(values))
    found = calibrate_learning_rate(run, STRONG, **terms)
    assert met(terms, found, STRONG)
    assert isinstance(found.learning_rate, float)
    assert found.learning_rate < top
    assert not met(terms, scaled(found, "learning_rate", 1.0 + A_LITTLE), STRONG)
    better = [x for x, value in zip(rates, values, strict=True) if value <= terms["mu"]]
    assert found.learning_rate >= max(better)


def test_learning_rates_of_other_runs() -> None:
    terms = {"epsilon": 1.0, "delta": 1e-5}
    langevin = calibrate_learning_rate(LangevinMC(steps=50, learning_rate=0.1), STRONG, mu=0.5)
    assert met({"mu": 0.5}, langevin, STRONG)
    assert not met({"mu": 0.5}, scaled(langevin, "learning_rate", 1.0 + A_LITTLE), STRONG)
    run = NoisySGD(n=200, batch_size=10, steps=40, learning_rate=0.1, noise=1.0)
    assert met(terms, calibrate_learning_rate(run, STRONG, **terms), STRONG)  # type: ignore[arg-type]
    rates = NoisyGD(n=20, steps=3, learning_rate=(0.1, 0.2, 0.3), noise=0.5)
    found = calibrate_learning_rate(rates, STRONG, mu=0.315).learning_rate
    assert isinstance(found, tuple)
    assert [x / found[0] for x in found] == pytest.approx([1.0, 2.0, 3.0], rel=1e-12)
    with pytest.raises(InvalidInput, match="does not depend on the learning rate"):
        calibrate_learning_rate(run, STRONG, bounds="composition", epsilon=1.0, delta=1e-5)


@pytest.mark.parametrize("order", ORDERS)
def test_the_least_batch_size_against_all_of_them(order: Order) -> None:
    run = NoisyCGD(n=24, batch_size=1, epochs=3, learning_rate=0.1, noise=0.3, order=order)
    costs = [
        certify(with_parameter(run, STRONG, "batch_size", b)[0], STRONG).epsilon(1e-5)
        for b in range(1, 25)
    ]
    for limit in (2.0, 3.0, 8.0):
        least = next((b for b, cost in enumerate(costs, start=1) if cost <= limit), None)
        if least is None:
            with pytest.raises(ImpossibleBudget):
                calibrate_batch_size(run, STRONG, epsilon=limit, delta=1e-5)
            continue
        found = calibrate_batch_size(run, STRONG, epsilon=limit, delta=1e-5)
        assert (found.batch_size, found.epochs) == (least, 3)


def test_batch_sizes_of_large_and_of_random_batches() -> None:
    terms = {"epsilon": 4.0, "delta": 1e-5}
    found: Any = calibrate_batch_size(CYCLIC, MNIST, **terms)  # type: ignore[arg-type]
    assert met(terms, found, MNIST)
    assert not met(
        terms, with_parameter(found, MNIST, "batch_size", found.batch_size - 1)[0], MNIST
    )
    run = NoisySGD(n=30, batch_size=3, steps=20, learning_rate=0.1, noise=1.0)
    found = calibrate_batch_size(run, STRONG, **terms)  # type: ignore[arg-type]
    assert met(terms, found, STRONG)
    assert found.batch_size == 1 or not met(
        terms, with_parameter(run, STRONG, "batch_size", found.batch_size - 1)[0], STRONG
    )
    with pytest.raises(InvalidInput, match="has no batches to size"):
        calibrate_batch_size(NoisyGD(n=3, steps=1, learning_rate=0.1, noise=1.0), STRONG, mu=1.0)


# --- the losses ---


@pytest.mark.parametrize("terms", KINDS)
@pytest.mark.parametrize("weakly", [0.0, -0.05])
def test_the_least_ridge(terms: dict[str, Any], weakly: float) -> None:
    run = NoisyCGD(n=300, batch_size=30, epochs=100, learning_rate=0.1, noise=0.25)
    plain = Geometry(strong_convexity=weakly, smoothness=2.0, sensitivity=2.0)
    found = calibrate_strong_convexity(run, plain, **terms)
    ridge = found.strong_convexity - weakly
    assert ridge > 0.0
    assert found.smoothness == pytest.approx(2.0 + ridge, rel=1e-12)
    assert met(terms, run, found)
    smaller = ridge * (1.0 - A_LITTLE)
    less = Geometry(strong_convexity=weakly + smaller, smoothness=2.0 + smaller, sensitivity=2.0)
    assert not met(terms, run, less)


@pytest.mark.parametrize("terms", KINDS)
def test_the_largest_diameter(terms: dict[str, Any]) -> None:
    run = NoisyCGD(n=300, batch_size=30, epochs=1000, learning_rate=0.1, noise=0.25)
    plain = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=2.0)
    found = calibrate_diameter(run, plain, **terms)
    assert met(terms, run, found)
    larger = Geometry(**{**vars(found), "diameter": found.diameter * (1.0 + A_LITTLE)})
    assert not met(terms, run, larger)
    short = NoisyCGD(**{**vars(run), "steps": 10})
    assert calibrate_diameter(short, plain, mu=50.0).diameter == math.inf


def test_the_exponential_mechanism() -> None:
    """mu = L / sqrt(m), and on a body e^{LD} = Phi(mu/2) / Phi(-mu/2) where mu is small."""
    run = ExponentialMechanism()
    plain = Geometry(strong_convexity=0.0, smoothness=math.inf, sensitivity=3.0)
    ridge = calibrate_strong_convexity(run, plain, mu=0.5)
    assert ridge.strong_convexity == pytest.approx(36.0, rel=A_LITTLE)
    assert met({"mu": 0.5}, run, ridge)
    body = calibrate_diameter(run, plain, bounds="paper", mu=0.5)
    odds = NormalDist().cdf(0.25) / NormalDist().cdf(-0.25)
    assert body.diameter == pytest.approx(math.log(odds) / 3.0, rel=A_LITTLE)
    for terms in KINDS:
        assert met(terms, run, calibrate_diameter(run, plain, **terms))
        assert met(terms, run, calibrate_strong_convexity(run, plain, **terms))
    for calibrator in (
        calibrate_noise,
        calibrate_epochs,
        calibrate_learning_rate,
        calibrate_batch_size,
    ):
        with pytest.raises(InvalidInput, match="ExponentialMechanism"):
            calibrator(run, plain, mu=0.5)


@pytest.mark.parametrize("bounds", ["paper", pytest.param("best", marks=pytest.mark.slow)])
def test_random_batches_and_losses(bounds: Bounds) -> None:
    run = NoisySGD(n=200, batch_size=10, steps=2000, learning_rate=0.1, noise=1.0)
    plain = Geometry(strong_convexity=0.0, smoothness=2.0, sensitivity=2.0)
    terms = {"epsilon": 1.0, "delta": 1e-5}
    found = calibrate_diameter(run, plain, bounds=bounds, **terms)
    assert found.diameter < math.inf
    assert met(terms, run, found, bounds)
    ridge = calibrate_strong_convexity(run, plain, bounds=bounds, **terms)
    assert ridge.strong_convexity > 0.0
    assert met(terms, run, ridge, bounds)


# --- what cannot be done ---


@pytest.mark.parametrize(
    ("parameter", "calibrator"),
    [
        ("noise", calibrate_noise),
        ("epochs", calibrate_epochs),
        ("learning_rate", calibrate_learning_rate),
        ("batch_size", calibrate_batch_size),
        ("strong_convexity", calibrate_strong_convexity),
        ("diameter", calibrate_diameter),
    ],
)
def test_every_calibrator_answers_with_what_it_was_given_but_for_the_parameter(
    parameter: str, calibrator: Any
) -> None:
    run = NoisyCGD(n=200, batch_size=20, epochs=10, learning_rate=0.1, noise=0.1)
    geometry = Geometry(strong_convexity=0.1, smoothness=10.0, sensitivity=1.0)
    terms: dict[str, Any] = {"epsilon": 2.6, "delta": 1e-5}
    found = calibrate(run, geometry, parameter=parameter, **terms)
    assert met(terms, *found)
    of_run = parameter in ("noise", "epochs", "learning_rate", "batch_size")
    assert found[0 if of_run else 1] == calibrator(run, geometry, **terms)
    assert found[1 if of_run else 0] is (geometry if of_run else run)
    before, after = (run, found[0]) if of_run else (geometry, found[1])
    assert type(after) is type(before)
    changed = {name for name, value in vars(after).items() if value != vars(before)[name]}
    follows = {"epochs": {"steps"}, "batch_size": {"batch_size", "steps"}}
    follows["strong_convexity"] = {"strong_convexity", "smoothness"}
    assert changed == follows.get(parameter, {parameter})


def test_what_has_no_answer_is_refused() -> None:
    with pytest.raises(InvalidInput, match="parameter='sensitivity' is not known"):
        calibrate(CYCLIC, MNIST, parameter="sensitivity", mu=1.0)
    harmless = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=0.0)
    with pytest.raises(InvalidInput, match="sensitivity"):
        calibrate_noise(CYCLIC, harmless, mu=1.0)
    with pytest.raises(InvalidInput, match="LangevinMC"):
        calibrate_noise(LangevinMC(steps=10, learning_rate=0.1), STRONG, mu=1.0)
    run = NoisySGD(n=200, batch_size=10, steps=40, learning_rate=0.1, noise=1.0)
    with pytest.raises(InvalidInput, match="budget"):
        calibrate_noise(CYCLIC, MNIST)
    for calibrator in (calibrate_diameter, calibrate_strong_convexity):
        with pytest.raises(InvalidInput, match="does not depend"):
            calibrator(run, STRONG, bounds="composition", mu=1.0)


def test_a_stream_has_no_length_to_look_for() -> None:
    stream = NoisyStream(batch_size=5, batches_per_release=4, learning_rate=0.01, noise=1.0)
    with pytest.raises(InvalidInput, match=r"run='NoisyStream' has no end.*; calibrate the noise$"):
        calibrate_epochs(stream, STRONG, epsilon=1.0, delta=1e-5)


def test_every_calibrator_answers_with_the_argument_that_it_changed() -> None:
    """As docs/notation.md lists them; a deletion changes neither, and its answer is a number."""
    geometry = Geometry(strong_convexity=0.1, smoothness=10.0, sensitivity=1.0)
    run = NoisyCGD(n=200, batch_size=50, epochs=10, learning_rate=0.1, noise=0.05)
    asked: dict[str, float] = {"epsilon": 3.0, "delta": 1e-5}
    found = {
        name: getattr(shiftdp.privacy, name)(run, geometry, **asked)
        for name in shiftdp.privacy.__all__
        if name.startswith("calibrate_") and name != "calibrate_cooldown"  # of random batches
    }
    of_losses = {"calibrate_strong_convexity", "calibrate_diameter"}
    for name, answer in found.items():
        if name == "calibrate_unlearning":
            deletion = Unlearning(training=run, further_steps=answer)
            assert certify(deletion, geometry).epsilon(1e-5) <= 3.0
            continue
        assert type(answer) is (Geometry if name in of_losses else NoisyCGD), name
        certified = (run, answer) if name in of_losses else (answer, geometry)
        assert certify(*certified).epsilon(1e-5) <= 3.0, name
    page = (Path(__file__).parents[2] / "docs" / "notation.md").read_text()
    assert all(f"`{name}`" in page for name in found)
    assert of_losses < found.keys()


@pytest.mark.parametrize("sampling", ["poisson", "random_allocation"])
def test_random_sizes_that_any_length_can_afford_are_counted_to_the_end(sampling: Any) -> None:
    """No bound is for every length, since every batch cap is passed some day."""
    geometry = Geometry(strong_convexity=0.5, smoothness=1, sensitivity=1, adjacency="zero_out")
    length: dict[str, Any] = {"steps": 100} if sampling == "poisson" else {"epochs": 5}
    run = NoisySGD(
        n=24_000, batch_size=600, learning_rate=0.1, noise=1 / 200, sampling=sampling, **length
    )
    found = calibrate_epochs(run, geometry, epsilon=1.0, delta=1e-5)
    assert found.steps == (2**53 // run.batches * run.batches if run.in_epochs else 2**53)
    assert certify(found, geometry).epsilon(1e-5) <= 1.0
