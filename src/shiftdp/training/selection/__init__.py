"""Choosing among models, and measuring them, with what it costs."""
