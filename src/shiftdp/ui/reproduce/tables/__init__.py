"""The tables, those of one kind of run in one module."""
