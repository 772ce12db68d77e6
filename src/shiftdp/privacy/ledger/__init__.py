"""The ledger: every release of one data set, charged before it runs, in one file."""

from shiftdp.privacy.ledger.entry import Account, Entry
from shiftdp.privacy.ledger.errors import AdjacencyMismatch, BudgetExceeded, LedgerUnavailable
from shiftdp.privacy.ledger.ledger import Ledger

__all__ = ["Account", "AdjacencyMismatch", "BudgetExceeded", "Entry", "Ledger", "LedgerUnavailable"]
