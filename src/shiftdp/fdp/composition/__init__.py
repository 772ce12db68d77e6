"""Certified composition: products of tradeoff functions, discretised, convolved and read off."""
