"""The functions of Theorem B7 from its statement, in 60 digits.

Joins them to `exact`. Nothing here shares a formula with `shiftdp.fdp`.
"""

from __future__ import annotations

from typing import Any

import mpmath
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from mpmath import mpf

from shiftdp.fdp import HiddenExchange, HiddenReplaceOne, HiddenZeroOut
from shiftdp.fdp.functions.hidden import Hidden
from tests.fdp import exact, mixtures

__all__ = ["atoms", "capped_integrand", "laws", "on_the_line"]

Number = Any
Law = tuple[tuple[float, ...], tuple[float, ...]]
"""Values and weights."""


@st.composite
def laws(
    draw: st.DrawFn, means: SearchStrategy[float], weights: SearchStrategy[float], most: int = 4
) -> Law:
    """Laws of W with up to `most` values, which may begin with 0."""
    mu = sorted(set(draw(st.lists(means, min_size=1, max_size=most))))
    if draw(st.booleans()):
        mu = [0.0, *mu]
    raw = [draw(weights) for _ in mu]
    whole = sum(raw)
    return tuple(mu), tuple(w / whole for w in raw)


def atoms(f: Hidden) -> mixtures.Mixture:
    """(weight, value): the first weight is what the others leave of 1, exactly."""
    law = [(mpf(w), mpf(m)) for m, w in zip(f.mu, f.weight, strict=True)]
    with mpmath.workdps(400):
        while (left := 1 - sum(w for w, _ in law[1:])) <= 0:
            law = law[1:]
    return [(left, law[0][1]), *law[1:]]


def on_the_line(f: HiddenZeroOut | HiddenReplaceOne) -> tuple[mixtures.Mixture, mixtures.Mixture]:
    """(P, Q) with delta_f = H(P || Q) and rising dP/dQ; so f = T(Q, P)."""
    upper = atoms(f)
    lower = [(w, -m) for w, m in upper]
    if isinstance(f, HiddenReplaceOne):
        return upper, lower
    normal = [(mpf(1), mpf(0))]
    return (upper, normal) if f.swapped else (normal, lower)


# --- batches without replacement ---------------------------------------------------------------


def capped_integrand(law: mixtures.Mixture, y: Number) -> Number:
    """E[exp(y m - m^2/2)], m = min(W, y)."""
    capped = [(w, min(m, y)) for w, m in law]
    return mpmath.fsum(w * mpmath.exp(y * m - m * m / 2) for w, m in capped)


def caught(law: mixtures.Mixture, x: Number) -> Number:
    """int_x^inf phi(y) E[exp(y m - m^2/2)] dy, where phi(y) e^{y^2/2} is constant up to y = W."""
    constant = 1 / mpmath.sqrt(2 * mpmath.pi)
    return mpmath.fsum(
        w * (exact.upper_tail(max(x, m) - m) + constant * max(m - x, mpf(0))) for w, m in law
    )


@mpmath.workdps(60)  # type: ignore[untyped-decorator]
def fixed_point(law: mixtures.Mixture) -> Number:
    """x with 1 - caught(x) = Phi(-x)."""
    top = law[-1][1]
    return mixtures.rising_root(lambda x: 1 - caught(law, x) - exact.upper_tail(x), mpf(0), top)


@exact.delta.register
@mpmath.workdps(60)  # type: ignore[untyped-decorator]
def _(f: HiddenExchange, epsilon: Number) -> Number:
    law, epsilon = atoms(f), mpf(epsilon)
    if len(law) == 1:
        return exact.gaussian_delta(law[0][1], epsilon)
    gamma = mpmath.exp(epsilon)
    if epsilon < 0:
        return 1 - gamma + gamma * exact.delta(f, -epsilon)
    knot = fixed_point(law)
    if gamma <= capped_integrand(law, knot):
        return 1 - exact.upper_tail(knot) * (1 + gamma)
    far = 60 + law[-1][1]
    x = mixtures.rising_root(lambda y: mpmath.log(capped_integrand(law, y)) - epsilon, knot, far)
    return caught(law, x) - gamma * exact.upper_tail(x) if x < far else mpf(0)


@exact.beta.register
@mpmath.workdps(60)  # type: ignore[untyped-decorator]
def _(f: HiddenExchange, alpha: Number) -> Number:
    if alpha <= 0 or alpha >= 1:
        return mpf(1) if alpha <= 0 else mpf(0)
    law, alpha = atoms(f), mpf(alpha)
    if len(law) == 1:
        return exact.upper_tail(law[0][1] - exact.upper_quantile(alpha))
    if alpha <= exact.upper_tail(fixed_point(law)):
        return 1 - caught(law, exact.upper_quantile(alpha))
    x = mixtures.rising_root(lambda x: 1 - caught(law, x) - alpha, mpf(0), 50 + law[-1][1])
    return exact.upper_tail(x)


# --- Poisson batches ---------------------------------------------------------------------------


@exact.delta.register
def _(f: HiddenZeroOut, epsilon: Number) -> Number:
    return mixtures.threshold_profile(*on_the_line(f), epsilon)


@exact.delta.register
def _(f: HiddenReplaceOne, epsilon: Number) -> Number:
    return mixtures.threshold_profile(*on_the_line(f), epsilon)


@exact.beta.register
def _(f: HiddenZeroOut, alpha: Number) -> Number:
    return mixtures.threshold_tradeoff(*on_the_line(f), alpha)


@exact.beta.register
def _(f: HiddenReplaceOne, alpha: Number) -> Number:
    return mixtures.threshold_tradeoff(*on_the_line(f), alpha)
