"""The public names, each listed once: what users reach as `shiftdp.<name>`.

To make a name public, add its line here. `as` tells type checkers that it is passed on on purpose.
"""

from shiftdp._errors import InvalidInput as InvalidInput
from shiftdp._errors import NoClosedForm as NoClosedForm
from shiftdp._errors import ShiftdpError as ShiftdpError
from shiftdp._errors import UnmetHypothesis as UnmetHypothesis
from shiftdp._errors import VerificationFailed as VerificationFailed
from shiftdp._kinds import Uncertified as Uncertified
from shiftdp.fdp import ApproxDPTradeoff as ApproxDPTradeoff
from shiftdp.fdp import GaussianTradeoff as GaussianTradeoff
from shiftdp.fdp import Identity as Identity
from shiftdp.fdp import LaplaceTradeoff as LaplaceTradeoff
from shiftdp.fdp import Maximum as Maximum
from shiftdp.fdp import Minimum as Minimum
from shiftdp.fdp import Mixture as Mixture
from shiftdp.fdp import PiecewiseLinear as PiecewiseLinear
from shiftdp.fdp import TradeoffFunction as TradeoffFunction
from shiftdp.fdp import dominates as dominates
from shiftdp.last_iterate import Certificate as Certificate
from shiftdp.last_iterate import ExponentialMechanism as ExponentialMechanism
from shiftdp.last_iterate import Geometry as Geometry
from shiftdp.last_iterate import LangevinMC as LangevinMC
from shiftdp.last_iterate import NoisyCGD as NoisyCGD
from shiftdp.last_iterate import NoisyGD as NoisyGD
from shiftdp.last_iterate import NoisySGD as NoisySGD
from shiftdp.last_iterate import NoisyStream as NoisyStream
from shiftdp.last_iterate import SmallLastBatch as SmallLastBatch
from shiftdp.last_iterate import Unlearning as Unlearning
from shiftdp.last_iterate import certify as certify
from shiftdp.last_iterate import cooldown as cooldown
from shiftdp.privacy import BudgetExceeded as BudgetExceeded
from shiftdp.privacy import ImpossibleBudget as ImpossibleBudget
from shiftdp.privacy import Ledger as Ledger
from shiftdp.privacy import calibrate as calibrate
from shiftdp.privacy import calibrate_batch_size as calibrate_batch_size
from shiftdp.privacy import calibrate_cooldown as calibrate_cooldown
from shiftdp.privacy import calibrate_diameter as calibrate_diameter
from shiftdp.privacy import calibrate_epochs as calibrate_epochs
from shiftdp.privacy import calibrate_learning_rate as calibrate_learning_rate
from shiftdp.privacy import calibrate_noise as calibrate_noise
from shiftdp.privacy import calibrate_strong_convexity as calibrate_strong_convexity
from shiftdp.privacy import calibrate_unlearning as calibrate_unlearning
from shiftdp.privacy import compare as compare
from shiftdp.privacy import frontier as frontier
from shiftdp.privacy import placed_noise as placed_noise
from shiftdp.privacy import risk as risk
from shiftdp.trials.auditing import audit as audit
