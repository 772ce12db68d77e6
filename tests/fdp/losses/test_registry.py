"""What holds of every law, whatever the tradeoff function."""

from __future__ import annotations

import math

import pytest

from shiftdp._errors import InvalidInput, NoClosedForm
from shiftdp.fdp import (
    GaussianTradeoff,
    Identity,
    LaplaceTradeoff,
    Mixture,
    PiecewiseLinear,
    PoissonReplaceOne,
    WithFailure,
    privacy_loss,
)
from shiftdp.fdp.losses import loss_law
from shiftdp.fdp.losses.profile import ProfileLaw


def test_refusals_name_what_works() -> None:
    product = GaussianTradeoff(1.0).subsample(0.1).power(10)
    for f in (product, LaplaceTradeoff(1.0).subsample(0.1)):
        with pytest.raises(NoClosedForm, match="ShiftedSubsampled, PoissonZeroOut"):
            privacy_loss(f)
    with pytest.raises(NoClosedForm, match="of a symmetric function"):
        privacy_loss(PiecewiseLinear([0, 0.2, 1], [1, 0.5, 0]).subsample(0.5))
    with pytest.raises(InvalidInput, match="under='R'"):
        privacy_loss(Identity(), under="R")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"f=3\.0"):
        privacy_loss(3.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="x=nan"):
        privacy_loss(Identity()).log_cdf(math.nan)
    with pytest.raises(InvalidInput, match="s=inf"):
        privacy_loss(Identity()).log_mgf(math.inf)
    with pytest.raises(InvalidInput, match="too large"):
        privacy_loss(PoissonReplaceOne(0.75, 0.0, 12.0)).log_mgf(1e9)


def test_the_refusal_names_every_kind_that_is_registered() -> None:
    with pytest.raises(NoClosedForm) as refusal:
        privacy_loss(LaplaceTradeoff(1.0).subsample(0.1))
    registered = {kind.__name__ for kind in loss_law.registry} - {"object", "Subsampled"}
    assert len(registered) >= 10
    assert all(name in str(refusal.value) for name in registered)
    assert "C_p of" in str(refusal.value)  # that is Subsampled


def test_what_is_not_registered_is_known_from_its_profile() -> None:
    f = LaplaceTradeoff(1.0).subsample(0.1)
    for g in (f, Mixture([f, GaussianTradeoff(1.0)], [0.5, 0.5]), WithFailure(f, 0.1)):
        assert isinstance(loss_law(g), ProfileLaw)
