"""What every theorem of the library has to do, whatever it says."""

from __future__ import annotations

import copy
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shiftdp import GaussianTradeoff, InvalidInput, UnmetHypothesis, VerificationFailed
from shiftdp.last_iterate import THEOREMS, Certificate, Geometry, Theorem
from shiftdp.last_iterate.certification import bound_by
from shiftdp.last_iterate.theorems import closed_forms, descent
from shiftdp.last_iterate.theorems.sampled import composition, paper, shifted
from tests.last_iterate.theorems.catalogue import CATALOGUE, SCHEDULED, certificate_by

THEORY = (Path(__file__).parents[3] / "docs" / "theory.md").read_text()
# Theorems that only hand on another one are alike: one of each kind is always tried.
TRIED = {
    "Group privacy of Theorem B4",
    "Theorem V4 (Theorem B1)",
    "Theorem V3 (after Theorem B1)",
    "Theorem V3 (Theorem B7)",
}


def marked(theorem: Theorem) -> Any:
    alike = hasattr(theorem, "base") and theorem.name not in TRIED
    return pytest.param(theorem, marks=[pytest.mark.slow] if alike else [], id=theorem.name)


def case(name: str) -> Any:
    marks = marked(next(theorem for theorem in THEOREMS if theorem.name == name)).marks
    return pytest.param((name, False), marks=marks, id=name)


every_theorem = pytest.mark.parametrize("theorem", [marked(theorem) for theorem in THEOREMS])
every_case = pytest.mark.parametrize(
    "certificate",
    [
        *(case(name) for name in CATALOGUE),
        *(pytest.param((name, True), id=f"{name}, schedule") for name in SCHEDULED),
    ],
    indirect=True,
)


@pytest.fixture
def certificate(request: pytest.FixtureRequest) -> Certificate:
    """By a theorem of the catalogue, or of its schedules."""
    name, scheduled = request.param
    return certificate_by(name, scheduled=scheduled)


def section(anchor: str | None) -> str:
    """The text under a heading of docs/theory.md, by the anchor that it has on a page."""
    for part in re.split(r"^#+ ", THEORY, flags=re.M)[1:]:
        title, _, text = part.partition("\n")
        if re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") == anchor:
            return f"{title}\n{text}"
    raise AssertionError(f"no heading has the anchor {anchor}")


def test_names_are_told_apart() -> None:
    assert len({theorem.name for theorem in THEOREMS}) == len(THEOREMS)


@every_theorem
def test_it_is_about_a_run(theorem: Theorem) -> None:
    run, _ = CATALOGUE[theorem.name]
    assert isinstance(run, theorem.runs)
    assert theorem.applies_to(run)


@every_theorem
def test_it_is_stated_where_it_says(theorem: Theorem) -> None:
    text = section(theorem.anchor)
    cited = theorem.citation.removeprefix("[BSA24, ").partition("]")[0].strip("[")
    assert cited in text


def test_every_theorem_has_its_run() -> None:
    assert {theorem.name for theorem in THEOREMS} == {*CATALOGUE}


@every_case
def test_its_certificate_is_verified_and_read_again(certificate: Certificate) -> None:
    certificate.verify()
    text = certificate.to_json()
    twin = Certificate.from_json(text)
    assert twin.same_guarantee(certificate)
    assert twin.to_json() == text
    twin.verify()


@every_theorem
def test_it_names_its_hypotheses_and_none_can_be_left_out(theorem: Theorem) -> None:
    certificate = certificate_by(theorem.name)
    run, geometry = CATALOGUE[theorem.name]
    needed = theorem.hypotheses(run, geometry, certificate.proofs)
    assert certificate.assumptions == needed
    assert {"sensitivity", "adjacency", "hidden iterates"} <= {item.name for item in needed}
    for i in range(len(needed)):
        fewer = needed[:i] + needed[i + 1 :]
        with pytest.raises(VerificationFailed, match="hypotheses"):
            replace(certificate, assumptions=fewer).verify()


def refused(document: dict[str, Any], change: Callable[[Any], Any], *path: Any) -> None:
    forged = copy.deepcopy(document)
    target: Any = forged
    *way, last = path
    for key in way:
        target = target[key]
    target[last] = change(target[last])
    if forged["mu"] is not None:
        forged["mu"] = forged["tradeoff"].get("mu")
    with pytest.raises((VerificationFailed, InvalidInput)):
        Certificate.from_json(json.dumps(forged)).verify()


def lowered(part: Any) -> Any:
    """A tradeoff function with each of its parameters of privacy loss a thousandth smaller."""
    if isinstance(part, list):
        return [lowered(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {key: _less(value) if key in LESS else lowered(value) for key, value in part.items()}


LESS = {"mu", "epsilon", "a", "s", "failure"}


def _less(value: Any) -> Any:
    if isinstance(value, list):
        return [_less(item) for item in value]
    return 0.999 * value if isinstance(value, float) else value


def shrunk(amounts: list[float]) -> list[float]:
    return [0.99 * amount for amount in amounts]


@every_case
def test_a_better_number_is_refused(certificate: Certificate) -> None:
    document = json.loads(certificate.to_json())
    refused(document, lowered, "tradeoff")
    refused(document, lambda _: {"type": "gaussian", "mu": 1e-3}, "tradeoff")


@every_case
def test_a_proof_that_is_changed_or_missing_is_refused(certificate: Certificate) -> None:
    document = json.loads(certificate.to_json())
    proofs = document["proofs"]
    spare = proofs[0] if proofs else {"tau": 1, "groups": [], "split": None, "cap": None}
    refused(document, lambda known: [*known, spare], "proofs")
    if not proofs:
        return
    refused(document, lambda _: [], "proofs")
    if "shifts" in spare:
        refused(document, shrunk, "proofs", 0, "shifts", "amount")
        refused(document, lambda mu: 0.99 * mu, "proofs", 0, "shifts", "mu")
    elif "segments" in spare:
        refused(document, shrunk, "proofs", 0, "segments", 0, "amount")
        refused(document, lambda known: known[1:], "proofs", 0, "segments")
    elif "theorem" in spare:
        refused(document, lambda _: "Theorem B1", "proofs", 0, "theorem")
        refused(document, lambda known: known[1:], "proofs", 0, "proofs")
        refused(document, shrunk, "proofs", 0, "proofs", 0, "shifts", "amount")
    elif "revealed" in spare:
        refused(document, shrunk, "proofs", 0, "mu")
        refused(document, lambda _: 3, "proofs", 0, "cap")
        refused(document, lambda known: not known, "proofs", 0, "revealed")
        refused(document, lambda known: known + 1, "proofs", 0, "followed")
        refused(document, lambda known: 1000 * known, "proofs", 0, "grid", "cells")
        refused(document, lambda known: known[:1], "proofs", 0, "grid", "slopes")
    elif "tau" in spare:
        refused(document, lambda tau: tau + 1, "proofs", 0, "tau")
        refused(document, lambda _: 3, "proofs", 0, "cap")
        if "split" in spare:
            refused(document, lambda split: 1.5 if split is None else None, "proofs", 0, "split")
        else:
            refused(document, shrunk, "proofs", 0, "values")
            refused(document, lambda known: 1000 * known, "proofs", 0, "grid", "cells")
        refused(document, lambda groups: [[0.0, 1], *groups], "proofs", 0, "groups")
    else:  # a proof of another form: each of its numbers counts
        numbers = [name for name, value in spare.items() if isinstance(value, (int, float))]
        assert numbers
        for name in numbers:
            refused(document, lambda known: 0.99 * known, "proofs", 0, name)


@every_theorem
def test_another_theorem_does_not_take_its_proof(theorem: Theorem) -> None:
    certificate = certificate_by(theorem.name)
    for other in THEOREMS:
        composed = "composition" in (other.family, theorem.family)
        if (composed and other is not theorem) or not other.applies_to(certificate.run):
            with pytest.raises(VerificationFailed):
                replace(certificate, bound=other.name).verify()


@every_theorem
def test_it_is_never_better_than_what_some_losses_attain(theorem: Theorem) -> None:
    certificate = certificate_by(theorem.name)
    lower = certificate.lower_mu
    if lower is not None:
        attained = GaussianTradeoff(lower)
        for epsilon in (0.0, 0.5, 2.0):
            assert certificate.delta(epsilon) >= attained.delta(epsilon) * (1 - 1e-11)


def test_a_lower_bound_is_known_for_some() -> None:
    own = [theorem for theorem in THEOREMS if not hasattr(theorem, "base")]
    known = [theorem for theorem in own if certificate_by(theorem.name).lower_mu is not None]
    assert len(known) >= 6


@every_theorem
def test_what_is_missing_is_named_with_its_remedy(theorem: Theorem) -> None:
    run, _ = CATALOGUE[theorem.name]
    rough = Geometry(
        strong_convexity=-math.inf, smoothness=math.inf, sensitivity=1.0, gradient_bound=1.0
    )
    if getattr(theorem, "sampling", None) == "random_allocation":
        rough = replace(rough, adjacency="zero_out")
    if not theorem.contracts:
        assert bound_by(theorem, run, rough, 1e-5).f.delta(0.5) < 1.0
        return
    with pytest.raises(UnmetHypothesis) as caught:
        bound_by(theorem, run, rough, 1e-5)
    assert caught.value.name in ("strong_convexity", "smoothness", "diameter")
    assert caught.value.remedy


@every_theorem
def test_it_is_checked_without_a_search(theorem: Theorem, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = certificate_by(theorem.name)
    searches = {
        descent: ("solve", "proofs_of", "optimal_shifts", "optimal_shifts_periodic"),
        closed_forms: ("proofs_of",),
        composition: ("composed_guess",),
        shifted: ("best_groups",),
        paper: ("best_split",),
    }
    for module, names in searches.items():
        for name in names:
            monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("it was searched"))
    certificate.verify()
