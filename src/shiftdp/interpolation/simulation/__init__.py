"""The processes of the proofs themselves, simulated: for figures, and to test the theory."""

from shiftdp.interpolation.simulation.drift import (
    DriftingInstance,
    Simulation,
    drifting_instance,
    simulate,
)
from shiftdp.interpolation.simulation.process import ShiftedProcess, simulate_shifted
from shiftdp.interpolation.simulation.sampled_process import (
    Sampled,
    SampledPair,
    simulate_sampled_pair,
    simulate_sampled_proj,
)

__all__ = [
    "DriftingInstance",
    "Sampled",
    "SampledPair",
    "ShiftedProcess",
    "Simulation",
    "drifting_instance",
    "simulate",
    "simulate_sampled_pair",
    "simulate_sampled_proj",
    "simulate_shifted",
]
