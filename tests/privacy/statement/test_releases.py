"""A statement of a search says what the search cost, and never a single fit for it."""

import re
from dataclasses import replace

import pytest

from shiftdp import VerificationFailed
from shiftdp.privacy.selection.score_certificate import ScoreCertificate
from shiftdp.privacy.selection.selection_certificate import SelectionCertificate
from shiftdp.privacy.statement import read_statement
from shiftdp.privacy.statement.blocks import Bound
from shiftdp.privacy.statement.releases import runs_in, sums_in, theorems_of
from tests.privacy.statement.examples import certificates, html, stated

SEARCHES = ["search", "search with a holdout", "search of pipelines"]


@pytest.mark.parametrize("kind", [*SEARCHES, "score"])
def test_the_number_is_that_of_the_whole(kind: str) -> None:
    whole, made = certificates()[kind], stated(kind)
    epsilon = Bound(whole.epsilon(1e-5)).text
    entry = made.registry()["deployment"]
    assert entry["privacy_loss"]["privacy_parameters"]["epsilon"] == float(epsilon)
    assert theorems_of(whole) in entry["privacy_loss"]["privacy_parameters_details"]
    assert f"**({epsilon}, 1e-05)-differential privacy" in made.model_card()
    first = re.search(r'<data value="[^"]*">([^<]*)</data>', html(kind))
    assert first is not None
    assert first[1] == epsilon


@pytest.mark.parametrize("kind", SEARCHES)
def test_one_fit_costs_less_and_is_called_so(kind: str) -> None:
    whole = certificates()[kind]
    runs = runs_in(whole)
    assert runs
    assert all(run.epsilon(1e-5) < whole.epsilon(1e-5) for run in runs)
    card = stated(kind).model_card()
    assert "which is not the guarantee" in card
    assert "Epsilon of one fit, not the guarantee" in card
    assert "how many trials there were" in card
    assert "all its trials together" in card


@pytest.mark.parametrize("kind", [*SEARCHES, "score"])
def test_a_page_is_verified_and_an_edited_one_refused(kind: str) -> None:
    text = html(kind)
    assert read_statement(text).certificate.to_json() == certificates()[kind].to_json()
    epsilon = Bound(certificates()[kind].epsilon(1e-5)).text
    with pytest.raises(VerificationFailed):
        read_statement(text.replace(f">{epsilon}<", ">0.1<"))


@pytest.mark.parametrize("kind", ["search", "score"])
def test_a_seed_is_said_loudly(kind: str) -> None:
    made, whole = stated(kind), certificates()[kind]
    assert isinstance(whole, (SelectionCertificate, ScoreCertificate))
    seeded = replace(made, certificate=replace(whole, private=False))
    assert made.private
    assert not seeded.private
    assert "NOT PRIVATE" in seeded.html()
    with pytest.raises(VerificationFailed, match="NOT PRIVATE"):
        read_statement(seeded.html())


def test_the_sums_of_scores_are_listed() -> None:
    assert [one.column for one in sums_in(certificates()["search"])] == ["accuracy"]
    assert sums_in(certificates()["gd"]) == ()
    assert runs_in(certificates()["score"]) == ()
