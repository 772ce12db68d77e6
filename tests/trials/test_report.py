"""What an audit says in words and in JSON."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from shiftdp.trials.report import AuditReport, Finding

FOUND = Finding("at the bound", 2.14599, 1.5, True, "9/10 against 1/10")
REPORT = AuditReport(
    method="many runs",
    verdict="violated",
    epsilon=2.14599,
    mu=1.5,
    delta=1e-5,
    confidence=0.99,
    certified_epsilon=1.00001,
    certified_mu=0.3,
    runs=2000,
    findings=(FOUND,),
)


def test_the_statement_rounds_what_is_found_down_and_what_is_certified_up() -> None:
    text = str(REPORT)
    assert text.startswith("VIOLATED, with 99% confidence")
    assert "epsilon >= 2.145 at delta = 1e-05" in text
    assert "epsilon 1.0001" in text
    assert "9/10 against 1/10" in text
    assert REPORT.violated


def test_a_certificate_that_survives_is_called_consistent_and_no_more() -> None:
    text = str(replace(REPORT, verdict="consistent", certified_mu=None, runs=1))
    assert text.startswith("consistent: this attack finds no more")
    assert "1 training\n" in text


def test_shared_noise_speaks_of_distances() -> None:
    text = str(replace(REPORT, method="shared noise"))
    assert "further apart than the certificate assumes" in text
    assert "confidence" not in text


def test_json_has_everything_and_no_infinity() -> None:
    document = json.loads(replace(REPORT, certified_epsilon=math.inf).to_json())
    assert document["certified_epsilon"] == "inf"
    assert document["findings"] == [vars(FOUND)]
    assert document["verdict"] == "violated"
