"""Certificates of models that were chosen privately, and of private scores."""
