"""Hypotheses: what a certificate rests on, and how a failed one is reported."""

from __future__ import annotations

import importlib
import math
import re
from dataclasses import replace

import pytest

from shiftdp import UnmetHypothesis
from shiftdp.last_iterate import Geometry, LangevinMC, NoisyCGD, NoisyGD, NoisyStream, certify
from shiftdp.last_iterate import assumptions as given_that
from shiftdp.last_iterate.geometry import Adjacency
from shiftdp.last_iterate.runs import Order
from tests.last_iterate.random_runs import BOUNDS, ORDERS

CONVEX = Geometry(strong_convexity=0.0, smoothness=32.502, sensitivity=1.0)


def test_too_large_a_learning_rate_is_named_with_its_remedy() -> None:
    run = NoisyGD(n=10, steps=5, learning_rate=0.07, noise=1.0)
    for bounds in BOUNDS[:2]:
        with pytest.raises(UnmetHypothesis) as caught:
            certify(run, CONVEX, bounds=bounds)
        assert (caught.value.name, caught.value.value) == ("learning_rate", 0.07)
        assert "0.0615347" in caught.value.problem
        assert "composition" in caught.value.remedy
    assert certify(run, CONVEX, bounds="composition").mu == pytest.approx(math.sqrt(5) / 10)


def test_it_is_named_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("shiftdp.last_iterate.certification")
    monkeypatch.setattr(module, "_tried", lambda *_, **__: pytest.fail("it worked"))
    run = NoisyCGD(n=10, batch_size=5, steps=4, learning_rate=[0.01] * 3 + [0.07], noise=1.0)
    with pytest.raises(UnmetHypothesis, match=r"learning_rate=0.07 exceeds 2/smoothness"):
        certify(run, CONVEX)
    with pytest.raises(UnmetHypothesis, match=r"learning_rate=0.07"):
        certify(LangevinMC(steps=math.inf, learning_rate=0.07), CONVEX)


def test_the_limit_itself_is_allowed() -> None:
    for M in (32.502, 3.0, 0.7, 1e6):
        geometry = Geometry(strong_convexity=0.0, smoothness=M, sensitivity=1.0)
        run = NoisyGD(n=10, steps=5, learning_rate=2.0 / M, noise=1.0)
        assert certify(run, geometry).mu == pytest.approx(math.sqrt(5) / 10)


def test_where_nothing_is_asked_nothing_is_refused() -> None:
    fast = 100.0
    weak = Geometry(strong_convexity=-1.0, smoothness=1.0, sensitivity=1.0, diameter=1.0)
    given_that.require_contractive(fast, weak)
    rough = Geometry(strong_convexity=0.0, smoothness=math.inf, sensitivity=1.0)
    given_that.require_contractive(fast, rough)
    run = NoisyGD(n=10, steps=5, learning_rate=fast, noise=1.0)
    assert certify(run, rough).bound == "Thm gd (composition)"
    assert certify(run, weak).mu == pytest.approx(math.sqrt(5) / 10)


@pytest.mark.parametrize("adjacency", ["replace_one", "zero_out"])
def test_a_stream_has_no_n(adjacency: Adjacency) -> None:
    stream = NoisyStream(batch_size=5, batches_per_release=4, learning_rate=0.01, noise=1.0)
    geometry = replace(CONVEX, adjacency=adjacency)
    for run, public in ((stream, "how many records arrive, and when, is"), (stream.window, "n is")):
        text = {each.name: each.statement for each in certify(run, geometry).assumptions}
        assert re.search(rf"[,;] {public} public$", text["adjacency"])


def test_closed_forms_ask_for_equal_steps() -> None:
    assert given_that.require_equal_steps(0.1, 2.0) == (0.1, 2.0)
    with pytest.raises(UnmetHypothesis, match="learning_rate=") as caught:
        given_that.require_equal_steps((0.1,) * 1000, 2.0)
    assert len(str(caught.value)) < 200
    with pytest.raises(UnmetHypothesis, match="noise="):
        given_that.require_equal_steps(0.1, (2.0, 3.0))


def test_smoothness_must_be_known_to_shift() -> None:
    for parts in ({"smoothness": math.inf}, {"strong_convexity": -math.inf}):
        geometry = Geometry(
            **{"strong_convexity": 0.0, "smoothness": 1.0, "sensitivity": 1.0, **parts}  # type: ignore[arg-type]
        )
        with pytest.raises(UnmetHypothesis) as caught:
            given_that.require_smooth(geometry)
        assert caught.value.name == next(iter(parts))


def test_every_certificate_says_that_iterates_stay_hidden_and_who_the_neighbours_are() -> None:
    run = NoisyCGD(n=10, batch_size=5, epochs=3, learning_rate=0.01, noise=1.0)
    for adjacency in ("replace_one", "zero_out"):
        geometry = Geometry(
            strong_convexity=0.1,
            smoothness=1.0,
            sensitivity=1.5,
            diameter=2.5,
            adjacency=adjacency,
        )
        for bounds in BOUNDS:
            cert = certify(run, geometry, bounds=bounds)
            stated = {item.name: item.statement for item in cert.assumptions}
            assert stated["adjacency"].startswith(adjacency)
            assert "1.5" in stated["sensitivity"]
            assert "last iterate" in stated["hidden iterates"]
            assert ("losses" in stated) == (bounds != "composition")
            assert ("constraint" in stated) == ("2.5" in stated.get("constraint", ""))
        assert "constraint" in {item.name for item in certify(run, geometry).assumptions}


@pytest.mark.parametrize(
    ("m", "words"),
    [(0.5, "0.5-strongly convex"), (0.0, "convex"), (-0.5, "weakly convex")],
)
def test_losses_in_words(m: float, words: str) -> None:
    geometry = Geometry(strong_convexity=m, smoothness=2.0, sensitivity=1.0)
    assert words in given_that.smooth_losses(geometry).statement


@pytest.mark.parametrize("order", ORDERS)
def test_a_random_order_is_an_assumption(order: Order) -> None:
    statement = given_that.batch_order(order, 5).statement
    assert ("permutation" in statement) == (order != "fixed")
    alone = given_that.batch_order(order, 1).statement
    assert alone == "every step uses all records"
