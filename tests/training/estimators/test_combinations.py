"""What no theorem covers together is refused before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyCGD, UnmetHypothesis
from shiftdp.sklearn import (
    PrivateHuberRegressor,
    PrivateLogisticRegression,
    PrivatePipeline,
    PrivateTableEncoder,
)
from shiftdp.training import L1, Logistic, Plan
from shiftdp.training.model_file import save_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3)) / 2
Y = (X[:, 0] + 0.3 * RNG.normal(size=600) > 0).astype(int)
WHOSE = np.arange(600) // 2
CYCLIC: dict[str, Any] = {
    "algorithm": "cgd", "batch_size": 60, "epochs": 4, "order": "fixed",
    "learning_rate": 1.0, "l2": 0.05, "epsilon": 5.0,
}  # fmt: skip
SHOWN: list[dict[str, Any]] = [{"checkpoints": "epochs"}, {"checkpoints": [1]}, {"average": 2}]
every_release = pytest.mark.parametrize("shown", SHOWN, ids=str)
every_model = pytest.mark.parametrize("kind", [PrivateLogisticRegression, PrivateHuberRegressor])


def made(kind: Any = PrivateLogisticRegression, **more: Any) -> Any:
    own: dict[str, Any] = {"classes": [0, 1]} if kind is PrivateLogisticRegression else {}
    return kind(**{**CYCLIC, **own, **more})


class Untouchable:
    """Data that must not be looked at."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the data was asked for {name}")


@every_model
@every_release
def test_people_have_no_checkpoints(kind: Any, shown: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"records_per_person=2 is not covered with \w+="):
        made(kind, records_per_person=2, **shown).fit(Untouchable(), Untouchable(), WHOSE)
    with pytest.raises(InvalidInput, match=r"groups=.*is not covered with \w+="):
        made(kind, **shown).fit(Untouchable(), Untouchable(), WHOSE)
    with pytest.raises(InvalidInput, match="records_per_person=2"):
        made(kind, records_per_person=2, **shown).plan(600, 3)


@every_model
@every_release
@pytest.mark.parametrize("penalty", ["l1", "elasticnet"])
def test_a_prox_has_no_checkpoints(kind: Any, shown: dict[str, Any], penalty: str) -> None:
    with pytest.raises(InvalidInput, match=f"penalty='{penalty}'.* is not covered with"):
        made(kind, penalty=penalty, **shown).fit(Untouchable(), Untouchable())


@every_model
@pytest.mark.parametrize(
    "more", [{"records_per_person": 2}, {"penalty": "l1"}, {"penalty": "elasticnet"}], ids=str
)
def test_streams_have_one_record_a_person_and_no_prox(kind: Any, more: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=f"{next(iter(more))}=.*in partial_fit"):
        made(kind, **more).partial_fit(Untouchable(), Untouchable())


def test_a_stream_does_not_go_on_from_a_model_of_people() -> None:
    model = made(records_per_person=2, epsilon=20.0).fit(X, Y, WHOSE)
    model.set_params(records_per_person=1)
    with pytest.raises(InvalidInput, match="one record a person"):
        model.partial_fit(Untouchable(), Untouchable())


@every_release
def test_nothing_is_forgotten_after_several_releases(shown: dict[str, Any]) -> None:
    model = made(**shown).fit(X, Y)
    before = model.coef_.copy()
    for _ in range(2):
        with pytest.raises(InvalidInput, match="checkpoints or an average"):
            model.forget(Untouchable(), Untouchable(), epsilon=0.5, delta=1e-5)
        model.set_params(checkpoints=None, average=None)  # it was released all the same
    np.testing.assert_array_equal(model.coef_, before)


def test_nothing_is_forgotten_of_a_stream() -> None:
    model = made(epochs=None).partial_fit(X, Y)
    with pytest.raises(InvalidInput, match="after partial_fit"):
        model.forget(Untouchable(), Untouchable(), epsilon=0.5, delta=1e-5)


def test_a_model_that_has_forgotten_has_two_certificates(tmp_path: Any) -> None:
    model = made(noise=0.05).fit(X, Y)
    model.forget(X[:-1], Y[:-1], epsilon=0.5, delta=1e-5)
    with pytest.raises(InvalidInput, match="after forget"):
        model.partial_fit(Untouchable(), Untouchable())
    with pytest.raises(InvalidInput, match="two certificates"):
        save_model(model, tmp_path / "model.shiftdp")


def test_how_many_records_are_forgotten_is_that_of_the_fit() -> None:
    model = made(noise=0.05).fit(X, Y)
    model.set_params(records_per_person=3)
    certificate = model.forget(X[:-3], Y[:-3], epsilon=0.5, delta=1e-5, groups=np.arange(597))
    assert certificate.run.records == 3


def test_a_plan_with_a_prox_releases_its_last_iterate_alone() -> None:
    shape: dict[str, Any] = {"n": 30, "batch_size": 10, "epochs": 6}
    run = NoisyCGD(**shape, learning_rate=0.2, noise=0.4, releases="epochs")
    with pytest.raises(UnmetHypothesis, match=r"prox=.*Theorem V1"):
        Plan(run=run, loss=Logistic(), feature_bound=1.0, l2=0.1, prox=L1(0.1))


def test_a_pipeline_protects_one_record_a_person() -> None:
    pipeline = PrivatePipeline([PrivateTableEncoder(), made(records_per_person=2)])
    with pytest.raises(InvalidInput, match="records_per_person=2 is not covered in a pipeline"):
        pipeline.fit(Untouchable(), Untouchable())


def test_a_pipeline_takes_a_penalty_and_does_not_forget() -> None:
    model = made(penalty="elasticnet", alpha=0.05)
    pipeline = PrivatePipeline([PrivateTableEncoder(), model], epsilon=5.0).fit(X, Y)
    assert pipeline.certificate_.epsilon(1e-5) <= 5.0
    assert pipeline.certificate_.model is not None
    assert pipeline.certificate_.model.geometry.prox_convexity > 0.0
    pipeline.certificate_.verify()
    with pytest.raises(InvalidInput, match="in a pipeline"):
        model.forget(Untouchable(), Untouchable(), epsilon=0.5, delta=1e-5)
