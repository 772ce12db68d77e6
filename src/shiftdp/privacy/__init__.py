"""Questions asked of a run: what would others charge, and how much room is left."""

from shiftdp.privacy.budget import Budget, ImpossibleBudget, budget_of
from shiftdp.privacy.calibration import (
    calibrate_batch_size,
    calibrate_diameter,
    calibrate_epochs,
    calibrate_learning_rate,
    calibrate_noise,
    calibrate_strong_convexity,
)
from shiftdp.privacy.compare import Row, Table, compare
from shiftdp.privacy.frontier import Curve, Frontier, frontier
from shiftdp.privacy.ledger import Ledger
from shiftdp.privacy.ledger_entry import Entry
from shiftdp.privacy.ledger_errors import AdjacencyMismatch, BudgetExceeded, LedgerUnavailable
from shiftdp.privacy.risk import Risk, risk

__all__ = [
    "AdjacencyMismatch",
    "Budget",
    "BudgetExceeded",
    "Curve",
    "Entry",
    "Frontier",
    "ImpossibleBudget",
    "Ledger",
    "LedgerUnavailable",
    "Risk",
    "Row",
    "Table",
    "budget_of",
    "calibrate_batch_size",
    "calibrate_diameter",
    "calibrate_epochs",
    "calibrate_learning_rate",
    "calibrate_noise",
    "calibrate_strong_convexity",
    "compare",
    "frontier",
    "risk",
]
