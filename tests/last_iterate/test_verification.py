"""A certificate is checked without the solver, and fails when anything in it was changed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings

from shiftdp import GaussianTradeoff, InvalidInput, VerificationFailed
from shiftdp.fdp import Mixture
from shiftdp.interpolation.shifts import frozen_shifts
from shiftdp.interpolation.verification import proved_mu
from shiftdp.last_iterate import Certificate, Geometry, LangevinMC, NoisyCGD, NoisyGD, certify
from shiftdp.last_iterate.certification import Bounds, evaluate
from shiftdp.last_iterate.endless import stand_in
from shiftdp.last_iterate.runs import Order
from shiftdp.last_iterate.schedules.visits import Visits, schedules_of
from tests.last_iterate.every_kind import CERTIFICATES, CGD, STRONG, proofs_in
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


def visited(cert: Certificate) -> list[int]:
    """The proofs of outcomes in which the record is used; one that is always dropped costs 0."""
    proofs = list(enumerate(proofs_in(cert)))
    assert all(proof.shifts.mu > 0.0 for _, proof in proofs if proof.visits != Visits("every", 0))
    return [i for i, proof in proofs if proof.shifts.mu > 0.0]


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
    for i in visited(cert):
        refuse_with(cert, "tradeoff", "components", i, "mu", times(1 - 1e-14))


GAUSSIAN = {name: cert for name, cert in CERTIFICATES.items() if cert.mu}


@pytest.mark.parametrize("cert", GAUSSIAN.values(), ids=GAUSSIAN.keys())
def test_mu_may_not_be_lowered_by_its_last_digit(cert: Certificate) -> None:
    """Alone it contradicts the shifts; together with them it is held to what they prove."""
    assert cert.mu is not None
    for mu in (math.nextafter(cert.mu, 0.0), cert.mu * (1 - 9e-12)):
        lowered = replace(cert, f=GaussianTradeoff(mu))
        with pytest.raises(VerificationFailed):
            lowered.verify()


@pytest.mark.parametrize("cert", BY_SHIFTS.values(), ids=BY_SHIFTS.keys())
def test_shifts_may_not_state_less_than_they_prove_however_little(cert: Certificate) -> None:
    run: Any = cert.run if isinstance(cert.run, (NoisyGD, NoisyCGD)) else _as_descent(cert)
    cases = [proof.visits for proof in proofs_in(cert)]
    schedules = list(schedules_of(run, cert.geometry, cases))
    for i in visited(cert):
        proof = proofs_in(cert)[i]
        proved = proved_mu(schedules[i], proof.shifts)
        lower = replace(proof, shifts=replace(proof.shifts, mu=math.nextafter(proved, 0.0)))
        proofs = (*cert.proofs[:i], lower, *cert.proofs[i + 1 :])
        with pytest.raises(VerificationFailed):
            replace(cert, proofs=proofs).verify()


def _as_descent(cert: Certificate) -> Any:
    assert isinstance(cert.run, LangevinMC)
    descent = cert.run.as_descent(cert.run.steps)
    return stand_in(descent, cert.geometry) if descent.endless else descent


def test_weights_may_not_favour_private_positions_by_their_last_digit() -> None:
    cert = CERTIFICATES["cgd strong inf shuffled_once"]
    assert isinstance(cert.f, Mixture)
    cert.verify()
    for change in (1e-9, 1e-12, 2.0**-53):
        weights = list(cert.f.weights)
        weights[0] += change
        weights[-1] -= change
        assert weights != list(cert.f.weights)
        proofs = [
            replace(proof, weight=w) for proof, w in zip(proofs_in(cert), weights, strict=True)
        ]
        f = Mixture(cert.f.components, weights)
        for forged in (replace(cert, f=f), replace(cert, f=f, proofs=tuple(proofs))):
            with pytest.raises(VerificationFailed):
                forged.verify()


@pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())
def test_a_name_that_looks_like_a_theorem_is_none(cert: Certificate) -> None:
    for name in ("x (composition)", f"{cert.bound} ", f" {cert.bound}", "Theorem B11", "Theorem B"):
        with pytest.raises(VerificationFailed):
            replace(cert, bound=name).verify()


@pytest.mark.parametrize("name", ["exponential inf", "exponential 0.5", "stationary 0.5"])
def test_the_adjacency_of_a_sampler_is_part_of_what_is_assumed(name: str) -> None:
    cert = CERTIFICATES[name]
    with pytest.raises(VerificationFailed):
        replace(cert, geometry=replace(cert.geometry, adjacency="zero_out")).verify()


LONG = 2**53 - 1


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gd convex 0.5", {"steps": LONG}),
        ("gd strong inf", {"steps": LONG}),
        ("gd weak 0.5", {"steps": LONG}),
        ("gd weak inf", {"steps": LONG}),
        ("langevin convex 0.5", {"steps": LONG}),
        ("cgd strong 0.5 shuffled_once", {"n": LONG, "batch_size": 1}),
        ("cgd weak 0.5 shuffled_once", {"n": LONG, "batch_size": 1}),
        ("cgd weak inf fixed", {"n": LONG, "batch_size": 1}),
        ("cgd weak inf reshuffled", {"steps": LONG}),
        ("cgd weak 0.5 reshuffled", {"steps": LONG}),
        ("cgd fixed paper inf", {"n": LONG, "batch_size": 1}),
        ("cgd fixed composition inf", {"n": LONG, "batch_size": 1}),
        ("per step reshuffled", {"n": LONG, "batch_size": 1}),
        ("per step fixed", {"n": LONG, "batch_size": 1}),
    ],
)
def test_runs_of_any_length_are_refused_at_once(name: str, change: dict[str, Any]) -> None:
    """Blocks that reach to the end of the longest run that can be counted, and starts within it."""
    cert = CERTIFICATES[name]
    run = type(cert.run)(**{**vars(cert.run), **change})
    with pytest.raises(VerificationFailed):
        replace(cert, run=run).verify()
    steps = cast(Any, run).steps
    stretched = []
    for proof in proofs_in(cert):
        shifts = proof.shifts
        for tau, start in ((shifts.tau, shifts.start), (steps // 2, 1e-3), (steps // 2, 1e9)):
            amount = shifts.amount[-1:]
            blocks = ([tau + 1], [steps], [steps])
            stretched.append(
                replace(proof, shifts=frozen_shifts(tau, start, blocks, amount, shifts.mu))
            )
    for proof in stretched:
        with pytest.raises(VerificationFailed):
            replace(cert, run=run, proofs=(proof,) * len(cert.proofs)).verify()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("m", [0.0, 1e-9, 0.5])
@pytest.mark.parametrize("steps", [10**9, 2**52, math.inf])
def test_long_runs_are_certified_and_verified_in_no_time(
    order: Order, m: float, steps: float
) -> None:
    geometry = Geometry(strong_convexity=m, smoothness=2.0, sensitivity=1.0, diameter=30.0)
    run = NoisyCGD(n=40, batch_size=4, steps=steps, learning_rate=0.5, noise=1.0, order=order)
    cert = certify(run, geometry)
    assert cert.bound in ("Theorem B1", "Theorem B4")
    cert.verify()


@pytest.mark.parametrize("noise", [1e-170, 1e-100, 1e-3, 1e3, 1e100])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_edges_of_the_range_are_certified_and_verified_or_refused(
    noise: float, bounds: Bounds, order: Order
) -> None:
    try:
        run = NoisyCGD(**{**CGD, "noise": noise}, order=order)
    except InvalidInput:
        return
    certify(run, Geometry(**STRONG), bounds=bounds).verify()


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
    for i in visited(cert):
        for factor in (0.99, 1.01):
            refuse_with(cert, "proofs", i, "shifts", "mu", times(factor))
            refuse_with(cert, "proofs", i, "shifts", "amount", times(factor))
            refuse_with(cert, "proofs", i, "weight", times(factor))
        refuse_with(cert, "proofs", i, "shifts", "last", lambda last: [k - 1 for k in last])
        refuse_with(cert, "proofs", i, "shifts", "tau", lambda tau: tau + 1)
        refuse_with(cert, "proofs", i, "position", lambda j: j + 1)
        refuse_with(cert, "proofs", i, "pattern", "worst")
        refuse_with(cert, "proofs", i, "first", 1)
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
