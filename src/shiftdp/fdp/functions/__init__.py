"""The tradeoff functions, one a file."""
