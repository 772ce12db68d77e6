"""Attacks on the guarantees that the library prints: exact instances, many runs, one run."""

from shiftdp.trials.auditing import audit
from shiftdp.trials.confidence import Rates, lower_epsilon, lower_mu
from shiftdp.trials.exact.table import ExactAudit, exact_audit
from shiftdp.trials.one_run import epsilon_from_guesses, mu_from_guesses
from shiftdp.trials.report import AuditReport

__all__ = [
    "AuditReport",
    "ExactAudit",
    "Rates",
    "audit",
    "epsilon_from_guesses",
    "exact_audit",
    "lower_epsilon",
    "lower_mu",
    "mu_from_guesses",
]
