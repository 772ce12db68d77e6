"""Tasks of autodp. Run by ../serve.py in its environment."""

import math

import numpy as np
from autodp.dp_bank import get_eps_ana_gaussian


def gaussian_epsilon(mu, delta):
    return float(get_eps_ana_gaussian(1.0 / mu, delta))


def gaussian_epsilons(cases):
    """One after the other; None where it raises an exception, "nan" and "inf" as words."""
    found = []
    with np.errstate(all="ignore"):
        for mu, delta in cases:
            try:
                value = gaussian_epsilon(mu, delta)
            except Exception:
                found.append(None)
            else:
                found.append(value if math.isfinite(value) else str(value))
    return found
