"""A theorem of the user: tried beside the library's, and never passed off as one of them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

import shiftdp as sdp
from shiftdp.last_iterate import Bound
from shiftdp.last_iterate.certificate_schema import SCHEMA, schema
from shiftdp.last_iterate.last_batch import last_batch_cost
from shiftdp.last_iterate.theorems import closed_forms, descent, forms
from shiftdp.last_iterate.theorems.checks import require
from shiftdp.last_iterate.theorems.proofs import AnyProof
from shiftdp.last_iterate.theorems.theorem import Claim, Prospect
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
    with pytest.raises(sdp.InvalidInput, match="is there twice"):
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


# --- proofs of a form of their own ---


@dataclass(frozen=True)
class Reason(AnyProof):
    reasons: int
    form = forms.fields_of({"reasons": forms.COUNT})


class Reasoned(Fixed):
    """mu is one over the number of reasons."""

    proof_type = Reason

    def bound(self, run: Any, geometry: sdp.Geometry, delta: float) -> Bound:
        return Bound(self, sdp.GaussianTradeoff(self.mu), (Reason(round(1 / self.mu)),))

    def check(self, claim: Claim) -> None:
        require(claim.proofs == (Reason(round(1 / self.mu)),), "there are fewer reasons")


def test_proofs_of_its_own_are_written_and_read_with_the_theorem() -> None:
    own = [Reasoned(0.01)]
    mine = sdp.certify(GD, FLAT, theorems=own)
    text = mine.to_json()
    assert json.loads(text)["proofs"] == [{"reasons": 100}]
    received = sdp.Certificate.from_json(text, theorems=own)
    assert received == mine
    received.verify(theorems=own)
    with pytest.raises(sdp.VerificationFailed, match="fewer reasons"):
        replace(received, proofs=(Reason(99),)).verify(theorems=own)
    with pytest.raises(sdp.InvalidInput, match=r"from_json\(theorems=\[...\]\)"):
        sdp.Certificate.from_json(text)
    with pytest.raises(sdp.InvalidInput, match=r"proofs\[0\] is none"):
        sdp.Certificate.from_json(text.replace("100}", "0}"), theorems=own)


def test_a_schema_with_it_adds_its_form_and_nothing_else() -> None:
    known, more = (each["$defs"]["proof"]["oneOf"] for each in (SCHEMA, schema([Reasoned(0.01)])))
    assert more == [*known, Reason.form]
    assert schema([Fixed(0.01)]) == SCHEMA


# --- what is worth trying ---


def test_where_one_is_unbeaten_no_other_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    gentle = replace(FLAT, strong_convexity=0.5)
    before = sdp.certify(GD, gentle)
    monkeypatch.setattr(descent, "composition_mu", lambda *_: pytest.fail("it was tried"))
    monkeypatch.setattr(closed_forms, "_equal_steps", lambda *_: pytest.fail("it was tried"))
    assert sdp.certify(GD, gentle) == before
    assert before.bound == "Theorem B1"


def test_what_is_contained_is_tried_if_nothing_else_applies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    falling = sdp.NoisyGD(**{**vars(GD), "noise": (0.06,) * 10 + (0.05,) * 10})
    tried: list[str] = []

    def refuse(run: Any, geometry: Any) -> Any:
        tried.append(type(run).__name__)
        raise sdp.UnmetHypothesis("noise", run.noise, "is not meant", "give another")

    monkeypatch.setattr(closed_forms, "_equal_steps", refuse)
    assert sdp.certify(falling, FLAT).bound == "Theorem B1"
    assert tried == []
    assert sdp.certify(falling, FLAT, bounds="paper").bound == "Thm gd (composition)"
    assert tried == ["NoisyGD"] * 2


def test_a_theorem_of_the_user_is_tried_whatever_its_prospect() -> None:
    class Modest(Fixed):
        def prospect(self, run: Any, geometry: Any, delta: float, rival: float) -> Prospect:
            return Prospect.HOPELESS

    assert sdp.certify(GD, FLAT, theorems=[Modest(0.01)]).bound == "Fixed"
