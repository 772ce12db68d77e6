"""What is refused of a user's theorems, in one sentence each, before anything rests on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

import shiftdp as sdp
from shiftdp.last_iterate import Bound, Theorem
from shiftdp.last_iterate.theorems import forms
from shiftdp.last_iterate.theorems.own import own_theorems
from shiftdp.last_iterate.theorems.proofs import AnyProof, StochasticProof
from shiftdp.last_iterate.theorems.registry import proof_types, theorem_of
from tests.last_iterate.theorems.fixed import Fixed

GD = sdp.NoisyGD(n=100, steps=20, learning_rate=1.5, noise=0.05)
ENDLESS = sdp.NoisyGD(n=100, steps=math.inf, learning_rate=1.5, noise=0.05)
FLAT = sdp.Geometry(strong_convexity=1, smoothness=1, sensitivity=5)
TINY = sdp.GaussianTradeoff(0.001)


class Gives(Fixed):
    """Whatever it is told to give."""

    def __init__(self, given: Any) -> None:
        super().__init__(0.001, "Gives")
        self.given = given

    def bound(self, run: Any, geometry: sdp.Geometry, delta: float) -> Bound:
        given: Bound = self.given
        return given

    def forgets(self, run: Any, geometry: sdp.Geometry, proofs: object) -> bool:
        return True


class Late(Fixed):
    """Gives a bound of its own, and proves it by another's."""

    def proved(self, bound: Bound, run: Any, geometry: sdp.Geometry, *, endless: bool) -> Bound:
        return Bound(theorem_of("Theorem B1"), TINY)


@dataclass(frozen=True)
class Sum(AnyProof):
    total: float
    form = forms.fields_of({"total": forms.NUMBER})


@dataclass(frozen=True)
class OtherSum(AnyProof):
    total: float
    form = forms.fields_of({"total": forms.NUMBER, "more": forms.NUMBER}, optional=("more",))


@dataclass(frozen=True)
class Formless(AnyProof):
    total: float


@dataclass(frozen=True)
class Posing(AnyProof):
    tau: int
    groups: tuple[()]
    split: float
    cap: int
    form = forms.fields_of(dict.fromkeys(("tau", "groups", "split", "cap"), forms.NUMBER))


def proved_by(kind: Any, name: str = "Proved", proofs: Any = ()) -> Theorem:
    class Proved(Fixed):
        proof_type = kind

        def bound(self, run: Any, geometry: sdp.Geometry, delta: float) -> Bound:
            return Bound(self, TINY, proofs)

    return Proved(0.001, name)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Bound(theorem_of("Theorem B1"), TINY), "gives a bound in the name of 'Theorem B1'"),
        (Bound(Fixed(0.001), TINY), "gives a bound in the name of 'Fixed'"),
        (None, "gives NoneType where a Bound"),
        (0.001, "gives float where a Bound"),
        (TINY, "gives GaussianTradeoff where a Bound"),
        (Bound(Fixed(0.001), 0.001), "gives a Bound whose f is float"),  # type: ignore[arg-type]
        (Bound(Fixed(0.001), None), "gives a Bound whose f is NoneType"),  # type: ignore[arg-type]
    ],
)
def test_it_gives_a_bound_by_itself(given: Any, said: str) -> None:
    own, said = [Gives(given)], rf"theorems='Gives' {said}.*; return Bound\(self, f\)"
    for run in (GD, ENDLESS):
        with pytest.raises(sdp.InvalidInput, match=said):
            sdp.certify(run, FLAT, theorems=own)
        with pytest.raises(sdp.InvalidInput, match=said):
            sdp.compare(run, FLAT, delta=1e-5, theorems=own)
    with pytest.raises(sdp.InvalidInput, match=said):
        sdp.frontier(GD, FLAT, parameter="steps", values=[2], delta=1e-5, theorems=own)


def test_it_proves_a_bound_by_itself() -> None:
    with pytest.raises(sdp.InvalidInput, match="'Fixed' gives a bound in the name of 'Theorem B1'"):
        sdp.certify(GD, FLAT, theorems=[Late(0.001)])


@pytest.mark.parametrize(
    ("theorems", "said"),
    [
        (Fixed(0.01), r"is not a list of theorems; give theorems=\[...\]"),
        (None, "is not a list of theorems"),
        ("Theorem B1", "theorems='Theorem B1' is not a list"),
        ([object()], "is not a Theorem; give objects of subclasses"),
        ([Fixed], r"theorems='Fixed' is a class, not a theorem; give an object of it, Fixed\(\)"),
        ([Fixed(0.01)] * 2, "theorems='Fixed' is there twice; give each theorem once"),
        ([proved_by(Formless)], "proof_type='Formless' of 'Proved' has no form; give it form ="),
        ([proved_by(float)], "of 'Proved' is no class of proofs; give a frozen dataclass"),
        ([proved_by(Posing)], "'Posing' of 'Proved' has the fields of StochasticProof"),
        ([proved_by(Sum), proved_by(OtherSum, "B")], "'OtherSum' of 'B' has the fields of Sum"),
    ],
)
def test_what_is_no_list_of_theorems_is_refused_wherever_one_is_taken(
    theorems: Any, said: str
) -> None:
    mine = sdp.certify(GD, FLAT, theorems=[Fixed(0.01)])
    for take in (
        lambda: sdp.certify(GD, FLAT, theorems=theorems),
        lambda: sdp.compare(GD, FLAT, delta=1e-5, theorems=theorems),
        lambda: sdp.Certificate.from_json(mine.to_json(), theorems=theorems),
        lambda: mine.verify(theorems=theorems),
    ):
        with pytest.raises(sdp.InvalidInput, match=said):
            take()


@pytest.mark.parametrize("name", [None, 3, "", "  ", "n" * 201, "two\nlines", "two\u2028lines"])
def test_its_name_is_one_line_that_can_be_read_back(name: Any) -> None:
    with pytest.raises(sdp.InvalidInput, match=r"^name=.*names no theorem \(Fixed\); give it a"):
        sdp.certify(GD, FLAT, theorems=[Fixed(0.01, name)])


def test_it_says_where_it_is_proved_and_what_it_is_about() -> None:
    cited = Fixed(0.01)
    for citation in (None, "", "a\nb", "c" * 2000):
        cited.citation = citation  # type: ignore[assignment]
        with pytest.raises(sdp.InvalidInput, match="of 'Fixed' is no citation; say in one line"):
            own_theorems([cited])
    with pytest.raises(sdp.InvalidInput, match="of 'Fixed' is no tuple of classes"):
        own_theorems([Fixed(0.01, runs=sdp.NoisyGD)])  # type: ignore[arg-type]


def test_the_longest_name_and_citation_are_read_back() -> None:
    longest = Fixed(0.01, "n" * 200)
    longest.citation = "c" * 3000
    with pytest.raises(sdp.InvalidInput) as refused:
        own_theorems([longest])
    longest.citation = "c" * int(refused.value.remedy.split("1 to ")[1].split()[0])
    mine = sdp.certify(GD, FLAT, theorems=[longest])
    sdp.Certificate.from_json(mine.to_json()).verify(theorems=[longest])


def test_proofs_are_those_that_it_names_or_the_library_s() -> None:
    assert own_theorems([proved_by(kind, kind.__name__) for kind in (*proof_types(), Sum)])
    shared = proved_by(None, proofs=(StochasticProof(3),))
    assert sdp.certify(GD, FLAT, theorems=[shared]).proofs == (StochasticProof(3),)
    for proofs in ((Sum(1.0),), [StochasticProof(3)], 3):
        with pytest.raises(sdp.InvalidInput, match="gives proofs that no file could be read with"):
            sdp.certify(GD, FLAT, theorems=[proved_by(None, proofs=proofs)])


@pytest.mark.parametrize("total", [math.nan, math.inf, "much", 1j])
def test_proofs_that_cannot_be_read_back_are_not_written(total: Any) -> None:
    mine = sdp.certify(GD, FLAT, theorems=[proved_by(Sum, proofs=(Sum(total),))])
    with pytest.raises(sdp.InvalidInput, match=r"proof=Sum.* of 'Proved' cannot be written: .*; "):
        mine.to_json()
