"""The closed forms of the paper, and the bounds that it is compared with.

Names are the paper's: `gd` is composition of full batches, `_sc` strongly convex losses, `_proj` a
bounded constraint set, `mgd` cyclic batches, `lmc` Langevin Monte Carlo. All are in the units of
the iterate, as in `shiftdp.interpolation.schedule`.
"""

from shiftdp.interpolation.closed_forms.constrained_optimality import (
    ConstrainedLowerBound,
    constrained_lower_bound,
)
from shiftdp.interpolation.closed_forms.cyclic_descent import (
    mgd,
    mgd_proj,
    mgd_proj_best,
    mgd_proj_shifts,
    mgd_proj_window,
    mgd_quadratic,
    mgd_sc,
    mgd_sc_shifts,
)
from shiftdp.interpolation.closed_forms.explicit_shifts import ExplicitShifts
from shiftdp.interpolation.closed_forms.gradient_descent import (
    gd,
    gd_proj,
    gd_proj_best,
    gd_proj_shifts,
    gd_proj_window,
    gd_sc,
    gd_sc_shifts,
)
from shiftdp.interpolation.closed_forms.langevin import (
    exponential_mechanism_convex,
    exponential_mechanism_pure_epsilon,
    exponential_mechanism_sc,
    lmc,
    lmc_stationary_convex,
    lmc_stationary_convex_best,
    lmc_uniform,
    pure_threshold,
)
from shiftdp.interpolation.closed_forms.renyi_baseline import renyi_cyclic, renyi_full_batch
from shiftdp.interpolation.closed_forms.renyi_deletion import (
    renyi_deletion_cyclic,
    renyi_deletion_full_batch,
)
from shiftdp.interpolation.closed_forms.thresholds import (
    EpochThresholds,
    gd_proj_crossing,
    mgd_proj_crossing,
)

__all__ = [
    "ConstrainedLowerBound",
    "EpochThresholds",
    "ExplicitShifts",
    "constrained_lower_bound",
    "exponential_mechanism_convex",
    "exponential_mechanism_pure_epsilon",
    "exponential_mechanism_sc",
    "gd",
    "gd_proj",
    "gd_proj_best",
    "gd_proj_crossing",
    "gd_proj_shifts",
    "gd_proj_window",
    "gd_sc",
    "gd_sc_shifts",
    "lmc",
    "lmc_stationary_convex",
    "lmc_stationary_convex_best",
    "lmc_uniform",
    "mgd",
    "mgd_proj",
    "mgd_proj_best",
    "mgd_proj_crossing",
    "mgd_proj_shifts",
    "mgd_proj_window",
    "mgd_quadratic",
    "mgd_sc",
    "mgd_sc_shifts",
    "pure_threshold",
    "renyi_cyclic",
    "renyi_deletion_cyclic",
    "renyi_deletion_full_batch",
    "renyi_full_batch",
]
