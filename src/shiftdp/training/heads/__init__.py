"""Heads on frozen features in PyTorch. Needs the extra `torch`."""
