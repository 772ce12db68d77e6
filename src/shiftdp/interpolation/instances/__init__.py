"""Losses whose last iterate has a known law: what random batches leak at least. Theorem B8."""
