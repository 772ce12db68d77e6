"""The library's own trainers, attacked by the suite that the command runs."""

from __future__ import annotations

import pytest

from shiftdp import InvalidInput
from shiftdp.trials.suite import NAMES, available, trainer_audit


def test_one_of_them_quickly() -> None:
    (trial,) = trainer_audit(runs=400, names=["full batches"])
    assert trial.name == "full batches"
    assert trial.report.verdict == "consistent"
    assert trial.report.mu > 0.1
    assert trial.report.confidence == pytest.approx(0.99)


def test_the_risk_is_shared() -> None:
    trials = trainer_audit(runs=40, names=["full batches", "batches in turn"], confidence=0.9)
    assert [trial.report.confidence for trial in trials] == pytest.approx([0.95, 0.95])


def test_estimators_are_among_them_where_they_can_be_run() -> None:
    pytest.importorskip("sklearn")
    assert available() == list(NAMES)


@pytest.mark.slow
def test_an_estimator_has_a_fifth_of_the_runs() -> None:
    pytest.importorskip("sklearn")
    (trial,) = trainer_audit(runs=200, names=["PrivateHuberRegressor"])
    assert trial.report.runs == 6 * 40
    assert not trial.report.violated


def test_too_few_runs_for_estimators_are_refused_at_once() -> None:
    told: list[int] = []
    with pytest.raises(InvalidInput, match=r"runs=199 are too few.*'forget'.*give 200 or more"):
        trainer_audit(
            runs=199, names=["full batches", "forget"], progress=lambda done, _: told.append(done)
        )
    with pytest.raises(
        InvalidInput, match="runs=39 are too few to learn a test and count; give 40"
    ):
        trainer_audit(runs=39, names=["full batches"])
    assert not told


def test_other_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="names='lbfgs' is no trainer here"):
        trainer_audit(runs=40, names=["lbfgs"])
    with pytest.raises(InvalidInput, match="is empty"):
        trainer_audit(runs=40, names=[])
    with pytest.raises(InvalidInput, match=r"runs=40\.5 is not a whole number"):
        trainer_audit(runs=40.5, names=["poisson"])  # type: ignore[arg-type]
    for few, names, least in ((39, ["poisson"], 40), (199, ["PrivateHuberRegressor"], 200)):
        with pytest.raises(InvalidInput, match=rf"^runs={few} are .*; give {least} or more"):
            trainer_audit(runs=few, names=names)


@pytest.mark.slow
def test_all_of_them_with_thousands_of_runs() -> None:
    for trial in trainer_audit(runs=4000, confidence=0.99999):
        assert not trial.report.violated, f"{trial.name}\n{trial.report}"
