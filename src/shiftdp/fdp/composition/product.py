"""Composition of tradeoff functions, f (x) g = T(P x P', Q x Q'). [BSA24, Def Composition]

A product is first brought into a normal form: one Gaussian, one probability of failure, and the
factors that remain, each with its multiplicity. The normal form has a closed form when nothing
remains, or when one single factor does and the Gaussian is trivial; otherwise it is composed
numerically, and certified (`composite`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from shiftdp._checks import count
from shiftdp._rounding import EIGHTEEN_ROUNDINGS
from shiftdp.fdp.composition.composite import Composite
from shiftdp.fdp.functions.failure import WithFailure
from shiftdp.fdp.functions.gaussian import GaussianTradeoff
from shiftdp.fdp.functions.identity import Identity
from shiftdp.fdp.tradeoff import TradeoffFunction, several, tradeoff


class Product:
    """A product in normal form, to which factors are added one by one (see `_join`)."""

    def __init__(self) -> None:
        self.gaussians: list[tuple[float, int]] = []
        self.failures: list[tuple[float, int]] = []
        self.factors: dict[TradeoffFunction, int] = {}

    @classmethod
    def of(cls, factors: Product | Iterable[tuple[TradeoffFunction, int]]) -> Product:
        """From pairs of a factor and its multiplicity."""
        if isinstance(factors, Product):
            return factors
        product = cls()
        for f, k in factors:
            if (k := count("multiplicity", k)) > 0:
                tradeoff("factor", f)._join(product, k)
        return product

    def gaussian(self, mu: float, k: int) -> None:
        if mu > 0:
            self.gaussians.append((mu, k))

    def failure(self, probability: float, k: int) -> None:
        if probability > 0:
            self.failures.append((probability, k))

    def factor(self, f: TradeoffFunction, k: int) -> None:
        self.factors[f] = self.factors.get(f, 0) + k

    @property
    def mu(self) -> float:
        """The least float that is at least sqrt(k_1 mu_1^2 + k_2 mu_2^2 + ...)."""
        mu = math.hypot(*(m * math.sqrt(k) for m, k in self.gaussians))
        if mu in (0.0, math.inf):
            return mu
        square = sum(k * Fraction(m) ** 2 for m, k in self.gaussians)
        while mu < math.inf and Fraction(mu) ** 2 < square:
            mu = math.nextafter(mu, math.inf)
        while Fraction(below := math.nextafter(mu, 0.0)) ** 2 >= square:
            mu = below
        return mu

    @property
    def failure_probability(self) -> float:
        """1 - (1 - q_1)^{k_1} (1 - q_2)^{k_2} ..., rounded up."""
        if [k for _, k in self.failures] == [1]:
            return self.failures[0][0]
        if any(q == 1.0 for q, _ in self.failures):
            return 1.0
        log_success = math.fsum(k * math.log1p(-q) for q, k in self.failures)
        return min(1.0, -math.expm1(log_success) * (1 + EIGHTEEN_ROUNDINGS))

    def close(self) -> TradeoffFunction:
        """The tradeoff function of the product: in closed form where there is one."""
        base: TradeoffFunction
        if not self.factors:
            base = GaussianTradeoff(self.mu) if self.gaussians else Identity()
        elif len(self.factors) == 1 and not self.gaussians and 1 in self.factors.values():
            base = next(iter(self.factors))
        else:
            gaussian = [(GaussianTradeoff(self.mu), 1)] if self.gaussians else []
            base = Composite((*self.factors.items(), *gaussian))
        return WithFailure(base, self.failure_probability) if self.failures else base


def compose(factors: Iterable[TradeoffFunction]) -> TradeoffFunction:
    """f_1 (x) f_2 (x) ...

    >>> compose([GaussianTradeoff(3.0), Identity(), GaussianTradeoff(4.0)])
    GaussianTradeoff(mu=5.0)
    """
    parts = [f for f in several("factors", factors) if f != Identity()]
    if len(parts) == 1:
        return parts[0]
    product = Product()
    for f in parts:
        f._join(product, 1)
    return product.close()


def power(f: TradeoffFunction, k: int) -> TradeoffFunction:
    """The k-fold product of f with itself; the 0-fold one is Identity.

    >>> power(GaussianTradeoff(0.5), 100)
    GaussianTradeoff(mu=5.0)
    """
    if k == 1:
        return f
    product = Product()
    if k > 0:
        f._join(product, k)
    return product.close()
