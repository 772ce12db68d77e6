"""The tables: a module for each, or for those that differ in one parameter."""
