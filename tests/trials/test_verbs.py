"""The public verbs under attack: what is seen of each, flaws that are caught, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")

import shiftdp as sdp
from shiftdp import GaussianTradeoff, InvalidInput
from shiftdp.sklearn import PrivateHuberRegressor, PrivateLogisticRegression, PrivateTableEncoder
from shiftdp.trials.canaries import pairs
from shiftdp.trials.suite import trained
from shiftdp.trials.verbs import way_of
from tests.trials.mutants import GD, plan_of
from tests.trials.verb_mutants import VERB_MUTANTS, audited

VERBS = ("checkpoints", "groups", "partial_fit", "forget", "forget_others")
PAIR = (np.zeros((50, 2)), np.zeros(50))


def way(estimator: Any, verb: Any = "fit", **more: Any) -> Any:
    given: dict[str, Any] = {"groups": None, "forget_epsilon": None, "labels": None, **more}
    return way_of(estimator, verb, lambda: 50, **given)


@pytest.mark.parametrize("name", VERB_MUTANTS)
def test_a_broken_verb_is_caught(name: str) -> None:
    report = audited(VERB_MUTANTS[name])
    assert report.violated, str(report)


@pytest.mark.parametrize("name", VERB_MUTANTS)
def test_without_its_flaw_it_is_not(name: str) -> None:
    report = audited(VERB_MUTANTS[name], broken=False, runs=40, confidence=0.9999)
    assert not report.violated, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERB_MUTANTS)
def test_a_broken_verb_is_caught_five_times_of_five(name: str) -> None:
    """Not by luck: at the same confidence, with twice the runs."""
    mutant = VERB_MUTANTS[name]
    assert all(audited(mutant, runs=2 * mutant.runs).violated for _ in range(5))


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_a_true_verb_is_flagged_by_chance_alone(name: str) -> None:
    """200 audits at 95%: 10 are expected at most, and more than 20 have chance 1e-3."""
    from shiftdp.trials.trainers import trainer_of

    estimator, told = trained(name)
    shape = {"features": None, "feature_bound": None, "targets": None}
    trainer = trainer_of(estimator, None, None, lambda more: None, **shape, **told)
    pair = pairs(trainer.records)[0]
    flagged = [
        sdp.audit(
            estimator,
            trainer.guarantee,
            data=pair.one,
            neighbour=pair.other,
            runs=40,
            confidence=0.95,
            **told,
        ).violated
        for _ in range(200)
    ]
    assert sum(flagged) <= 20


def test_fit_shows_the_model_or_every_checkpoint() -> None:
    plain, _ = trained("PrivateHuberRegressor")
    several, _ = trained("checkpoints")
    assert len(way(plain).released(plain, *PAIR)) == 2
    assert len(way(several).released(several, *PAIR)) == 2 * 3
    assert way(several).guarantee(several) == several.certificate_


def test_a_stream_is_shown_after_each_of_three_windows() -> None:
    model, _ = trained("partial_fit")
    seen = way(model, "partial_fit").released(model, *PAIR)
    assert len(seen) == 6
    assert model.stream_.windows == 3
    assert np.array_equal(seen[4], model.coef_)
    assert not np.array_equal(seen[0], seen[2])


def test_who_is_forgotten_and_what_is_certified_of_it() -> None:
    model, _ = trained("forget")
    forgotten = way(model, "forget", forget_epsilon=4.0)
    assert len(forgotten.released(model, *PAIR)) == 2
    assert forgotten.guarantee(model) == model.deletions_[0].certificate
    assert forgotten.guarantee(model).epsilon(model.delta) <= 4.0
    stays = way(model, "forget_others", forget_epsilon=4.0)
    assert len(stays.released(model, *PAIR)) == 4
    parts = model.certificate_.mu, model.further_certificate_.mu
    assert stays.guarantee(model).gdp_mu == pytest.approx(np.hypot(*parts))


def test_half_of_the_budget_is_left_unless_told() -> None:
    model, _ = trained("forget")
    assert way(model, "forget").forget_epsilon == 0.5 * model.epsilon
    assert way(model, "forget_others", forget_epsilon=1.0).forget_epsilon == 1.0


def test_all_records_of_the_last_person_are_exchanged() -> None:
    model, _ = trained("groups")
    assert way(model).canary == (-2, -1)  # as many as a person may have
    words = np.array(["a", "b", "a", "c", "a"])
    assert way(model, groups=words).canary == (-5, -3, -1)
    plain, _ = trained("forget")
    assert way(plain).canary == (-1,)
    assert way(plain, groups=[7, 8]).canary == (-1,)


def test_a_classifier_that_does_not_know_its_classes_is_told_by_partial_fit() -> None:
    model = PrivateLogisticRegression(epsilon=8.0, fit_intercept=False, batch_size=10, l2=0.1)
    report = sdp.audit(model, verb="partial_fit", runs=40, features=1)
    assert report.verdict == "consistent"
    assert report.certified_epsilon <= 8.0


def test_a_person_with_several_records_is_attacked_unless_told_who() -> None:
    model = PrivateHuberRegressor(
        epsilon=20.0, algorithm="gd", epochs=2, noise=0.05, l2=0.1, learning_rate=0.5,
        fit_intercept=False, records_per_person=3,
    )  # fmt: skip
    report = sdp.audit(model, GaussianTradeoff(0.05), runs=60)
    assert report.violated


@pytest.mark.parametrize(
    ("train", "change", "problem"),
    [
        ("plan", {"verb": "forget"}, "verb='forget' is about estimators"),
        ("plan", {"groups": [1, 2]}, "groups='<given>' is about estimators"),
        ("estimator", {"verb": "pick"}, "verb='pick'"),
        ("encoder", {"verb": "forget"}, "is nothing that PrivateTableEncoder does"),
        ("estimator", {"groups": [[1]]}, "is not one whole number or word a record"),
        ("estimator", {"verb": "forget", "forget_epsilon": -1.0}, "forget_epsilon=-1"),
        ("estimator", {"forget_epsilon": 1.0}, "is of forget, and verb='fit' forgets nothing"),
        ("no ridge", {"verb": "forget"}, "forget_epsilon=2.0 is not reached"),
        ("estimator", {"verb": "forget", "method": "one_run"}, "is about one record of fit"),
        ("estimator", {"groups": [1, 2], "data": PAIR}, "for each of 50 records"),
    ],
)
def test_questions_without_sense_are_refused(train: str, change: Any, problem: str) -> None:
    made: Any = {
        "plan": lambda: plan_of(GD),
        "estimator": lambda: trained("forget")[0],
        "encoder": lambda: PrivateTableEncoder({}),
        "no ridge": lambda: PrivateHuberRegressor(
            epsilon=4.0, algorithm="gd", epochs=2, l2=0.0, fit_intercept=False
        ),
    }[train]
    with pytest.raises(InvalidInput, match=problem):
        sdp.audit(made(), **{"runs": 40, **change})
