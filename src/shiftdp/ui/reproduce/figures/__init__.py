"""The figures: a module for each, or for pairs that differ in one theorem."""
