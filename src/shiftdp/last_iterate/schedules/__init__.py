"""Numbers that a run has one of a step: how they are given, and how they are made."""
