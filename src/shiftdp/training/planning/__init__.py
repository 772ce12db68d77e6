"""Which run to make, chosen from public numbers alone."""

from shiftdp.training.planning.planner import Planned, plan_for
from shiftdp.training.planning.problem import Overrides, Problem

__all__ = ["Overrides", "Planned", "Problem", "plan_for"]
