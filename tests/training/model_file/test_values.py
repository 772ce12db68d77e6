"""Values come back as they were, and of no other kinds than the known ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import SparseRandomProjection

from shiftdp import InvalidInput
from shiftdp.sklearn import PrivateLogisticRegression, load_model, save_model
from tests.training.model_file.examples import X, Y, example
from tests.training.model_file.rewriting import reload, rewritten


def test_layouts_and_sparse_matrices_come_back(tmp_path: Path) -> None:
    step = SparseRandomProjection(2, density=0.5, random_state=0)
    model = make_pipeline(step, PrivateLogisticRegression(classes=[0, 1], epochs=2)).fit(X, Y)
    copy = reload(model, tmp_path)
    for one, other in ((step, copy[0]), (model[0], copy[0])):
        assert type(other.components_) is type(one.components_)
        assert (other.components_ != one.components_).nnz == 0
    data = sparse.csr_array(X)
    np.testing.assert_array_equal(copy.predict(data), model.predict(data))


@pytest.mark.parametrize(
    "value",
    [
        {"type": "os.system"},
        {"type": "system"},
        {"score": "system"},
        {"score": "SelectKBest"},
        {"function": "os.system"},
        {"transformer": {"class": "os", "parameters": {}, "attributes": {}}},
        {"transformer": {"class": "os.system", "parameters": {}, "attributes": {}}},
        {"transformer": {"class": "KNNImputer", "parameters": {}, "attributes": {}}},
        {"transformer": {"class": "Binarizer", "parameters": {}, "attributes": {"fit": 1}}},
        {"transformer": {"class": "Binarizer", "parameters": {}, "attributes": {"__class__": 1}}},
        {"transformer": {"class": "Binarizer", "parameters": {"func": 1}, "attributes": {}}},
        {"dtype": "|O8"},
        {"dtype": "system"},
        {"array": "../../secret.npy"},
        {"array": 0},
        {"sparse": ["os", [1, 1], 0, 0, 0]},
        {"float": "1"},
        {"__reduce__": ["os.system", ["true"]]},
        {"dict": [["a", 1], ["a", 2]]},
        {"dict": 1, "tuple": []},
        {},
    ],
    ids=json.dumps,
)
def test_values_of_no_known_kind_are_refused(value: Any, tmp_path: Path) -> None:
    path = tmp_path / "model.shiftdp"
    save_model(example("logistic").model, path)

    def changed(text: bytes) -> bytes:
        assert text.count(b'"classes": [0, 1]') == 1
        return text.replace(b'"classes": [0, 1]', f'"classes": {json.dumps(value)}'.encode())

    rewritten(path, model=changed)
    with pytest.raises(InvalidInput):
        load_model(path)
