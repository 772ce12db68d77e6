"""Tradeoff functions in lists, dictionaries, numbers and strings (`test_conformance` has more)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shiftdp import InvalidInput
from shiftdp._checks import Array
from shiftdp.fdp import GaussianTradeoff, Minimum, PoissonZeroOut, TradeoffFunction
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.documents import TYPES


class Unwritten(TradeoffFunction):
    """A function of a user, who did not say how it is written."""

    @property
    def symmetric(self) -> bool:
        return True

    def _delta(self, epsilon: Array) -> Array:
        return np.ones(epsilon.shape)


def concrete(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield from concrete(child)
        if child.__module__.startswith("shiftdp") and not inspect.isabstract(child):
            yield child


def test_every_function_of_the_library_can_be_read_by_its_own_name() -> None:
    assert set(TYPES.values()) == set(concrete(TradeoffFunction))
    assert all(kind.type_name == name for name, kind in TYPES.items())


def test_a_product_keeps_its_factors_their_counts_and_its_accuracy() -> None:
    step = PoissonZeroOut(0.01, 0.0, 1.0, swapped=True)
    product = Composite(((step, 3), (GaussianTradeoff(math.inf), 1)), accuracy=0.25)
    f = Minimum((product.inverse(), product))
    assert TradeoffFunction.from_dict(f.to_dict()) == f
    assert f.to_dict()["components"][1] == {
        "type": "product",
        "factors": [
            [{"type": "poisson_zero_out", "p": 0.01, "a": 0.0, "s": 1.0, "swapped": True}, 3],
            [{"type": "gaussian", "mu": math.inf}, 1],
        ],
        "accuracy": 0.25,
    }


def test_what_was_computed_meanwhile_is_not_written() -> None:
    f = GaussianTradeoff(1.0).subsample(0.1).power(3)
    before = f.to_dict()
    assert f.epsilon(1e-3) > 0.0
    assert f(0.5) < 0.5
    assert f.to_dict() == before


def test_a_function_without_a_written_form_says_so() -> None:
    with pytest.raises(InvalidInput, match="has no JSON form"):
        Unwritten().to_dict()


@pytest.mark.parametrize("count", [2.5, -1, "3"])
def test_a_multiplicity_is_a_whole_number(count: object) -> None:
    factors = [[{"type": "laplace", "mu": 1.0}, count]]
    with pytest.raises(InvalidInput, match="multiplicity"):
        TradeoffFunction.from_dict({"type": "product", "factors": factors, "accuracy": 0.1})
