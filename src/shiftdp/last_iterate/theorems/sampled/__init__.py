"""Theorems on NoisySGD: composition, Theorem B3, the paper's, and what they share."""
