"""The closed forms of the paper, and the bounds that it is compared with."""
