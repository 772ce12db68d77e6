"""Questions asked of a run: what would others charge, and how much room is left."""

from shiftdp.privacy.attack_risk import Risk, risk
from shiftdp.privacy.budget import Budget, ImpossibleBudget, budget_of
from shiftdp.privacy.calibration import (
    calibrate,
    calibrate_batch_size,
    calibrate_diameter,
    calibrate_epochs,
    calibrate_learning_rate,
    calibrate_noise,
    calibrate_strong_convexity,
)
from shiftdp.privacy.comparison import Row, Table, compare
from shiftdp.privacy.cooldown_shape import calibrate_cooldown
from shiftdp.privacy.ledger.entry import Entry
from shiftdp.privacy.ledger.errors import AdjacencyMismatch, BudgetExceeded, LedgerUnavailable
from shiftdp.privacy.ledger.ledger import Ledger
from shiftdp.privacy.noise_placement import placed_noise
from shiftdp.privacy.parameter_sweep import Curve, Frontier, frontier
from shiftdp.privacy.unlearning import calibrate_unlearning

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
    "calibrate",
    "calibrate_batch_size",
    "calibrate_cooldown",
    "calibrate_diameter",
    "calibrate_epochs",
    "calibrate_learning_rate",
    "calibrate_noise",
    "calibrate_strong_convexity",
    "calibrate_unlearning",
    "compare",
    "frontier",
    "placed_noise",
    "risk",
]
