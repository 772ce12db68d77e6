"""Tasks of dp_accounting. Run by ../serve.py in its environment."""

import math
from functools import partial

import dp_accounting
import numpy as np
from dp_accounting.mechanism_calibration import calibrate_dp_mechanism
from dp_accounting.pld import PLDAccountant, pld_pmf, privacy_loss_distribution
from scipy.special import log_ndtr, ndtr


def poisson(sigma, rate, steps):
    step = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(sigma))
    return dp_accounting.SelfComposedDpEvent(step, steps)


def calibrate(rate, steps, epsilon, delta, interval=None, tolerance=None):
    """The least noise multiplier for a budget, at its defaults unless told."""
    accountant = PLDAccountant
    if interval is not None:
        accountant = partial(PLDAccountant, value_discretization_interval=interval)
    more = {} if tolerance is None else {"tol": tolerance}
    event = partial(poisson, rate=rate, steps=steps)
    return float(calibrate_dp_mechanism(accountant, event, epsilon, delta, **more))


def poisson_epsilon(sigma, rate, steps, delta):
    accountant = PLDAccountant()
    accountant.compose(poisson(sigma, rate, steps))
    return float(accountant.get_epsilon(delta))


def gaussian_profile(mu, epsilon):
    """delta of G(mu) at epsilons >= 0."""
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))


def subsampled_profile(p, mu, epsilon):
    """delta of C_p(G(mu)): p delta_G(log(1 + (e^eps - 1)/p)) for eps >= 0, below by symmetry."""
    size = np.abs(epsilon)
    high = p * gaussian_profile(mu, np.log1p(np.expm1(size) / p))
    return np.where(epsilon >= 0, high, -np.expm1(-size) + np.exp(-size) * high)


def symmetric(p, mu, steps, lattice):
    """C_p(G(mu)) to the power of steps: its profile on a lattice, connected by dots."""
    reach = math.log1p(p * math.expm1(0.5 * mu * mu + 9.5 * mu))
    m = math.ceil(reach / lattice)
    losses = lattice * np.arange(-m, m + 1)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(
        lattice, -m, m, subsampled_profile(p, mu, losses)
    )
    return privacy_loss_distribution.PrivacyLossDistribution(pmf).self_compose(steps)


def symmetric_epsilon(p, mu, steps, lattice, delta):
    return float(symmetric(p, mu, steps, lattice).get_epsilon_for_delta(delta))
