"""The independent check of laws of mu(V): nothing here is shared with what computes them."""
