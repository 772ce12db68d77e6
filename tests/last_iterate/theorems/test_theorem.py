"""A theorem of the user: tried beside the library's, and never passed off as one of them."""

from __future__ import annotations

import math

import pytest

import shiftdp as sdp
from shiftdp.last_iterate.last_batch import last_batch_cost
from tests.last_iterate.theorems.fixed import Fixed

GD = sdp.NoisyGD(n=100, steps=20, learning_rate=1.5, noise=0.05)
FLAT = sdp.Geometry(strong_convexity=1, smoothness=1, sensitivity=5)


def test_the_better_one_is_taken_and_named() -> None:
    mine = sdp.certify(GD, FLAT, theorems=[Fixed(0.01), Fixed(0.02, "Second")])
    assert (mine.bound, mine.mu, mine.kind) == ("Fixed", 0.01, "conditional")
    assert "Fixed (a test) is true: its author says so" in mine.assumptions[-1].statement
    assert "[conditional bound]" in mine.statement()
    ours = sdp.certify(GD, FLAT, theorems=[Fixed(99.0)])
    assert ours.same_guarantee(sdp.certify(GD, FLAT))
    assert ours.kind == "certified"


def test_it_is_tried_under_every_choice_of_bounds_and_for_random_batches() -> None:
    for bounds in ("best", "paper", "composition"):
        assert sdp.certify(GD, FLAT, bounds=bounds, theorems=[Fixed(0.01)]).bound == "Fixed"
    run = sdp.NoisySGD(n=100, batch_size=10, steps=50, learning_rate=0.1, noise=3.0)
    assert sdp.certify(run, FLAT, theorems=[Fixed(0.01)]).bound == "Fixed"
    worse = sdp.certify(run, FLAT, theorems=[Fixed(9.0)])
    assert worse.bound == sdp.certify(run, FLAT).bound


def test_it_counts_where_no_other_applies_and_its_refusal_is_named_last() -> None:
    rough = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=5)
    endless = sdp.NoisyGD(n=100, steps=math.inf, learning_rate=0.5, noise=0.05)
    with pytest.raises(sdp.UnmetHypothesis, match="steps=inf has no finite bound"):
        sdp.certify(endless, rough, theorems=[Fixed(0.01)])
    cyclic = sdp.NoisyCGD(n=100, batch_size=10, epochs=3, learning_rate=0.5, noise=0.05)
    assert sdp.certify(cyclic, FLAT, theorems=[Fixed(0.01)]).kind == "certified"


def test_it_is_verified_with_the_theorem_and_refused_without() -> None:
    mine = sdp.certify(GD, FLAT, theorems=[Fixed(0.01)])
    received = sdp.Certificate.from_json(mine.to_json())
    assert received == mine
    received.verify(theorems=[Fixed(0.01)])
    with pytest.raises(sdp.VerificationFailed, match=r"verify\(theorems=\[...\]\)"):
        received.verify()
    for other in (Fixed(0.02), Fixed(0.01, "Second")):
        with pytest.raises(sdp.VerificationFailed):
            received.verify(theorems=[other])


def test_it_cannot_be_passed_off_as_certified() -> None:
    text = sdp.certify(GD, FLAT, theorems=[Fixed(0.01)]).to_json()
    with pytest.raises(sdp.InvalidInput, match="`kind` is not that of the assumptions"):
        sdp.Certificate.from_json(text.replace('"conditional"', '"certified"'))
    trusting = text.replace("theorem of a user", "theorem").replace('"conditional"', '"certified"')
    with pytest.raises(sdp.VerificationFailed, match="hypotheses"):
        sdp.Certificate.from_json(trusting).verify(theorems=[Fixed(0.01)])


def test_it_has_a_name_of_its_own() -> None:
    for name in ("Theorem B1", "Thm gd (composition)"):
        with pytest.raises(sdp.InvalidInput, match="name or the family"):
            sdp.certify(GD, FLAT, theorems=[Fixed(0.01, name)])
    with pytest.raises(sdp.InvalidInput, match="name or the family"):
        sdp.certify(GD, FLAT, theorems=[Fixed(0.01), Fixed(0.02)])
    with pytest.raises(sdp.InvalidInput, match="is not a Theorem"):
        sdp.certify(GD, FLAT, theorems=["Theorem B1"])  # type: ignore[list-item]
    posing = Fixed(0.01)
    posing.family = "ours"
    with pytest.raises(sdp.InvalidInput, match="name or the family"):
        sdp.compare(GD, FLAT, delta=1e-5, theorems=[posing])


def test_comparisons_and_frontiers_show_it_beside_ours() -> None:
    table = sdp.compare(GD, FLAT, delta=1e-5, theorems=[Fixed(0.01)])
    assert [row.name for row in table] == [
        "composition", "prior Renyi", "paper", "Fixed", "best", "lower bound",
    ]  # fmt: skip
    assert (table["Fixed"].kind, table["Fixed"].mu) == ("conditional", 0.01)
    assert table["best"].bound == "Theorem B1"
    ball = sdp.Geometry(strong_convexity=0, smoothness=1, sensitivity=5, diameter=1)
    assert (
        "diameter=1.0 is finite"
        in sdp.compare(GD, ball, delta=1e-5, theorems=[Fixed(0.01)])["Fixed"].note
    )
    cyclic = sdp.NoisyCGD(n=100, batch_size=10, epochs=3, learning_rate=0.5, noise=0.05)
    absent = sdp.compare(cyclic, FLAT, delta=1e-5, theorems=[Fixed(0.01)])["Fixed"]
    assert absent.epsilon is None
    assert "is not what Fixed is about" in absent.note
    found = sdp.frontier(
        GD, FLAT, parameter="steps", values=[2, 20], delta=1e-5, theorems=[Fixed(0.01)]
    )
    assert found["Fixed"].kind == "conditional"
    assert found["Fixed"].mu.tolist() == [0.01, 0.01]
    assert found["Fixed"].label == "Fixed"


def test_what_a_last_batch_costs_is_known_beside_it() -> None:
    run = sdp.NoisyCGD(n=1000, batch_size=333, epochs=10, learning_rate=0.5, noise=0.05)
    geometry = sdp.Geometry(strong_convexity=0.01, smoothness=1.0, sensitivity=1.0)
    mine = sdp.certify(run, geometry, theorems=[Fixed(2.0, runs=(sdp.NoisyCGD,))])
    assert mine.kind == "conditional"
    cost = last_batch_cost(mine, 1e-5)
    assert cost is not None
    assert cost.own_size == mine.epsilon(1e-5) > cost.divide_by_b
