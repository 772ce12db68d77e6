"""Opacus: an accountant for the last iterate, from what its loaders and optimizers really do."""

from shiftdp.privacy.opacus.accountant import LastIterateAccountant, Plan, register
from shiftdp.privacy.opacus.run import Declaration

__all__ = ["Declaration", "LastIterateAccountant", "Plan", "register"]
