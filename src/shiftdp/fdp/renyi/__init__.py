"""Renyi divergences: conversions to (epsilon, delta), and moments bounded from above."""
