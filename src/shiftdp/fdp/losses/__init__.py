"""The law of the privacy loss of a tradeoff function: one for all who ask, in one registry."""

from shiftdp.fdp.losses.law import LossLaw, PrivacyLoss
from shiftdp.fdp.losses.registry import loss_law, privacy_loss

__all__ = ["LossLaw", "PrivacyLoss", "loss_law", "privacy_loss"]
