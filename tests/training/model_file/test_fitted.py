"""Our own estimators: what of them is in a file, and what is not."""

from pathlib import Path
from typing import Any

import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from shiftdp import InvalidInput
from shiftdp.privacy import Ledger
from shiftdp.sklearn import PrivateLogisticRegression, load_model, save_model
from tests.training.model_file.examples import X, Y, example
from tests.training.model_file.rewriting import reload


@pytest.mark.parametrize("as_object", [True, False])
def test_no_path_is_in_the_file(tmp_path: Path, as_object: bool) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=5.0, delta=1e-5)
    given: Any = ledger if as_object else str(ledger.path)
    model = make_pipeline(
        FunctionTransformer(),
        PrivateLogisticRegression(classes=[0, 1], epochs=2, ledger=given),
        memory=str(tmp_path / "cache"),
    ).fit(X, Y)
    save_model(model, tmp_path / "model.shiftdp")
    assert str(tmp_path).encode() not in (tmp_path / "model.shiftdp").read_bytes()
    copy = load_model(tmp_path / "model.shiftdp")
    assert copy[-1].ledger == "study.db"
    assert copy.memory is None


def test_a_loaded_model_is_charged_where_its_ledger_is_and_refused_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "study.db", epsilon=5.0, delta=1e-5)
    model = PrivateLogisticRegression(classes=[0, 1], epochs=2, ledger=ledger).fit(X, Y)
    copy = reload(model, tmp_path)
    monkeypatch.chdir(tmp_path)
    copy.fit(X, Y)
    assert len(ledger.entries()) == 2
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="is no file"):
        copy.fit(X, Y)


def test_parameters_are_free_and_the_statement_is_of_plan_and_certificate(tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    model = example("logistic").model
    told = model.statement()
    save_model(model.set_params(epsilon=100.0, delta=0.5, random_state=0, feature_bound=9.0), path)
    copy = load_model(path)
    assert (copy.epsilon, copy.random_state) == (100.0, 0)
    assert copy.statement() == told
    assert "100" not in str(copy.plan_)
