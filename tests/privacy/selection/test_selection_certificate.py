"""The certificate of a search: what a trial costs, what the best of them does, and forgeries."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from shiftdp import BudgetExceeded, GaussianTradeoff, InvalidInput, Ledger, VerificationFailed
from shiftdp.fdp.selection.selected import Selected
from shiftdp.privacy.attack_risk import risk
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.pipeline_certificate import PipelineCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate, worst
from tests.privacy.selection.examples import ACCURACY, TRIALS, fit, search


def test_fit_and_score_are_composed_where_they_share_their_records() -> None:
    mu = fit().mu
    assert mu is not None
    assert search().trial.gdp_mu == pytest.approx((mu**2 + 0.1**2) ** 0.5, rel=1e-12)
    assert search().f == Selected(search().trial, TRIALS.law, TRIALS.rate, TRIALS.shape)


def test_the_worse_of_them_counts_where_records_are_held_out() -> None:
    assert search(n=130, held_out=30).trial.gdp_mu == fit().mu
    loud = NoisySum(kind="gains", column="accuracy", noise=1.0)
    assert search(n=130, held_out=30, score=loud).trial.gdp_mu == 1.0


def test_the_worst_candidate_counts() -> None:
    assert search(candidates=(fit(), fit(5.0))).trial == search(candidates=(fit(),)).trial
    mixed = worst([GaussianTradeoff(0.3), fit().f, Selected(GaussianTradeoff(0.2), "poisson", 2.0)])
    alone = (GaussianTradeoff(0.3), fit().f)
    assert mixed.symmetric
    assert mixed.delta(0.5) >= max(f.delta(0.5) for f in alone)


def test_it_is_written_and_read() -> None:
    prepared = PipelineCertificate(
        n=100,
        adjacency="replace_one",
        sums=(NoisySum(kind="histogram", column="age", noise=30.0),),
        model=fit(),
    )
    for made in (search(), search(candidates=(prepared,)), search(private=False)):
        again = SelectionCertificate.from_json(made.to_json())
        assert again.to_json() == made.to_json()
        assert again.f == made.f
    search(candidates=(prepared,)).verify()


def test_the_statement_says_what_was_done() -> None:
    text = search().statement(delta=1e-5)
    assert re.search(r"one trial    epsilon [0-9.]+ at most, at delta = 1e-05", text)
    for part in ("geometric number of trials, 5 on average", "replace_one, 100", "'accuracy'"):
        assert part in text
    assert "NOT PRIVATE" in search(private=False).statement(delta=1e-5)
    assert "30 records that no trial is trained on" in str(search(n=130, held_out=30))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"private": False}, "NOT PRIVATE"),
        ({"n": 101}, "number of records"),
        ({"held_out": 10}, "number of records"),
        ({"adjacency": "zero_out"}, "neighbours"),
        (
            {"candidates": (PipelineCertificate(n=100, adjacency="replace_one"),)},
            "one record a person",
        ),
    ],
)
def test_what_does_not_belong_together_is_not_verified(
    changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(VerificationFailed, match=problem):
        search(**changes).verify()


@pytest.mark.parametrize(
    "changes",
    [
        {"candidates": ()},
        {"held_out": 100},
        {"n": 0},
        {"private": 1},
        {"score": NoisySum(kind="moments", column="age", noise=2.0)},
        {"adjacency": "other"},
    ],
)
def test_what_is_no_search_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        search(**changes)


def forged(**changes: Any) -> str:
    document = json.loads(search().to_json())
    document.update(changes)
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        "no JSON",
        forged(format="shiftdp-selection/9"),
        forged(more=1),
        forged(trials={"law": "negative_binomial", "rate": 0.2}),
        forged(trials={"law": "never", "rate": 0.2, "shape": 1.0}),
        forged(trials={"law": "negative_binomial", "rate": 2.0, "shape": 1.0}),
        forged(candidates=[{}]),
        forged(candidates=3),
        forged(score=None),
        forged(score={"kind": "gains", "column": "accuracy", "noise": -1.0, "threshold": None}),
        forged(n=True),
    ],
)
def test_forgeries_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        SelectionCertificate.from_json(text)


def test_a_candidate_with_less_noise_than_its_proof_is_found() -> None:
    document = json.loads(search().to_json())
    document["candidates"][0]["run"]["noise"] = 4.0
    with pytest.raises((VerificationFailed, InvalidInput)):
        SelectionCertificate.from_json(json.dumps(document)).verify()


def test_a_ledger_charges_it_once(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=2.0, delta=1e-5)
    made = search(candidates=(fit(0.8),))
    entry = ledger.reserve(made, label="search")
    ledger.complete(entry)
    assert entry.source == "selection"
    assert ledger.epsilon() == pytest.approx(made.epsilon(1e-5), rel=1e-3)
    assert "Private search" in str(ledger)
    ledger.verify()
    Ledger.verify_json(ledger.to_json())
    with pytest.raises(VerificationFailed):
        ledger.reserve(search(private=False))


def test_a_ledger_refuses_what_is_too_much(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=1.0, delta=1e-5)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(search())
    assert ledger.entries() == ()


def test_its_risk_can_be_asked_for() -> None:
    assert risk(search()).advantage == search().f.advantage()
    assert search().score == ACCURACY
