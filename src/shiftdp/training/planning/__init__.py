"""Which run to make, chosen from public numbers alone."""

from shiftdp.training.planning.planned import Planned
from shiftdp.training.planning.planner import plan_for
from shiftdp.training.planning.problem import Overrides, Problem

__all__ = ["Overrides", "Planned", "Problem", "plan_for"]
