"""Fast estimates that steer searches for good parameters; no certificate rests on them."""
