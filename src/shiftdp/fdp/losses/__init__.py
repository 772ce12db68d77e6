"""The law of the privacy loss of a tradeoff function, in one registry.

`privacy_loss`, contour integrals and other estimates read it. Certified numbers do not: the grid
and the Renyi moments ask the tradeoff function for its profile and moments, which are rounded up
(docs/fdp.md, "One pair, two readings").
"""

from shiftdp.fdp.losses.law import LossLaw, PrivacyLoss
from shiftdp.fdp.losses.registry import loss_law, privacy_loss

__all__ = ["LossLaw", "PrivacyLoss", "loss_law", "privacy_loss"]
