"""Benchmarks, each a program of its own; `wall` measures the claims of all of them."""
