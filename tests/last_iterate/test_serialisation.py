"""Certificates as JSON: nothing is lost, nothing is believed."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from shiftdp import InvalidInput
from shiftdp.last_iterate import Certificate
from shiftdp.last_iterate.serialisation import FORMAT
from tests.last_iterate.every_kind import CERTIFICATES

every_kind = pytest.mark.parametrize("cert", CERTIFICATES.values(), ids=CERTIFICATES.keys())


@every_kind
def test_round_trip(cert: Certificate) -> None:
    text = cert.to_json()
    twin = Certificate.from_json(text)
    assert twin.to_json() == text
    assert Certificate.from_json(cert.to_json(indent=2)).to_json() == text
    assert twin == cert
    assert hash(twin) == hash(cert)
    assert twin.run == cert.run
    assert twin.geometry == cert.geometry
    assert twin.f == cert.f
    assert twin.assumptions == cert.assumptions
    assert twin.statement() == cert.statement()
    cert.epsilon(1e-5)  # what was asked before does not matter
    assert twin.epsilon(1e-7) == cert.epsilon(1e-7)


@every_kind
def test_it_is_plain_json(cert: Certificate) -> None:
    def refuse(word: str) -> None:
        pytest.fail(f"{word} is not JSON")

    document = json.loads(cert.to_json(), parse_constant=refuse)
    assert document["format"] == FORMAT
    assert document["kind"] == "certified"
    assert document["bound"] == cert.bound
    assert document["mu"] == cert.mu
    assert document["run"]["type"] == type(cert.run).__name__
    if cert.geometry.diameter == math.inf:
        assert document["geometry"]["diameter"] == "inf"


GOOD = json.loads(CERTIFICATES["cgd strong 0.5 shuffled_once"].to_json())


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key != name}


MALFORMED: dict[str, Any] = {
    "nothing": "",
    "no JSON": "{",
    "a number": "3",
    "a list": "[]",
    "a string": '"certificate"',
    "null": "null",
    "an empty object": "{}",
    "endless nesting": "[" * 100_000,
    **{f"no {name}": json.dumps(without(name)) for name in GOOD},
    "another format": json.dumps({**GOOD, "format": "shiftdp-certificate/0"}),
    "an unknown run": json.dumps({**GOOD, "run": {"type": "NoisyZGD"}}),
    "a run of a strange type": json.dumps({**GOOD, "run": {"type": ["NoisyGD"]}}),
    "a run without parts": json.dumps({**GOOD, "run": {"type": "NoisyGD"}}),
    "a run with more parts": json.dumps({**GOOD, "run": {**GOOD["run"], "seed": 1}}),
    "no batch": json.dumps({**GOOD, "run": {**GOOD["run"], "batch_size": 0}}),
    "endless records": json.dumps({**GOOD, "run": {**GOOD["run"], "n": "inf"}}),
    "noise NaN": json.dumps({**GOOD, "run": {**GOOD["run"], "noise": math.nan}}),
    "a geometry of lists": json.dumps({**GOOD, "geometry": []}),
    "m above M": json.dumps({**GOOD, "geometry": {**GOOD["geometry"], "strong_convexity": 5}}),
    "no function": json.dumps({**GOOD, "tradeoff": {"type": "perfect"}}),
    "mu of letters": json.dumps({**GOOD, "tradeoff": {"type": "gaussian", "mu": "one"}}),
    "mu negative": json.dumps({**GOOD, "tradeoff": {"type": "gaussian", "mu": -1}}),
    "too few weights": json.dumps({**GOOD, "tradeoff": {**GOOD["tradeoff"], "weights": [1.0]}}),
    "assumptions of words": json.dumps({**GOOD, "assumptions": ["trust me"]}),
    "proofs of words": json.dumps({**GOOD, "proofs": ["obvious"]}),
    "a proof without shifts": json.dumps(
        {**GOOD, "proofs": [{"pattern": "every", "position": 1, "weight": 1.0}]}
    ),
    "a position of letters": json.dumps(
        {**GOOD, "proofs": [{**GOOD["proofs"][0], "position": "first"}]}
    ),
    "a position without end": json.dumps(
        {**GOOD, "proofs": [{**GOOD["proofs"][0], "position": "inf"}]}
    ),
    "a weight of letters": json.dumps({**GOOD, "proofs": [{**GOOD["proofs"][0], "weight": "w"}]}),
    "shifts of nothing": json.dumps({**GOOD, "proofs": [{**GOOD["proofs"][0], "shifts": {}}]}),
    "bytes": b"\xff",
    "no text": None,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_text_is_one_clear_error(text: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        Certificate.from_json(text)
    assert caught.value.remedy
    assert len(str(caught.value)) < 500


def test_the_text_of_a_run_without_proofs_is_short() -> None:
    assert len(CERTIFICATES["exponential inf"].to_json()) < 1500
    # equal steps: blocks, not one shift a step
    assert len(CERTIFICATES["gd strong inf"].to_json()) < 2500
