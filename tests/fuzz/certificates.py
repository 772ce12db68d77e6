"""Certificates of every kind of run: numbers that are numbers, in order, that their file keeps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import shiftdp as sdp
from tests.fuzz.choices import Choices
from tests.fuzz.limits import require, require_number
from tests.fuzz.runs import ODD, geometry_of, run_of

_TIES = 1.0 + 1e-9
"""By how much two certified numbers may be out of order, for the last digits of their proofs."""
_SEARCHED = 1.03
"""The same where bounds are searched for, and the best of several may be missed by a per cent."""


def certified(choices: Choices, most_steps: int, random_batches: int = 256) -> sdp.Certificate:
    geometry, run = geometry_of(choices), run_of(choices, most_steps, ODD, random_batches)
    return sdp.certify(
        run,
        geometry,
        bounds=choices.mostly(choices.pick(("best", "best", "paper", "composition"))),
        delta=choices.mostly(1e-5),
        accuracy=choices.mostly(choices.pick((None, None, 1e-3))),
    )


def try_certificate(data: bytes) -> None:
    """A certificate, its numbers, its file, and that more noise costs no more."""
    choices = Choices(data)
    _try(choices, certified(choices, choices.pick((8, 60))))


def try_sampled_certificate(data: bytes) -> None:
    """The same for random batches."""
    choices = Choices(data)
    _try(choices, certified(choices, choices.pick((8, 30)), random_batches=1))


def _try(choices: Choices, cert: sdp.Certificate) -> None:
    _require_numbers(choices, cert)
    if choices.chance(3):
        _require_file(cert)
    if choices.chance(3):
        _require_more_noise_costs_less(cert)
    if choices.chance(4):
        _require_lower_bound(cert)
    if choices.chance(6):
        _ask_anything(choices, cert)


def _require_numbers(choices: Choices, cert: sdp.Certificate) -> None:
    small, large = sorted(choices.log_uniform(1e-12, 0.5) for _ in range(2))
    tight = require_number(cert.epsilon(small), f"epsilon at {small}")
    loose = require_number(cert.epsilon(large), f"epsilon at {large}")
    slack = _TIES if cert.mu is not None else _SEARCHED
    require(loose <= tight * slack + 1e-12, "epsilon grows with delta", cert, loose, tight)
    delta = require_number(cert.delta(1.0), "delta at 1", 0.0, 1.0)
    require(cert.delta(2.0) <= delta * slack + 1e-15, "delta grows with epsilon", cert)
    if cert.mu is not None:
        require_number(cert.mu, "mu")
    beta = np.asarray(cert.tradeoff(np.linspace(0.0, 1.0, 9)))
    require(not np.isnan(beta).any() and bool((np.diff(beta) <= 1e-12).all()), "f", cert, beta)
    require("nan" not in cert.statement().lower(), "NaN in the statement", cert.statement())


def _require_file(cert: sdp.Certificate) -> None:
    text = cert.to_json()
    again = sdp.Certificate.from_json(text)
    require(again == cert, "its file is of another certificate", cert)
    require(again.to_json() == text, "its file changes", text)
    again.verify()


def _require_more_noise_costs_less(cert: sdp.Certificate) -> None:
    run: Any = cert.run
    noise = vars(run).get("noise")
    if noise is None or cert.f == sdp.Identity():
        return
    more = [2.0 * x for x in noise] if isinstance(noise, tuple) else 2.0 * noise
    fields: dict[str, Any] = {**vars(run), "noise": more}
    if isinstance(run, sdp.Unlearning):
        return  # its training has a noise of its own
    quieter = type(run)(**fields)
    less = sdp.certify(quieter, cert.geometry, bounds="best").epsilon(1e-5)
    require(less <= cert.epsilon(1e-5) * _SEARCHED + 1e-12, "more noise costs more", cert, less)


def _require_lower_bound(cert: sdp.Certificate) -> None:
    least = cert.lower_mu
    if least is not None and cert.mu is not None:
        require(least <= cert.mu * _TIES, "mu is below what is attained", cert, least)
    known = cert.lower_epsilon(1e-5)
    if known is not None:
        require(known <= cert.epsilon(1e-5) * _TIES + 1e-12, "below what is attained", cert, known)


def _ask_anything(choices: Choices, cert: sdp.Certificate) -> None:
    match choices.below(8):
        case 0:
            require_number(cert.epsilon(choices.hostile()), "epsilon")
        case 1:
            require_number(cert.delta(choices.hostile()), "delta", 0.0, 1.0)
        case 2:
            low, high = cert.epsilon_interval(1e-5)
            require(0.0 <= low <= high, "an interval", low, high)
        case 3:
            order = choices.mostly(choices.log_uniform(1.01, 50.0), 3)
            require_number(cert.renyi(order), "divergence")
        case 4:
            group = cert.for_group(choices.mostly(choices.integer(1, 4), 3))
            require_number(group.epsilon(1e-5), "epsilon of a group")
        case 5:
            costs = cert.by_position()
            require(all(math.isfinite(mu) and mu >= 0 for mu in costs.values()), "mu", costs)
        case 6:
            first = cert.after(choices.mostly(choices.integer(1, 3), 3))
            require(first.epsilon(1e-5) <= cert.epsilon(1e-5) * _SEARCHED, "releases", first)
        case _:
            require_number(cert.tpr(choices.hostile()), "tpr", 0.0, 1.0)
            require(replace(cert) == cert, "not itself")
