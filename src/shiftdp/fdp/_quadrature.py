"""Gauss-Legendre quadrature on panels, with nodes that are the same on every machine."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

from shiftdp._checks import Array

_ORDER = 32  # nodes on a panel
_DIGITS = 50  # of the decimal arithmetic; a float has 17
_NEWTON_STEPS = 3  # each doubles the digits, and NumPy's nodes start with at least 12


@lru_cache(1)
def legendre() -> tuple[Array, Array]:
    """Nodes and weights on [-1, 1], each the float nearest to its exact value.

    NumPy's nodes start Newton's iteration in decimal arithmetic. They are not used as they are,
    because their error, up to 1,024 roundings of a weight, depends on the version of NumPy.
    """
    nodes, weights = [], []
    with localcontext(Context(prec=_DIGITS)):
        for start in np.polynomial.legendre.leggauss(_ORDER)[0].tolist():
            x = Decimal(start)
            for _ in range(_NEWTON_STEPS):
                before, value = _legendre_polynomials(x)
                weight = 2 * (1 - x * x) / (_ORDER * before) ** 2
                x -= value * (1 - x * x) / (_ORDER * (before - x * value))
            nodes.append(float(x))
            weights.append(float(weight))
    return np.array(nodes), np.array(weights)


def _legendre_polynomials(x: Decimal) -> tuple[Decimal, Decimal]:
    """P_{n-1}(x) and P_n(x) for n = _ORDER, by Bonnet's recursion."""
    before, value = Decimal(1), x
    for k in range(2, _ORDER + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return before, value


def on_panels(edges: Array) -> tuple[Array, Array]:
    """Nodes and weights on each panel between successive edges."""
    nodes, weights = legendre()
    half = 0.5 * (edges[1:] - edges[:-1])
    x = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    return x.ravel(), (half[:, None] * weights).ravel()
