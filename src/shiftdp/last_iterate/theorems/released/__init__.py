"""Theorems on runs of which more than the last iterate is released: several releases, streams."""
