"""`shiftdp.training.planning` under the path that the documentation first gave."""

from shiftdp.training.planning import Overrides, Planned, Problem, plan_for

__all__ = ["Overrides", "Planned", "Problem", "plan_for"]
