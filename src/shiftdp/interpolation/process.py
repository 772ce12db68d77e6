"""`shiftdp.interpolation.simulation.process` under the path that the documentation first gave."""

from shiftdp.interpolation.simulation.process import ShiftedProcess, simulate_shifted

__all__ = ["ShiftedProcess", "simulate_shifted"]
