"""shiftdp: what the last iterate of noisy gradient descent really costs in privacy.

The public names are loaded from their rooms when they are first used, so that `import shiftdp` is
quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shiftdp._errors import (
        InvalidInput,
        NoClosedForm,
        ShiftdpError,
        UnmetHypothesis,
        VerificationFailed,
    )
    from shiftdp._kinds import Uncertified
    from shiftdp.fdp import (
        ApproxDPTradeoff,
        GaussianTradeoff,
        Identity,
        LaplaceTradeoff,
        Maximum,
        Minimum,
        Mixture,
        PiecewiseLinear,
        TradeoffFunction,
        dominates,
    )
    from shiftdp.last_iterate import (
        Certificate,
        ExponentialMechanism,
        Geometry,
        LangevinMC,
        NoisyCGD,
        NoisyGD,
        NoisySGD,
        SmallLastBatch,
        certify,
    )
    from shiftdp.privacy import (
        BudgetExceeded,
        ImpossibleBudget,
        Ledger,
        calibrate_batch_size,
        calibrate_diameter,
        calibrate_epochs,
        calibrate_learning_rate,
        calibrate_noise,
        calibrate_strong_convexity,
        compare,
        frontier,
        risk,
    )

__version__ = "0.1.0"

__all__ = [
    "ApproxDPTradeoff",
    "BudgetExceeded",
    "Certificate",
    "ExponentialMechanism",
    "GaussianTradeoff",
    "Geometry",
    "Identity",
    "ImpossibleBudget",
    "InvalidInput",
    "LangevinMC",
    "LaplaceTradeoff",
    "Ledger",
    "Maximum",
    "Minimum",
    "Mixture",
    "NoClosedForm",
    "NoisyCGD",
    "NoisyGD",
    "NoisySGD",
    "PiecewiseLinear",
    "ShiftdpError",
    "SmallLastBatch",
    "TradeoffFunction",
    "Uncertified",
    "UnmetHypothesis",
    "VerificationFailed",
    "calibrate_batch_size",
    "calibrate_diameter",
    "calibrate_epochs",
    "calibrate_learning_rate",
    "calibrate_noise",
    "calibrate_strong_convexity",
    "certify",
    "compare",
    "dominates",
    "frontier",
    "risk",
]

_HOMES = {
    "shiftdp._errors": (
        "InvalidInput",
        "NoClosedForm",
        "ShiftdpError",
        "UnmetHypothesis",
        "VerificationFailed",
    ),
    "shiftdp._kinds": ("Uncertified",),
    "shiftdp.fdp": (
        "ApproxDPTradeoff",
        "GaussianTradeoff",
        "Identity",
        "LaplaceTradeoff",
        "Maximum",
        "Minimum",
        "Mixture",
        "PiecewiseLinear",
        "TradeoffFunction",
        "dominates",
    ),
    "shiftdp.last_iterate": (
        "Certificate",
        "ExponentialMechanism",
        "Geometry",
        "LangevinMC",
        "NoisyCGD",
        "NoisyGD",
        "NoisySGD",
        "SmallLastBatch",
        "certify",
    ),
    "shiftdp.privacy": (
        "BudgetExceeded",
        "ImpossibleBudget",
        "Ledger",
        "calibrate_batch_size",
        "calibrate_diameter",
        "calibrate_epochs",
        "calibrate_learning_rate",
        "calibrate_noise",
        "calibrate_strong_convexity",
        "compare",
        "frontier",
        "risk",
    ),
}
_ROOMS = ("fdp", "interpolation", "last_iterate", "privacy", "training")


if not TYPE_CHECKING:  # checkers see the imports above, and know a wrong name

    def __getattr__(name: str) -> object:
        if name in _ROOMS:
            return import_module(f"shiftdp.{name}")
        for home, names in _HOMES.items():
            if name in names:
                value: object = getattr(import_module(home), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module 'shiftdp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
