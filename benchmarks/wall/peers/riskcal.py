"""Tasks of riskcal. Run by ../serve.py in its environment."""

import math

import numpy as np
from dp_accounting.pld import pld_pmf, privacy_loss_distribution
from riskcal.analysis import get_beta_from_pld
from riskcal.calibration.dpsgd import get_beta_for_dpsgd
from scipy.special import log_ndtr, ndtr


def curve(p, mu, steps, lattice, points):
    """The tradeoff curve of C_p(G(mu)) to the power of steps, given to it as a distribution."""
    reach = math.log1p(p * math.expm1(0.5 * mu * mu + 9.5 * mu))
    m = math.ceil(reach / lattice)
    losses = lattice * np.arange(-m, m + 1)
    size = np.abs(losses)
    inner = np.log1p(np.expm1(size) / p)
    high = p * (ndtr(mu / 2 - inner / mu) - np.exp(inner + log_ndtr(-mu / 2 - inner / mu)))
    delta = np.where(losses >= 0, high, -np.expm1(-size) + np.exp(-size) * high)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(lattice, -m, m, delta)
    pld = privacy_loss_distribution.PrivacyLossDistribution(pmf).self_compose(steps)
    return np.asarray(get_beta_from_pld(pld, alpha=np.linspace(0.0, 1.0, points))).tolist()


def poisson_curve(sigma, p, steps, points):
    """That of Poisson sampling of a Gaussian, add and remove, as it makes it itself."""
    alpha = np.linspace(0.0, 1.0, points)
    return np.asarray(get_beta_for_dpsgd(sigma, p, steps, alpha=alpha)).tolist()
