"""Instances whose law is known: what some losses of the class really leak, for every theorem."""
