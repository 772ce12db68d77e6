"""People with several records: the cap, the order of the batches, the noise, deletion."""

import numpy as np
import pytest

from shiftdp import InvalidInput, NoisyCGD
from shiftdp.sklearn import PrivateLogisticRegression
from tests.training.estimators.test_forgetting import CYCLIC, X, Y, fitted


def test_people_are_capped_and_apart() -> None:
    people = np.repeat(np.arange(200), 3)
    model = PrivateLogisticRegression(**{**CYCLIC, "noise": None, "records_per_person": 2}).fit(
        X, Y, groups=people
    )
    run = model.plan_.plan.run
    assert isinstance(run, NoisyCGD)
    assert (run.n, run.records_per_person, run.arrangement) == (400, 2, "one_per_batch")
    assert 4.9 < model.certificate_.epsilon(1e-5) <= 5.0
    model.certificate_.verify()
    rest = people != 199
    certificate = model.forget(X[rest], Y[rest], epsilon=1.0, delta=1e-5, groups=people[rest])
    certificate.verify()
    assert certificate.epsilon(1e-5) <= 1.0
    model.fit(X, Y, groups=people)
    with pytest.raises(InvalidInput, match="one person at a time"):
        model.forget(X[:-9], Y[:-9], epsilon=1.0, delta=1e-5, groups=people[:-9])


@pytest.mark.parametrize("k", [1, 2])
def test_records_are_counted_by_the_cap_of_fit(k: int) -> None:
    people = np.repeat(np.arange(200), 3)
    shape = {**CYCLIC, "noise": None, "records_per_person": k}
    model = PrivateLogisticRegression(**shape).fit(X, Y, groups=people)
    stay = 200 * k - 1  # all rows of two thirds of the people or fewer, which looks like one less
    with pytest.raises(InvalidInput, match="groups"):
        model.forget(X[:stay], Y[:stay], epsilon=1.0, delta=1e-5)
    model.set_params(records_per_person=3)
    with pytest.raises(InvalidInput, match="as in fit"):
        model.forget(X[:stay], Y[:stay], epsilon=1.0, delta=1e-5, groups=people[:stay])


def test_groups_are_asked_for() -> None:
    with pytest.raises(InvalidInput, match="groups"):
        fitted(records_per_person=2)
    with pytest.raises(InvalidInput, match="groups"):
        PrivateLogisticRegression(**CYCLIC).fit(X, Y, groups=[1, 2, 3])


def test_groups_are_metadata_of_scikit_learn() -> None:
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = PrivateLogisticRegression(**CYCLIC).set_fit_request(groups=True)
        assert model.get_metadata_routing().fit.requests["groups"] is True
