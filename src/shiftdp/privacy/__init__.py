"""Questions asked of a run: what would others charge, and how much room is left."""

from shiftdp.privacy.compare import Row, Table, compare

__all__ = ["Row", "Table", "compare"]
