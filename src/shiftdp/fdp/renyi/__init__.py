"""Renyi divergences: conversions to (epsilon, delta), and moments bounded from above."""

from shiftdp.fdp.renyi.conversions import RenyiConversion, renyi_epsilon, zcdp_epsilon

__all__ = ["RenyiConversion", "renyi_epsilon", "zcdp_epsilon"]
