"""The law of the privacy loss of a tradeoff function."""
