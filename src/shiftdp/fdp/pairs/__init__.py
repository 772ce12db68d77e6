"""Numerics of pairs of Gaussian mixtures: profiles, likelihood ratios, error rates of tests."""
