"""The interpolated processes themselves, simulated for figures and tests."""
