"""The certificate of a pipeline: the product of its steps, as JSON, verified, in a ledger."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from shiftdp import (
    BudgetExceeded,
    Certificate,
    Geometry,
    InvalidInput,
    Ledger,
    NoisyGD,
    NoisySGD,
    Unlearning,
    VerificationFailed,
    certify,
)
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.pipeline_certificate import PipelineCertificate

SUMS = (
    NoisySum(kind="moments", column="age", noise=20.0),
    NoisySum(kind="categories", column="city", noise=20.0, threshold=140.0),
)


def model(sensitivity: float = 2.0, **geometry: object) -> Certificate:
    run = NoisyGD(n=100, steps=50, learning_rate=0.1, noise=0.4)
    made = Geometry(strong_convexity=1, smoothness=10, sensitivity=sensitivity, **geometry)  # type: ignore[arg-type]
    return certify(run, made)


def whole(**changes: object) -> PipelineCertificate:
    made = PipelineCertificate(n=100, adjacency="replace_one", sums=SUMS, model=model())
    return replace(made, **changes)  # type: ignore[arg-type]


def test_gaussian_steps_are_composed_exactly() -> None:
    made = whole(sums=SUMS[:1])
    assert made.mu == pytest.approx((0.1**2 + model().mu ** 2) ** 0.5, rel=1e-12)  # type: ignore[operator]
    assert made.epsilon(1e-5) > model().epsilon(1e-5)


def test_failures_are_part_of_delta() -> None:
    made = whole()
    _, failure = made.preparation.split_failure()
    assert failure > 0.0
    assert made.f == made.preparation.compose(model().f)
    assert made.epsilon(failure / 2) == float("inf")


def test_a_public_preparation_costs_nothing_and_says_so() -> None:
    made = whole(sums=())
    assert made.f == model().f
    assert made.epsilon(1e-5) == model().epsilon(1e-5)
    assert "costs nothing" in made.statement(delta=1e-5)


def test_steps_that_are_not_gaussian_are_composed_too() -> None:
    run = NoisySGD(n=100, batch_size=10, steps=20, learning_rate=0.1, noise=2.0)
    sampled = certify(run, Geometry(strong_convexity=1, smoothness=10, sensitivity=2))
    made = whole(model=sampled)
    assert made.mu is None
    assert made.epsilon(1e-5) > max(sampled.epsilon(1e-5), whole(model=None).epsilon(1e-5))


def test_it_survives_json_and_is_verified() -> None:
    made = whole()
    again = PipelineCertificate.from_json(made.to_json())
    assert again.to_json() == made.to_json()
    assert again.epsilon(1e-5) == made.epsilon(1e-5)
    again.verify()


@pytest.mark.parametrize(
    "changes",
    [
        {"private": False},
        {"n": 99},
        {"adjacency": "zero_out"},
    ],
)
def test_parts_that_do_not_belong_together_are_not_verified(changes: dict[str, object]) -> None:
    with pytest.raises(VerificationFailed):
        whole(**changes).verify()


@pytest.mark.parametrize("k", [1, 2])
def test_a_model_of_people_or_of_a_deletion_is_not_verified(k: int) -> None:
    run = NoisyGD(n=100, steps=50, learning_rate=0.1, noise=0.4, records_per_person=k)
    asked = run if k > 1 else Unlearning(training=run, further_steps=5)
    certificate = certify(asked, model().geometry)
    certificate.verify()
    with pytest.raises(VerificationFailed, match="one record a person"):
        whole(model=certificate).verify()


def test_a_forged_model_is_not_verified() -> None:
    document = json.loads(whole().to_json())
    document["model"]["mu"] = document["model"]["tradeoff"]["mu"] = 0.01
    with pytest.raises(VerificationFailed):
        PipelineCertificate.from_json(json.dumps(document)).verify()


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"format": "shiftdp-pipeline/1"}', "nonsense"],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="certificate="):
        PipelineCertificate.from_json(text)


def test_an_unknown_field_is_refused() -> None:
    document = json.loads(whole().to_json())
    with pytest.raises(InvalidInput):
        PipelineCertificate.from_json(json.dumps({**document, "more": 1}))
    document["sums"][0]["mu"] = 0.1
    with pytest.raises(InvalidInput):
        PipelineCertificate.from_json(json.dumps(document))


def test_a_ledger_charges_a_pipeline_once_and_verifies_it(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "study", epsilon=3.0, delta=1e-5)
    entry = ledger.reserve(whole(), label="pipeline")
    assert entry.source == "pipeline"
    assert ledger.epsilon() == pytest.approx(whole().epsilon(1e-5), rel=1e-9)
    (stored,) = (one.certificate for one in ledger.entries())
    assert stored is not None
    assert stored.to_json() == whole().to_json()
    ledger.verify()
    Ledger.verify_json(ledger.to_json())
    assert "noisy sums and NoisyGD" in str(ledger)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(whole(model=model(40.0)))
    with pytest.raises(VerificationFailed):
        ledger.reserve(whole(private=False))
    assert len(ledger.entries()) == 1


def test_the_statement_names_every_sum() -> None:
    text = whole().statement(delta=1e-5)
    assert "moments of 'age'" in text
    assert "released from 140 records on" in text
    assert "NOT PRIVATE" in whole(private=False).statement(delta=1e-5)
