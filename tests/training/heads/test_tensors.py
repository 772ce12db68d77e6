"""Arrays that are made of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from shiftdp import InvalidInput
from shiftdp.training.heads.tensors import matrix_of, moved, numbers_of, one_record
from tests.training.heads.datasets import X, Y


def test_features_of_any_real_type_become_float32_or_float64_exactly() -> None:
    for kind in (torch.float16, torch.bfloat16):
        found = matrix_of(X.to(kind))
        assert found.dtype == np.float32
        assert (found == X.to(kind).float().numpy()).all()
    assert matrix_of(torch.arange(3)).shape == (3, 1)
    assert matrix_of(torch.arange(6).reshape(1, 2, 3)).dtype == np.float64


def test_targets_of_several_heads_are_columns() -> None:
    found = numbers_of([Y, Y.float() / 2])
    assert found.shape == (23, 2)
    assert (found[:, 1] == Y.numpy() / 2).all()
    assert numbers_of(Y[:, None]).shape == (23,)


def test_nested_inputs_are_taken_apart_record_by_record_where_that_is_possible() -> None:
    nested = {"a": X, "b": [X, 2 * X]}
    first, last = one_record(nested, 0), one_record(nested, len(X) - 1)
    assert first["a"].shape == (1, X.shape[1])
    assert torch.equal(first["b"][1], 2 * X[:1])
    assert torch.equal(last["a"], X[-1:])
    assert one_record({"a": X, "text": ["word"]}, 0) is None
    assert one_record([X, "word"], 0) is None
    assert moved("word", torch.device("cpu")) == "word"
    assert moved(nested, None)["a"] is X


@pytest.mark.parametrize(
    "words",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        ["no", "yes"],
        ("no", "yes"),
        pd.Series(["no", "yes"]),
    ],
    ids=["array", "objects", "list", "tuple", "series"],
)
def test_labels_that_are_text_are_refused_with_the_way_to_number_them(words: Any) -> None:
    with pytest.raises(InvalidInput, match="is text; number the classes from 0") as caught:
        numbers_of(words)
    assert "yes" not in str(caught.value)


def test_sparse_features_are_refused() -> None:
    """Found by fuzzing: PyTorch cannot make an array of them."""
    with pytest.raises(InvalidInput, match="no dense tensor of real features"):
        matrix_of(X.to_sparse())
