"""What a ledger refuses, and why."""

from __future__ import annotations

from shiftdp._errors import ShiftdpError, UnmetHypothesis
from shiftdp._printed import down, trimmed, up


class BudgetExceeded(ShiftdpError):
    """A release that does not fit into what is left. Nothing was written, and nothing may run.

    Attributes:
        asked: epsilon of what was asked for, by itself.
        spent: epsilon of what the ledger holds.
        total: epsilon of both together.
        budget: the epsilon that the total may not exceed.
        remaining: epsilon, by itself, of the largest Gaussian release that still fits.
        remaining_mu: its mu.
        delta: at which all of them are.

    >>> raise BudgetExceeded(
    ...     asked=1.5,
    ...     spent=2.0,
    ...     total=3.25,
    ...     budget=3.0,
    ...     remaining=1.25,
    ...     remaining_mu=0.32,
    ...     delta=1e-5,
    ... )
    Traceback (most recent call last):
    ...
    shiftdp.privacy.ledger.errors.BudgetExceeded: epsilon=1.5 was asked for, 2 of 3 is spent, ...
    """

    def __init__(
        self,
        asked: float,
        spent: float,
        total: float,
        budget: float,
        remaining: float,
        remaining_mu: float,
        delta: float,
    ) -> None:
        # every argument goes to the base: that is what carries it out of a worker process
        super().__init__(asked, spent, total, budget, remaining, remaining_mu, delta)
        self.asked = asked
        self.spent = spent
        self.total = total
        self.budget = budget
        self.remaining = remaining
        self.remaining_mu = remaining_mu
        self.delta = delta

    def __str__(self) -> str:
        asked, spent, total = (trimmed(up(x)) for x in (self.asked, self.spent, self.total))
        mu, epsilon = (trimmed(down(x)) for x in (self.remaining_mu, self.remaining))
        return (
            f"epsilon={asked} was asked for, {spent} of {self.budget:g} is spent, and together "
            f"they make {total} (all at delta={self.delta:g}); "
            + (
                f"what still fits is a Gaussian release of mu <= {mu}, epsilon={epsilon} by itself"
                if self.remaining_mu > 0.0
                else "nothing fits any more"
            )
        )


class AdjacencyMismatch(UnmetHypothesis):
    """A release whose neighbours are not those of the ledger: the two do not compose."""


class LedgerUnavailable(ShiftdpError):
    """The file is locked for too long, unreadable, gone, or on a full disk. Nothing was written."""

    def __init__(self, path: str, problem: str, remedy: str) -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.path} {self.problem}; {self.remedy}"
