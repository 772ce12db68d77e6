"""Certified composition: products of tradeoff functions, discretised, convolved and read off."""

from shiftdp.fdp.composition.composite import AccuracyNotMet, Composite
from shiftdp.fdp.composition.hidden_mixture import HiddenMixture
from shiftdp.fdp.composition.product import Product, compose, power

__all__ = ["AccuracyNotMet", "Composite", "HiddenMixture", "Product", "compose", "power"]
