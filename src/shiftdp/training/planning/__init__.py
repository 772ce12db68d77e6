"""Which run to make, chosen from public numbers alone."""

from shiftdp.training.planning.outlook import (
    Outlook,
    WeakSignalWarning,
    outlook,
    require_worthwhile,
)
from shiftdp.training.planning.planner import Planned, plan_for
from shiftdp.training.planning.problem import Overrides, Problem

__all__ = [
    "Outlook",
    "Overrides",
    "Planned",
    "Problem",
    "WeakSignalWarning",
    "outlook",
    "plan_for",
    "require_worthwhile",
]
