"""Composition of tradeoff functions, f (x) g = T(P x P', Q x Q'). [BSA24, Def Composition]

A product is first brought into a normal form: one Gaussian, one probability of failure, and the
factors that remain, each with its multiplicity. The normal form has a closed form when nothing
remains, or when one single factor does and the Gaussian is trivial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from shiftdp._errors import NoClosedForm
from shiftdp.fdp.failure import WithFailure
from shiftdp.fdp.gaussian import GaussianTradeoff
from shiftdp.fdp.identity import Identity
from shiftdp.fdp.tradeoff import TradeoffFunction

__all__ = ["Product", "compose", "power"]


class Product:
    """The normal form of a product, while it is being collected."""

    def __init__(self) -> None:
        self.squares: list[float] = []
        self.log_success = 0.0
        self.factors: dict[TradeoffFunction, int] = {}

    def gaussian(self, mu: float, k: int) -> None:
        if mu > 0:
            self.squares.append(k * mu * mu if k > 1 else mu * mu)

    def failure(self, probability: float, k: int) -> None:
        if probability > 0:
            self.log_success += k * math.log1p(-probability) if probability < 1 else -math.inf

    def factor(self, f: TradeoffFunction, k: int) -> None:
        self.factors[f] = self.factors.get(f, 0) + k

    @property
    def mu(self) -> float:
        """sqrt(mu_1^2 + mu_2^2 + ...), rounded up when there is something to add."""
        if len(self.squares) == 0:
            return 0.0
        return math.sqrt(math.fsum(self.squares))

    def close(self) -> TradeoffFunction:
        """The tradeoff function of the product, where it has a closed form."""
        base: TradeoffFunction
        if not self.factors:
            base = GaussianTradeoff(self.mu) if self.squares else Identity()
        elif len(self.factors) == 1 and not self.squares and 1 in self.factors.values():
            base = next(iter(self.factors))
        else:
            raise NoClosedForm(f"{self} has no closed form; {_CLOSED_FORMS}")
        if self.log_success == 0.0:
            return base
        failure = -math.expm1(self.log_success)
        return WithFailure(base, min(1.0, failure * (1 + 1e-15)))

    def __str__(self) -> str:
        parts = [f"{f}^{k}" if k > 1 else f"{f}" for f, k in self.factors.items()]
        if self.squares:
            parts.append(f"G({self.mu:g})")
        return "the product of " + " and ".join(parts)


_CLOSED_FORMS = "only Gaussians, Identity and failures (0, delta) compose in closed form"


def compose(factors: Iterable[TradeoffFunction]) -> TradeoffFunction:
    """f_1 (x) f_2 (x) ...

    >>> compose([GaussianTradeoff(3.0), Identity(), GaussianTradeoff(4.0)])
    GaussianTradeoff(mu=5.0)
    """
    product = Product()
    for f in factors:
        f._join(product, 1)
    return product.close()


def power(f: TradeoffFunction, k: int) -> TradeoffFunction:
    """The k-fold product of f with itself; the 0-fold one is Identity.

    >>> power(GaussianTradeoff(0.5), 100)
    GaussianTradeoff(mu=5.0)
    """
    product = Product()
    if k > 0:
        f._join(product, k)
    return product.close()
