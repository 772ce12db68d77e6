"""Which run to make, chosen from public numbers alone."""

from shiftdp.training.planning.outlook import (
    Outlook,
    WeakSignalWarning,
    outlook_of,
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
    "outlook_of",
    "plan_for",
    "require_worthwhile",
]
