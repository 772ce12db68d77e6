"""Steps with random participation, however extreme."""

from __future__ import annotations

import math

import pytest

from shiftdp import InvalidInput
from shiftdp.fdp import PoissonReplaceOne, PoissonZeroOut, ShiftedSubsampled
from shiftdp.fdp.functions.sampled_step import SampledStep
from shiftdp.fdp.renyi.line import participating


@pytest.mark.parametrize("order", [1 + 1e-9, 1.5, 50.0, 1e4, 1e8])
@pytest.mark.parametrize(
    ("p", "a", "s"), [(1e-300, 0.0, 1.0), (0.5, 1e-9, 1e-9), (0.1, 3.0, 200.0)]
)
def test_far_from_the_ordinary(p: float, a: float, s: float, order: float) -> None:
    """Between the moment of either component alone, by its weight, and that of taking part."""
    steps: list[SampledStep] = [
        ShiftedSubsampled(p, a, s),
        PoissonZeroOut(p, a, s, swapped=True),
        PoissonReplaceOne(p, a, s),
    ]
    for f in steps:
        found = f._log_moment(order)
        pure = order * (order - 1.0) / 2.0
        assert max(0.0, order * math.log(p) + pure * (a + s) ** 2) * (1 - 1e-9) <= found
        assert order * math.log1p(-p) + pure * a * a <= found * (1 + 1e-9) + 1e-15
        assert found <= participating(p, a, f._span, order) * (1 + 1e-12)


@pytest.mark.parametrize("kind", [PoissonZeroOut, PoissonReplaceOne, ShiftedSubsampled])
def test_means_at_the_ends_of_their_range(kind: type[SampledStep]) -> None:
    """Found by fuzzing: quotients by subnormal numbers, and squares, overflowed."""
    for a in (5e-324, 1e-310, 1e-300):
        f = kind(0.5, a, 2.0)
        assert f.delta(1.0) == pytest.approx(kind(0.5, 0.0, 2.0).delta(1.0), rel=1e-9)
        assert 0.0 < f(0.3) < 0.7
    for wrong in ((0.5, 1e151, 2.0), (0.5, 0.0, 1e151), (0.5, 0.0, math.inf)):
        with pytest.raises(InvalidInput, match=r"[as]="):
            kind(*wrong)
