"""The loop, and what it is made of: rows, batches, gradients, noise, projections."""
