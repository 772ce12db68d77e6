"""The law that is known from a privacy profile alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftdp.fdp import PoissonReplaceOne, PoissonZeroOut, ShiftedSubsampled
from shiftdp.fdp.losses import loss_law
from shiftdp.fdp.losses.profile import ProfileLaw


@given(
    p=st.floats(1e-4, 0.9),
    a=st.floats(1e-4, 3.0),
    s=st.floats(1e-2, 6.0),
    part=st.floats(-0.9, 1.0).filter(lambda part: abs(part) > 1e-3),
)
def test_laws_of_steps_have_the_moments_of_their_profiles(
    p: float, a: float, s: float, part: float
) -> None:
    # tilted by more, the mass would lie where the quadratures end
    c = part if part < 0 else part * min(4.0, 6.0 / (a + 2 * s))
    for f in (
        ShiftedSubsampled(p, a, s),
        PoissonReplaceOne(p, a, s),
        PoissonZeroOut(p, a, s),
        PoissonZeroOut(p, a, s, swapped=True),
    ):
        law = loss_law(f).quadrature(-200.0, 5.0)
        assert law.error == 0.0
        plain = ProfileLaw(f).quadrature(-200.0, 5.0).excess(c)
        assert law.excess(c) == pytest.approx(plain, rel=1e-10)
