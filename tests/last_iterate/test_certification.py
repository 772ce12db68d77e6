"""From a run to the tightest certificate: the published figures, and what must never happen."""

from __future__ import annotations

import json
import math
from importlib.resources import files
from typing import Any

import pytest

from shiftdp import InvalidInput, NoisyCGD, NoisyGD, NoisySGD, UnmetHypothesis, certify
from shiftdp.fdp.composition.composite import Composite
from shiftdp.last_iterate import ExponentialMechanism, Geometry, LangevinMC, Unlearning
from shiftdp.last_iterate.certification import bound_by, evaluate, mu_by_position, tightest
from shiftdp.last_iterate.runs import Order, Run
from shiftdp.last_iterate.theorems.registry import theorem_of
from tests.last_iterate.brute_force import mu_of_visits, positions
from tests.last_iterate.random_runs import ORDERS

PUBLISHED = json.loads(
    files("shiftdp.ui.reproduce").joinpath("published.json").read_text(encoding="utf-8")
)
PAPER = {
    "Thm gd (composition)",
    "Thm gd-sc",
    "Thm gd-proj",
    "Thm mgd (composition)",
    "Thm mgd-sc",
    "Thm mgd-proj",
    "Prop lmc",
    "Cor expmechconvex",
}
CONVEX = Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0)


def mnist(ridge: float) -> Geometry:
    return Geometry(strong_convexity=ridge, smoothness=32.5 + ridge, sensitivity=10.0)


def mnist_run(epochs: int, order: str = "fixed", **changes: Any) -> NoisyCGD:
    parts = {"n": 60_000, "batch_size": 1_500, "learning_rate": 0.05, "noise": 0.01}
    return NoisyCGD(**{**parts, "epochs": epochs, "order": order, **changes})


@pytest.mark.parametrize("ridge", [0.002, 0.004])
def test_published_epsilons_of_cyclic_batches(ridge: float) -> None:
    published = PUBLISHED["mnist_epsilon"][f"ours_cgd_{ridge}"]
    for epochs, epsilon in zip((50, 100, 200), published, strict=True):
        cert = certify(mnist_run(epochs), mnist(ridge))
        assert cert.bound == "Theorem B1"
        assert round(cert.epsilon(1e-5), 2) == epsilon
        by_paper = certify(mnist_run(epochs), mnist(ridge), bounds="paper")
        assert by_paper.bound == "Thm mgd-sc"
        assert by_paper.epsilon(1e-5) == pytest.approx(cert.epsilon(1e-5), rel=1e-9)


def test_the_figures_of_the_issue() -> None:
    found = [certify(mnist_run(E), mnist(0.002)).epsilon(1e-5) for E in (50, 100, 200)]
    assert [round(epsilon, 2) for epsilon in found] == [4.34, 5.60, 7.58]


@pytest.mark.parametrize(("epochs", "most"), [(50, 3.49), (100, 4.80), (200, 6.89)])
def test_random_order_is_free(epochs: int, most: float) -> None:
    fixed, once, anew = (
        certify(mnist_run(epochs, order), mnist(0.002)).epsilon(1e-5)
        for order in ("fixed", "shuffled_once", "reshuffled")
    )
    assert once <= most
    assert once <= anew <= fixed
    assert anew <= 1.03 * once
    for order in ORDERS[1:]:
        cert = certify(mnist_run(epochs, order), mnist(0.002))
        assert cert.bound == "Theorem B4"
        assert cert.mu is None


def test_composition_alone() -> None:
    for epochs, epsilon in {50: 30.51, 100: 49.88, 200: 83.83}.items():
        cert = certify(mnist_run(epochs), mnist(0.002), bounds="composition")
        assert cert.bound == "Thm mgd (composition)"
        assert round(cert.epsilon(1e-5), 2) == epsilon


def test_convex_cyclic_batches_gain_the_root_of_their_number() -> None:
    """No strong convexity, no projection: (L/(b sigma)) sqrt(1 + (E-1)/l) against sqrt(E)."""
    for batches, epochs in ((10, 1), (10, 500), (40, 100_000)):
        run = NoisyCGD(n=batches * 5, batch_size=5, epochs=epochs, learning_rate=0.3, noise=2.0)
        mu = certify(run, CONVEX).mu or 0.0
        composed = certify(run, CONVEX, bounds="composition").mu or 0.0
        assert mu == pytest.approx(0.1 * math.sqrt(1 + (epochs - 1) / batches), rel=1e-11)
        assert composed == pytest.approx(0.1 * math.sqrt(epochs), rel=1e-11)
    assert composed / mu == pytest.approx(math.sqrt(40), rel=0.001)


def test_smooth_non_convex_losses_on_a_bounded_set() -> None:
    run = NoisyCGD(n=500, batch_size=5, epochs=400, learning_rate=0.01, noise=0.2)
    weak = Geometry(strong_convexity=-0.1, smoothness=1.0, sensitivity=1.0, diameter=0.05)
    cert, composed = certify(run, weak), certify(run, weak, bounds="composition")
    assert cert.bound == "Theorem B1"
    assert cert.mu is not None
    assert composed.mu is not None
    assert cert.mu < 0.5 * composed.mu
    longer = certify(NoisyCGD(**{**vars(run), "steps": 100 * 100_000}), weak)
    assert longer.mu == pytest.approx(cert.mu, rel=1e-6)  # it has converged
    endless = certify(LangevinMC(steps=math.inf, learning_rate=0.1), weak)
    assert endless.bound == "Theorem B1"
    assert endless.mu == certify(LangevinMC(steps=10**9, learning_rate=0.1), weak).mu
    endless.verify()


def test_strongly_convex_and_constrained_at_once_beats_either() -> None:
    both = Geometry(strong_convexity=0.05, smoothness=1.0, sensitivity=1.0, diameter=1.0)
    run = NoisyGD(n=10, steps=1000, learning_rate=0.5, noise=0.5)
    best = certify(run, both).mu
    apart = certify(run, both, bounds="paper").mu
    assert best is not None
    assert apart is not None
    assert best < 0.97 * apart


def test_the_paper_only_uses_the_paper() -> None:
    names = set()
    for m, D in ((0.1, math.inf), (0.0, 2.0), (0.0, math.inf), (0.1, 2.0)):
        geometry = Geometry(strong_convexity=m, smoothness=1.0, sensitivity=1.0, diameter=D)
        for run in (
            NoisyGD(n=10, steps=500, learning_rate=0.5, noise=0.5),
            NoisyCGD(n=10, batch_size=2, epochs=500, learning_rate=0.5, noise=0.5),
            NoisyCGD(
                n=10, batch_size=2, epochs=9, learning_rate=0.5, noise=1.0, order="reshuffled"
            ),
            LangevinMC(steps=500, learning_rate=0.5),
        ):
            cert = certify(run, geometry, bounds="paper")
            assert cert.mu is not None
            assert cert.mu >= (certify(run, geometry).mu or 0.0) * (1 - 1e-9)
            names.add(cert.bound)
    assert names <= PAPER
    assert len(names) >= 5


@pytest.mark.parametrize("bounds", ["all", "", None, 3, ["best"]])
def test_unknown_bounds(bounds: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        certify(mnist_run(5), mnist(0.002), bounds=bounds)
    assert caught.value.name == "bounds"


def test_what_is_not_a_run_or_a_geometry() -> None:
    with pytest.raises(InvalidInput, match="NoisyGD"):
        certify("NoisyGD", CONVEX)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Geometry"):
        certify(mnist_run(5), {"smoothness": 1.0})  # type: ignore[arg-type]


def test_no_bound_at_all_is_an_error_that_says_why() -> None:
    for run in (LangevinMC(steps=math.inf, learning_rate=0.5), ExponentialMechanism()):
        with pytest.raises(UnmetHypothesis) as caught:
            certify(run, CONVEX)
        assert caught.value.name in ("diameter", "strong_convexity")


def test_equal_curvatures() -> None:
    """m = M: all losses are one quadratic up to a linear term; the bounds hold all the same."""
    geometry = Geometry(strong_convexity=2.0, smoothness=2.0, sensitivity=1.0)
    run = NoisyGD(n=10, steps=7, learning_rate=0.5, noise=1.0)
    cert = certify(run, geometry)
    assert cert.mu == pytest.approx(0.1, rel=1e-9)  # a step forgets everything before it
    cert.verify()
    assert cert.lower_mu is None


def test_no_sensitivity_is_perfect_privacy() -> None:
    geometry = Geometry(strong_convexity=0.1, smoothness=1.0, sensitivity=0.0, diameter=2.0)
    runs: list[Run] = [mnist_run(3, order, learning_rate=0.5) for order in ORDERS]
    runs += [
        NoisyGD(n=10, steps=7, learning_rate=0.5, noise=1.0),
        LangevinMC(steps=5, learning_rate=0.5),
        ExponentialMechanism(),
    ]
    for run in runs:
        cert = certify(run, geometry)
        assert cert.epsilon(1e-9) == 0.0
        assert cert.delta(0.0) == 0.0
        cert.verify()


@pytest.mark.parametrize("diameter", [math.inf, 3.0])
def test_profile_by_position(diameter: float) -> None:
    """A record seen early is better protected, for contractions; each number is its own B1."""
    geometry = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=2.0, diameter=diameter)
    run = NoisyCGD(n=14, batch_size=3, steps=18, learning_rate=0.4, noise=0.5)
    profile = mu_by_position(run, geometry)
    assert list(profile) == [1, 2, 3, 4, 5]
    slow = [mu_of_visits(run, geometry, visits) for _, visits in positions(run)]
    assert list(profile.values()) == pytest.approx(slow, rel=1e-9)
    whole = mu_by_position(NoisyCGD(**{**vars(run), "steps": 20, "n": 15}), geometry)
    assert sorted(whole.values()) == list(whole.values())
    assert whole[1] < 0.8 * whole[5]
    assert certify(run, geometry).by_position() == profile
    assert max(profile.values()) == pytest.approx(certify(run, geometry).mu, rel=1e-12)


def test_profile_is_refused_where_there_is_none() -> None:
    run = mnist_run(3, "reshuffled")
    with pytest.raises(InvalidInput, match="order"):
        certify(run, mnist(0.002)).by_position()
    with pytest.raises(InvalidInput, match="no batches"):
        mu_by_position(LangevinMC(steps=4, learning_rate=0.1), CONVEX)
    rough = Geometry(strong_convexity=0.0, smoothness=math.inf, sensitivity=1.0)
    with pytest.raises(UnmetHypothesis, match="smoothness"):
        mu_by_position(mnist_run(3), rough)
    with pytest.raises(UnmetHypothesis, match="learning_rate"):
        mu_by_position(mnist_run(3, learning_rate=0.07), mnist(0.002))


# --- the same run, written in a harder way ---


def same(one: Any, other: Any, geometry: Geometry) -> None:
    first, second = certify(one, geometry), certify(other, geometry)
    for epsilon in (0.0, 0.5, 2.0):
        a, b = first.delta(epsilon), second.delta(epsilon)
        assert a == pytest.approx(b, rel=1e-8, abs=1e-13)


CLASSES = [
    Geometry(strong_convexity=m, smoothness=2.0, sensitivity=2.0, diameter=D)
    for m in (0.2, 0.0, -0.3)
    for D in (math.inf, 1.0)
]


@pytest.mark.parametrize("geometry", CLASSES, ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_a_constant_may_be_written_step_by_step(order: Order, geometry: Geometry) -> None:
    """The closed forms of equal steps against the engine that knows nothing of them."""
    parts: dict[str, Any] = {"n": 11, "batch_size": 3, "noise": 1.5, "order": order}
    for t in (2, 11, 12, 46, 120):
        plain = NoisyCGD(**parts, steps=t, learning_rate=0.3)
        for changes in ({"learning_rate": [0.3] * t}, {"noise": [1.5] * t}):
            same(plain, NoisyCGD(**{**vars(plain), **changes}), geometry)


@pytest.mark.parametrize("geometry", CLASSES, ids=str)
def test_one_batch_is_a_full_batch(geometry: Geometry) -> None:
    plain = NoisyGD(n=9, steps=30, learning_rate=0.3, noise=0.4)
    for order in ORDERS:
        parts: dict[str, Any] = {"n": 9, "batch_size": 9, "learning_rate": 0.3, "noise": 0.4}
        same(plain, NoisyCGD(**parts, epochs=30, order=order), geometry)


@pytest.mark.parametrize("geometry", CLASSES, ids=str)
def test_langevin_is_descent_on_one_record(geometry: Geometry) -> None:
    chain = LangevinMC(steps=25, learning_rate=0.08)
    same(chain, NoisyGD(n=1, steps=25, learning_rate=0.08, noise=5.0), geometry)


def test_units_do_not_matter() -> None:
    """Iterates measured in other units: lengths scale by k, gradients by 1/k."""
    run = NoisyCGD(n=12, batch_size=3, epochs=9, learning_rate=0.3, noise=1.5)
    geometry = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=2.0, diameter=1.0)
    scaled = Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=2e3, diameter=1e3)
    louder = NoisyCGD(**{**vars(run), "noise": 1.5e3})
    assert certify(run, geometry).mu == pytest.approx(certify(louder, scaled).mu, rel=1e-10)


def test_zero_out_and_replace_one_differ_in_the_sensitivity_alone() -> None:
    run = mnist_run(50)
    parts: dict[str, Any] = {"strong_convexity": 0.002, "smoothness": 32.502}
    replaced = certify(run, Geometry(**parts, sensitivity=10.0))
    removed = certify(run, Geometry(**parts, sensitivity=5.0, adjacency="zero_out"))
    assert removed.mu == pytest.approx((replaced.mu or 0) / 2, rel=1e-12)
    assert removed.epsilon(1e-5) < replaced.epsilon(1e-5)
    assert removed.lower_mu is None
    assert replaced.lower_mu is not None


def test_long_runs_are_no_harder() -> None:
    for order in ORDERS:
        short = certify(mnist_run(10**5, order), mnist(0.002)).epsilon(1e-5)
        long = certify(mnist_run(10**8, order), mnist(0.002)).epsilon(1e-5)
        assert long == pytest.approx(short, rel=1e-9)


def test_refusals_are_listed_beside_the_bounds() -> None:
    evaluation = evaluate(mnist_run(5), mnist(0.002))
    assert [name for name, _ in evaluation.refused] == ["Thm mgd-proj"]
    assert {bound.family for bound in evaluation.found} == {"composition", "paper", "ours"}
    assert len(evaluate(mnist_run(5), mnist(0.002), "composition").found) == 1


def test_a_tie_is_not_broken_before_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The advantage of a product is as costly as its epsilon: it is asked where epsilons agree."""
    monkeypatch.setattr(Composite, "advantage", lambda _: pytest.fail("no tie was to be broken"))
    run = NoisySGD(n=1000, batch_size=10, steps=200, learning_rate=0.1, noise=3.0)
    geometry = Geometry(strong_convexity=0.2, smoothness=1, sensitivity=10)
    names = ("Thm sgd (composition)", "Theorem B3")
    found = [bound_by(theorem_of(name), run, geometry, 1e-5) for name in names]
    first, second = (bound.guess for bound in found)
    assert first is not None
    assert second is not None
    assert abs(first - second) < 0.02  # so close that both are composed
    assert tightest(found, run, geometry, 1e-5) in found


@pytest.mark.parametrize("bounds", ["paper", "composition"])
def test_families_without_a_theorem_on_a_run_say_so(bounds: Any) -> None:
    """Found by fuzzing: there was nothing to be tried, and so no reason to be given."""
    training = NoisyGD(n=10, steps=5, learning_rate=0.3, noise=1.0)
    run = Unlearning(training=training, further_steps=3, later_requests=[(2, 1)])
    geometry = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=1.0)
    with pytest.raises(UnmetHypothesis, match="has no theorem on Unlearning"):
        certify(run, geometry, bounds=bounds)
