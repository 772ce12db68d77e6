"""What is not a proved bound cannot be taken for one."""

import math
from typing import Any

import pytest

from shiftdp import Uncertified
from shiftdp.fdp import GaussianTradeoff, subsampled_clt


@pytest.mark.parametrize("use", [float, math.sqrt, lambda x: x + 1.0, lambda x: x < 2.0, round])
def test_an_estimate_is_no_number_before_it_is_unwrapped(use: Any) -> None:
    with pytest.raises(TypeError):
        use(Uncertified(1.03, "estimate", "a quick look"))


def test_it_says_in_print_what_it_is() -> None:
    found = subsampled_clt(0.01, 1.0, 1000)
    assert isinstance(found, Uncertified)
    assert isinstance(found.value, GaussianTradeoff)
    assert repr(found).startswith("approximation GaussianTradeoff")
    assert repr(found).endswith("; not a bound)")
