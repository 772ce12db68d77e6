"""Renyi moments of steps with random participation in 30 and 40 digits."""

from __future__ import annotations

from collections.abc import Sequence

import mpmath
from hypothesis import strategies as st
from mpmath import mpf

from tests.fdp.catalogue import log_uniform

Pair = tuple[float, float]


ORDERS = [1.01, 1.1, 1.5, 2.0, 3.7, 8.0, 32.0, 64.0, 128.0, 256.0]


CLOSE = 1e-9  # of M - 1


probabilities, sizes = log_uniform(1e-5, 0.9), log_uniform(0.01, 4.0)


orders = st.sampled_from(ORDERS[:7]) | st.floats(1.001, 20.0)


def exact_line(p: float, above: Pair, below: Pair, order: float) -> mpf:
    """M - 1 in 40 digits, by a trapezoid sum ten times as fine and to 16 standard deviations."""
    with mpmath.workdps(40):
        (a, d), (b, e) = [tuple(map(mpf, pair)) for pair in (above, below)]
        q, k, s = 1 - mpf(p), mpf(order), mpf(order) - 1

        def g(x: mpf) -> mpf:
            up = q * mpmath.exp(a * (x - a / 2)) + p * mpmath.exp(d * (x - d / 2))
            down = q * mpmath.exp(-b * (x + b / 2)) + p * mpmath.exp(-e * (x + e / 2))
            return mpmath.npdf(x) * (up**k * down**-s - k * up + s * down)

        h = 1 / (6 * (1 + (d - a) + (e - b) * mpmath.sqrt(1 + s)))
        left, right = int((e + 16) / h), int((k * d + s * e + 16) / h)
        return h * mpmath.fsum(g(h * j) for j in range(-left, right + 1))


def exact_mixtures(
    weights: Sequence[float], above: Sequence[float], below: Sequence[float], order: float
) -> mpf:
    """The same for any number of components, the first weight being what the others leave."""
    with mpmath.workdps(40):
        w, a, b = ([mpf(x) for x in values] for values in (weights, above, below))
        w[0], k, s = 1 - sum(w[1:]), mpf(order), mpf(order) - 1

        def g(x: mpf) -> mpf:
            up = sum(v * mpmath.exp(m * (x - m / 2)) for v, m in zip(w, a, strict=True))
            down = sum(v * mpmath.exp(-m * (x + m / 2)) for v, m in zip(w, b, strict=True))
            return mpmath.npdf(x) * (up**k * down**-s - k * up + s * down)

        h = 1 / (6 * (1 + (a[-1] - a[0]) + (b[-1] - b[0]) * mpmath.sqrt(1 + s)))
        left, right = int((b[-1] + 16) / h), int((k * a[-1] + s * b[-1] + 16) / h)
        return h * mpmath.fsum(g(h * j) for j in range(-left, right + 1))


def exact_halves(p: float, a: float, d: float, order: float) -> mpf:
    """M - 1 in 30 digits, by mpmath's own quadrature."""
    with mpmath.workdps(30):
        w, m, n, k = mpf(p), mpf(a), mpf(d), mpf(order)

        def h(loss: mpf) -> mpf:
            return -mpmath.expm1(k * loss) * mpmath.expm1((1 - k) * loss)

        def far(x: mpf) -> mpf:
            up = (1 - w) * mpmath.exp(m * (x - m / 2)) + w * mpmath.exp(n * (x - n / 2))
            return mpmath.npdf(x) * h(mpmath.log(up))

        knot, end = (m + n) / 2, k * n + n + 14
        total = mpmath.quad(far, mpmath.linspace(knot, end, int(end - knot) + 2))
        for weight, mu in ((1 - w, m), (w, n)):
            if a > 0:
                last = m * n / (2 * mu)
                cells = mpmath.linspace(0, last, int(last) + 3)
                near = mpmath.quad(
                    lambda v, mu=mu: mpmath.npdf(v + mu / 2) * h(mu * v), cells
                )  # the loop's own mu
                total += weight * near
        return total


def agrees(found: float, exact: mpf, close: float = CLOSE) -> bool:
    """Not below, and above by no more than a part of M - 1."""
    with mpmath.workdps(40):
        excess = mpmath.expm1(mpf(found))
        return bool(exact <= excess <= exact * (1 + close))
