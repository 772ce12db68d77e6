"""The figures, those of one kind in one module."""
