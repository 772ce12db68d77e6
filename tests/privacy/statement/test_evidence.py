"""How hypotheses are known."""

from dataclasses import replace

import pytest

from shiftdp.last_iterate import Certificate, NoisyGD
from shiftdp.last_iterate.assumptions import Assumption, seeded_noise, trusted_theorem
from shiftdp.privacy.statement.evidence import MEANINGS, standing
from shiftdp.training import Logistic, Plan
from tests.privacy.statement.examples import certificates


def known(certificate: Certificate) -> dict[str, str]:
    return {item.name: standing(item, certificate) for item in certificate.assumptions}


def of(kind: str) -> Certificate:
    found = certificates()[kind]
    assert isinstance(found, Certificate)
    return found


def test_what_is_only_declared_is_called_so() -> None:
    assert known(of("gd")) == {
        "losses": "declared", "sensitivity": "declared", "adjacency": "definition",
        "batches": "declared", "noise": "declared", "hidden iterates": "conduct",
    }  # fmt: skip


def test_a_training_record_is_evidence() -> None:
    run = NoisyGD(n=20, steps=5, learning_rate=0.5, noise=1.0)
    plan = Plan(run=run, loss=Logistic(), feature_bound=1.0, l2=0.1)
    found = known(plan.certificate)
    assert found["losses"] == found["sensitivity"] == "checked"
    assert found["noise"] == found["batches"] == "by the loop"
    record = plan.certificate.training
    assert record is not None
    foreign = replace(plan.certificate, training=replace(record, loss="Own"))
    assert known(foreign)["losses"] == "declared"


def test_a_loop_that_is_watched() -> None:
    found = known(of("opacus"))
    assert found["batches"] == "watched"
    assert found["records"] == found["losses"] == "declared"


@pytest.mark.parametrize(
    ("item", "worth"),
    [(seeded_noise(), "void"), (trusted_theorem("mine", "[me]"), "declared"),
     (Assumption("batch cap", ""), "definition"), (Assumption("new", ""), "declared")],
)  # fmt: skip
def test_what_is_not_usual(item: Assumption, worth: str) -> None:
    assert standing(item, of("gd")) == worth
    assert MEANINGS[standing(item, of("gd"))]
