"""The published schema, the reader, and a validator that others use say the same."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from shiftdp import Geometry, InvalidInput, NoisySGD, certify
from shiftdp._strict_json import Malformed, mismatch, parse
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.certificate_schema import SCHEMA, written
from shiftdp.training import Logistic, Plan, Softmax
from shiftdp.training.descent.projection import Ball
from tests.last_iterate.every_kind import CERTIFICATES
from tests.last_iterate.mutations import mutated, paths

jsonschema = pytest.importorskip("jsonschema")
PUBLISHED = Path(__file__).parents[2] / "docs" / "certificate.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RUN = next(cert.run for cert in CERTIFICATES.values() if type(cert.run).__name__ == "NoisyCGD")


def _trained() -> dict[str, Certificate]:
    plans = (
        Plan(run=RUN, loss=Logistic(), feature_bound=1.0, l2=0.1),  # type: ignore[arg-type]
        Plan(
            run=RUN,  # type: ignore[arg-type]
            loss=Softmax(classes=3),
            feature_bound=1.0,
            clipping="envelope",
            clip=0.5,
            projection=Ball(2.0),
            features=4,
        ),
    )
    return {f"trained {i}": plan.certificate for i, plan in enumerate(plans)}


KINDS = {**CERTIFICATES, **_trained()}


def test_the_published_schema_is_the_one_that_is_read_by() -> None:
    """If it is not: write shiftdp.last_iterate.certificate_schema.written() to it."""
    assert PUBLISHED.read_text(encoding="utf-8") == written()
    jsonschema.Draft202012Validator.check_schema(json.loads(written()))


@pytest.mark.parametrize("cert", KINDS.values(), ids=KINDS.keys())
def test_every_kind_of_certificate_meets_the_schema(cert: Certificate) -> None:
    document = json.loads(cert.to_json())
    VALIDATOR.validate(document)
    assert mismatch(document, SCHEMA, SCHEMA) is None
    assert Certificate.from_json(cert.to_json()).to_json() == cert.to_json()


def test_reader_and_schema_agree_on_edited_documents() -> None:
    rng = random.Random(3)
    agreed = {True: 0, False: 0}
    for cert in KINDS.values():
        document = json.loads(cert.to_json())
        places = paths(document)
        for _ in range(12):
            text = mutated(document, rng, places, 1)
            try:
                changed = parse(text)
            except Malformed:
                continue
            valid = VALIDATOR.is_valid(changed)
            assert (mismatch(changed, SCHEMA, SCHEMA) is None) is valid, text[:2000]
            agreed[valid] += 1
            if not valid:
                with pytest.raises(InvalidInput):
                    Certificate.from_json(text)
    assert min(agreed.values()) > 50


GOOD = CERTIFICATES["cgd strong 0.5 shuffled_once"].to_json()


def changed(**fields: Any) -> str:
    return json.dumps({**json.loads(GOOD), **fields})


def inside(part: str, **fields: Any) -> str:
    document = json.loads(GOOD)
    document[part] = {**document[part], **fields}
    return json.dumps(document)


def in_shifts(**fields: Any) -> str:
    document = json.loads(GOOD)
    document["proofs"][0]["shifts"].update(fields)
    return json.dumps(document)


LAX = {
    "a key twice": GOOD[:-1] + ', "bound": "Theorem B4"}',
    "a key twice inside": GOOD.replace('"n": 11', '"n": 11, "n": 11'),
    "an unknown field": changed(comment="trust me"),
    "an unknown field of the run": inside("run", seed=1),
    "an unknown field of the losses": inside("geometry", note="x"),
    "full-width digits": GOOD.replace('"position": 1', '"position": "\uff11"'),
    "digits in a string": GOOD.replace('"position": 1', '"position": "1"'),
    "a number in a string": inside("run", noise="0.7"),
    "a truth value for a count": inside("run", n=True),
    "a truth value for a number": inside("geometry", sensitivity=True),
    "a fractional end of a block": in_shifts(last=[17.5]),
    "a fractional tau": in_shifts(tau=0.5),
    "a fractional position": GOOD.replace('"position": 1', '"position": 1.5'),
    "Infinity": GOOD.replace('"noise": 0.7', '"noise": Infinity'),
    "NaN": GOOD.replace('"noise": 0.7', '"noise": NaN'),
    "a number beyond floats": GOOD.replace('"noise": 0.7', '"noise": 1e999'),
    "a number that vanishes": GOOD.replace('"noise": 0.7', '"noise": 1e-999'),
    "a whole number without end": GOOD.replace('"n": 11', '"n": 1' + "0" * 4000),
    "more records than can be counted": inside("run", n=2**53 + 1),
    "a list for an object": changed(geometry=[]),
    "lists nested without end": changed(tradeoff=0).replace("0", "[" * 99_999 + "]" * 99_999, 1),
    "functions nested without end": changed(
        tradeoff=json.loads('{"type": "subsampled", "p": 0.5, "base": ' * 60 + "{}" + "}" * 60)
    ),
    "a cap that is no number": changed(
        run={
            "type": "NoisySGD",
            "n": 9,
            "batch_size": 3,
            "steps": 4,
            "learning_rate": 0.1,
            "noise": 1.0,
            "sampling": "poisson",
            "batch_cap": "many",
        }
    ),
    "text after the end": GOOD + "{}",
    "infinity as a word of another kind": inside("geometry", diameter="Infinity"),
    "another kind": changed(kind="estimate"),
}


@pytest.mark.parametrize("text", LAX.values(), ids=LAX.keys())
def test_what_was_read_loosely_is_refused(text: str) -> None:
    assert text != GOOD
    with pytest.raises(InvalidInput) as caught:
        Certificate.from_json(text)
    assert caught.value.remedy
    assert len(str(caught.value)) < 500


def test_an_older_format_is_refused_with_the_remedy() -> None:
    with pytest.raises(InvalidInput, match="certify the run anew"):
        Certificate.from_json(changed(format="shiftdp-certificate/1"))


def test_an_accuracy_finer_than_certify_issues_is_refused() -> None:
    run = NoisySGD(n=100, batch_size=5, steps=100, learning_rate=0.1, noise=0.5)
    geometry = Geometry(strong_convexity=0, smoothness=1, sensitivity=1)
    finest = certify(run, geometry, bounds="composition", accuracy=1e-6)
    text = finest.to_json()
    assert Certificate.from_json(text) == finest
    edited = text.replace('"accuracy": 1e-06', '"accuracy": 1e-09')
    assert edited != text
    with pytest.raises(InvalidInput, match="accuracy"):
        Certificate.from_json(edited)
    with pytest.raises(InvalidInput, match="accuracy"):
        certify(run, geometry, accuracy=1e-9)
    with pytest.raises(InvalidInput, match="order"):
        finest.renyi(1e155)
