"""The Renyi divergence of certificates, in both directions and against what others compute."""

from __future__ import annotations

import math
import warnings
from typing import Any

import pytest

import shiftdp as sdp
from shiftdp.fdp import Minimum, WithFailure
from shiftdp.last_iterate.theorems.sampled.composition import composed_renyi

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from opacus.accountants.analysis.rdp import compute_rdp

LOSSES = sdp.Geometry(strong_convexity=0.2, smoothness=2.0, sensitivity=1.0, adjacency="zero_out")


def poisson(steps: int, multiplier: float = 1.0, size: int = 10) -> sdp.NoisySGD:
    return sdp.NoisySGD(
        n=1000,
        batch_size=size,
        steps=steps,
        learning_rate=0.1,
        noise=multiplier / size,
        sampling="poisson",
    )


@pytest.mark.parametrize("multiplier", [0.7, 1.0, 3.0])
@pytest.mark.parametrize("size", [1, 10, 500])
def test_composition_is_what_opacus_computes(multiplier: float, size: int) -> None:
    """Whole orders, for which its sum is exact up to rounding."""
    orders = [2, 3, 8, 32, 64, 256]
    cert = sdp.certify(poisson(100, multiplier, size), LOSSES, bounds="composition")
    theirs = compute_rdp(q=size / 1000, noise_multiplier=multiplier, steps=100, orders=orders)
    for order, value in zip(orders, theirs, strict=True):
        ours = cert.renyi(float(order))
        assert value * (1 - 1e-9) <= ours <= value * (1 + 1e-9)


def test_other_orders_lie_close_to_what_opacus_sums() -> None:
    """Its series for broken orders has an error of its own, 1e-6 and less."""
    cert = sdp.certify(poisson(1), LOSSES, bounds="composition")
    orders = [1.1, 1.5, 2.5, 5.7, 32.5]
    theirs = compute_rdp(q=0.01, noise_multiplier=1.0, steps=1, orders=orders)
    assert [cert.renyi(order) for order in orders] == pytest.approx(list(theirs), rel=1e-6)


def test_a_bound_that_may_fail_has_the_divergence_of_composition() -> None:
    run = poisson(20_000)
    cert = sdp.certify(run, LOSSES)
    assert isinstance(cert.f, WithFailure)
    assert cert.f.renyi(2.0) == math.inf
    assert cert.renyi(2.0) == composed_renyi(run, LOSSES, 2.0) < math.inf
    ball = sdp.Geometry(**{**vars(LOSSES), "diameter": 0.1})
    endless = sdp.certify(sdp.NoisySGD(**{**vars(run), "steps": math.inf}), ball)
    assert endless.renyi(2.0) == math.inf


def test_a_pair_of_data_sets_is_in_one_direction() -> None:
    """The larger of two divergences, which is less than that of the envelope of both."""
    cert = sdp.certify(poisson(50), LOSSES, bounds="composition")
    assert isinstance(cert.f, Minimum)
    for order in (1.5, 4.0):
        there, back = (part.renyi(order) for part in cert.f.components)
        assert cert.renyi(order) == max(there, back) < cert.f.renyi(order)


@pytest.mark.parametrize("sampling", ["without_replacement", "poisson"])
def test_the_last_iterate_is_never_worse_than_composition(sampling: Any) -> None:
    geometry = sdp.Geometry(
        strong_convexity=1.0, smoothness=2.0, sensitivity=1.0, gradient_bound=0.5
    )
    run = sdp.NoisySGD(**{**vars(poisson(2_000)), "sampling": sampling})
    best, composed = sdp.certify(run, geometry), sdp.certify(run, geometry, bounds="composition")
    for order in (1.5, 8.0):
        assert best.renyi(order) <= composed.renyi(order) * (1 + 1e-12)
    with pytest.raises(sdp.InvalidInput, match="order"):
        best.renyi(1.0)
