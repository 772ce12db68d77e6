"""A certificate is checked without the solver, and fails when anything in it was changed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings

from shiftdp import InvalidInput, VerificationFailed
from shiftdp.last_iterate import Certificate, Geometry, NoisyCGD, NoisyGD, certify
from shiftdp.last_iterate.certify import evaluate
from tests.last_iterate.every_kind import CERTIFICATES, proofs_in
from tests.last_iterate.random_runs import BOUNDS, ORDERS, Setting, settings_of

Document = dict[str, Any]
Forgery = Callable[[Document], object]


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_every_kind_is_verified_from_its_json(cert: Certificate) -> None:
    cert.verify()
    Certificate.from_json(cert.to_json()).verify()


@settings(max_examples=150)
@given(settings_of())
def test_every_certificate_of_a_random_run_is_verified(setting: Setting) -> None:
    for bounds in BOUNDS:
        certify(*setting, bounds=bounds).verify()


def refuse(cert: Certificate, forge: Forgery) -> None:
    document = json.loads(cert.to_json())
    forge(document)
    with pytest.raises((VerificationFailed, InvalidInput)):
        Certificate.from_json(json.dumps(document)).verify()


def refuse_with(cert: Certificate, *path: Any) -> None:
    """Refuse the document with one entry replaced; the last of `path` says by what."""
    *way, name, change = path

    def forge(document: Any) -> None:
        for step in way:
            document = document[step]
        document[name] = change(document[name]) if callable(change) else change

    refuse(cert, forge)


def times(factor: float) -> Callable[[Any], Any]:
    return lambda x: [y * factor for y in x] if isinstance(x, list) else x * factor


BY_SHIFTS = {name: cert for name, cert in CERTIFICATES.items() if cert.proofs}
BY_FORMULA = {name: cert for name, cert in CERTIFICATES.items() if not cert.proofs}
MIXED = {name: cert for name, cert in BY_SHIFTS.items() if cert.mu is None}
COMPOSED = {name: cert for name, cert in BY_FORMULA.items() if cert.bound.endswith("composition)")}


def lowered(part: Document) -> None:
    if part["type"] == "gaussian":
        part["mu"] *= 0.999
    elif part["type"] == "approx_dp":
        part["epsilon"] *= 0.999
    else:
        for component in part["components"]:
            lowered(component)


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_a_better_tradeoff_is_refused(cert: Certificate) -> None:
    def forge(document: Document) -> None:
        lowered(document["tradeoff"])
        if document["mu"] is not None:
            document["mu"] = document["tradeoff"]["mu"]

    refuse(cert, forge)
    refuse(cert, lambda document: document.update(tradeoff={"type": "gaussian", "mu": 1e-3}))
    refuse(
        cert,
        lambda document: document.update(mu=1e-3, tradeoff={"type": "gaussian", "mu": 1e-3}),
    )
    refuse(
        cert,
        lambda document: document.update(
            mu=None, tradeoff={"type": "approx_dp", "epsilon": 0.1, "delta": 0.0}
        ),
    )


@pytest.mark.parametrize("cert", MIXED.values(), ids=MIXED.keys())
def test_not_even_the_last_digits_of_a_component_may_be_lowered(cert: Certificate) -> None:
    for i in range(len(cert.proofs)):
        refuse_with(cert, "tradeoff", "components", i, "mu", times(1 - 1e-14))


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_a_worse_tradeoff_is_not_this_certificate_either(cert: Certificate) -> None:
    refuse(
        cert,
        lambda document: document.update(mu=1e3, tradeoff={"type": "gaussian", "mu": 1e3}),
    )


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_the_headline_must_agree_with_the_tradeoff(cert: Certificate) -> None:
    refuse(cert, lambda document: document.update(mu=0.5))
    refuse(cert, lambda document: document.update(kind="estimate"))


@pytest.mark.parametrize("cert", BY_SHIFTS.values(), ids=BY_SHIFTS.keys())
def test_altered_shifts_are_refused(cert: Certificate) -> None:
    assert all(proof.shifts.mu > 0.0 for proof in proofs_in(cert))
    for i in range(len(cert.proofs)):
        for factor in (0.99, 1.01):
            refuse_with(cert, "proofs", i, "shifts", "mu", times(factor))
            refuse_with(cert, "proofs", i, "shifts", "amount", times(factor))
            refuse_with(cert, "proofs", i, "weight", times(factor))
        refuse_with(cert, "proofs", i, "shifts", "last", lambda last: [k - 1 for k in last])
        refuse_with(cert, "proofs", i, "shifts", "tau", lambda tau: tau + 1)
        refuse_with(cert, "proofs", i, "position", lambda j: j + 1)
        refuse_with(cert, "proofs", i, "pattern", "worst")
    refuse_with(cert, "proofs", lambda proofs: proofs[:-1])
    refuse_with(cert, "proofs", lambda proofs: [*proofs, proofs[0]])


@pytest.mark.parametrize("cert", MIXED.values(), ids=MIXED.keys())
def test_altered_weights_are_refused(cert: Certificate) -> None:
    def favour_the_first(document: Document) -> None:
        weights = document["tradeoff"]["weights"]
        weights[0] += 0.5 * weights[-1]
        weights[-1] *= 0.5

    refuse(cert, favour_the_first)
    refuse(cert, lambda document: document["tradeoff"]["weights"].reverse())

    def consistently(document: Document) -> None:
        favour_the_first(document)
        for proof, weight in zip(document["proofs"], document["tradeoff"]["weights"], strict=True):
            proof["weight"] = weight

    refuse(cert, consistently)


RUN_FORGERIES: list[tuple[str, Callable[[Any], Any]]] = [
    *(("noise", times(factor)) for factor in (0.5, 0.999, 1.001, 2.0)),
    ("learning_rate", times(0.9)),
    ("n", lambda n: 2 * n),
    ("n", lambda n: n // 2),
    ("steps", lambda t: t + 1),
    ("steps", lambda t: t - 1),
]


@pytest.mark.parametrize(
    "cert",
    [cert for cert in BY_SHIFTS.values() if isinstance(cert.run, (NoisyGD, NoisyCGD))],
    ids=[name for name, c in BY_SHIFTS.items() if isinstance(c.run, (NoisyGD, NoisyCGD))],
)
def test_another_run_is_refused(cert: Certificate) -> None:
    for name, forge in RUN_FORGERIES:
        refuse_with(cert, "run", name, forge)
    if isinstance(cert.run, NoisyCGD):
        for order in set(ORDERS) - {cert.run.order}:
            refuse_with(cert, "run", "order", order)


@pytest.mark.parametrize("cert", COMPOSED.values(), ids=COMPOSED.keys())
def test_another_run_is_refused_for_composition(cert: Certificate) -> None:
    for factor in (0.5, 0.999, 2.0):
        if "noise" in json.loads(cert.to_json())["run"]:
            refuse_with(cert, "run", "noise", times(factor))
        refuse_with(cert, "geometry", "sensitivity", times(factor))


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_other_losses_are_refused(cert: Certificate) -> None:
    refuse_with(cert, "geometry", "sensitivity", times(0.99))
    refuse_with(cert, "geometry", "sensitivity", times(1.01))
    if not cert.bound.endswith("(composition)"):
        refuse_with(cert, "geometry", "strong_convexity", 0.5)
        refuse_with(cert, "geometry", "smoothness", 1.9)
    if isinstance(cert.run, (NoisyGD, NoisyCGD)):
        others = {"replace_one", "zero_out"} - {cert.geometry.adjacency}
        refuse_with(cert, "geometry", "adjacency", others.pop())


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_hypotheses_cannot_be_dropped_or_softened(cert: Certificate) -> None:
    for index in range(len(cert.assumptions)):
        refuse_with(cert, "assumptions", index, "statement", "never mind")
        refuse_with(cert, "assumptions", lambda items, i=index: items[:i] + items[i + 1 :])


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_another_theorem_is_refused(cert: Certificate) -> None:
    true = {bound.name for bound in evaluate(cert.run, cert.geometry).found}
    names = {"Theorem B1", "Theorem B4", "Thm gd-sc", "Thm mgd-proj", "Prop lmc", "Folklore", ""}
    for name in names - true:
        refuse_with(cert, "bound", name)


def test_an_endless_chain_has_no_shifts() -> None:
    cert = CERTIFICATES["langevin strong inf"]
    refuse(cert, lambda document: document["run"].update(steps="inf"))


@pytest.mark.parametrize("cert", BY_SHIFTS.values(), ids=BY_SHIFTS.keys())
def test_a_certificate_without_its_proofs_is_not_taken_at_its_word(cert: Certificate) -> None:
    refuse(cert, lambda document: document.update(proofs=[]))


def test_a_bare_certificate_object_is_checked_as_well() -> None:
    geometry = Geometry(strong_convexity=0.3, smoothness=2.0, sensitivity=2.0)
    honest = certify(NoisyGD(n=9, steps=12, learning_rate=0.4, noise=0.7), geometry)
    other = certify(NoisyGD(n=9, steps=12, learning_rate=0.4, noise=1.4), geometry)
    swapped = Certificate(
        honest.run, geometry, honest.bound, other.f, honest.assumptions, other.proofs
    )
    with pytest.raises(VerificationFailed):
        swapped.verify()
    assert math.isclose((other.mu or 0) * 2, honest.mu or 0, rel_tol=1e-9)
