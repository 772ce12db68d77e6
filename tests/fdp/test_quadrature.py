"""Gauss-Legendre nodes and weights."""

from __future__ import annotations

import mpmath
from mpmath import mpf

from shiftdp.fdp._quadrature import legendre


def test_nodes_and_weights_are_those_of_gauss() -> None:
    """What the error bound takes for granted: nodes to 8u, weights to 1024u."""
    nodes, weights = legendre()
    with mpmath.workdps(40):
        for x, weight in zip(nodes, weights, strict=True):
            root = mpmath.findroot(lambda t: mpmath.legendre(nodes.size, t), mpf(float(x)))
            before = nodes.size * mpmath.legendre(nodes.size - 1, root)
            exact = 2 * (1 - root**2) / before**2
            assert abs(root - mpf(float(x))) <= 8 * mpf(2) ** -53
            assert abs(weight / exact - 1) <= 1024 * mpf(2) ** -53
