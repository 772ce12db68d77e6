"""The certificate of a private score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from shiftdp import InvalidInput, Ledger, VerificationFailed
from shiftdp.privacy.noisy_sums import NoisySum
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from tests.privacy.selection.examples import ACCURACY, score


def test_sums_are_composed() -> None:
    both = score(sums=(ACCURACY, NoisySum(kind="histogram", column="scores", noise=10.0)))
    assert both.mu == pytest.approx((0.01 + 0.02) ** 0.5)
    assert score(adjacency="zero_out").mu == pytest.approx(0.05)  # half of a gain
    both.verify()


def test_it_is_written_and_read() -> None:
    assert ScoreCertificate.from_json(score().to_json()) == score()


def test_the_statement_says_whom_it_is_about() -> None:
    text = str(score())
    assert "replace_one, 1000 records" in text
    assert "trained on too pays for both" in text
    assert "NOT PRIVATE" in str(score(private=False))


def test_a_seeded_score_is_not_verified() -> None:
    with pytest.raises(VerificationFailed, match="NOT PRIVATE"):
        score(private=False).verify()


@pytest.mark.parametrize(
    "changes",
    [{"sums": ()}, {"n": 0}, {"n": 2**40}, {"private": None}, {"adjacency": "add"}],
)
def test_what_is_no_score_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        score(**changes)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "shiftdp-selection/1"},
        {"more": 1},
        {"sums": [{"kind": "gains", "column": "a", "noise": 0.0, "threshold": None}]},
        {"sums": [{"kind": "wins", "column": "a", "noise": 1.0, "threshold": None}]},
        {"sums": [{"kind": "gains"}]},
        {"n": "1000"},
    ],
)
def test_forgeries_are_refused(change: dict[str, Any]) -> None:
    document = {**json.loads(score().to_json()), **change}
    with pytest.raises(InvalidInput):
        ScoreCertificate.from_json(json.dumps(document))


def test_a_ledger_charges_it(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger", epsilon=1.0, delta=1e-5)
    assert ledger.reserve(score()).source == "score"
    assert ledger.epsilon() == score().epsilon(1e-5)
    ledger.verify()
