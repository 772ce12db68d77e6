"""Calibrators, comparisons, frontiers and risks of any parameters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import shiftdp as sdp
from tests.fuzz.certificates import certified
from tests.fuzz.choices import Choices
from tests.fuzz.limits import require, require_number
from tests.fuzz.runs import ODD, descent_of, geometry_of, run_of, sampled_of, unlearning_of

_MET = 1.0 + 1e-12
_CALIBRATORS: dict[str, Any] = {
    "noise": sdp.calibrate_noise,
    "epochs": sdp.calibrate_epochs,
    "learning_rate": sdp.calibrate_learning_rate,
    "batch_size": sdp.calibrate_batch_size,
    "strong_convexity": sdp.calibrate_strong_convexity,
    "diameter": sdp.calibrate_diameter,
}
_COMPOSED = 1.001
"""How far a composed number may be above another certificate of the same run."""
_RARE = 250
"""One parameter in so many is anything, where few inputs get as far as an answer otherwise."""


def _budget(choices: Choices) -> dict[str, Any]:
    epsilon = choices.mostly(choices.log_uniform(0.05, 30.0), 8)
    match choices.below(8):
        case 0 | 1 | 2:
            return {"epsilon": epsilon, "delta": choices.mostly(1e-5, 16)}
        case 3:
            return {"mu": choices.mostly(choices.log_uniform(0.01, 5.0), 8)}
        case 4:
            return {"renyi": epsilon, "order": choices.mostly(choices.uniform(1.01, 30.0), 8)}
        case 5:
            return {"advantage": choices.mostly(choices.uniform(0.01, 0.99), 8)}
        case 6:
            return {"tpr": choices.mostly(0.3, 8), "fpr": choices.mostly(0.01, 8)}
        case _:
            return {"epsilon": epsilon, choices.pick(("mu", "order", "fpr")): choices.hostile()}


def try_calibration(data: bytes) -> None:
    """What a calibrator returns meets its budget, whoever certifies it."""
    choices = Choices(data)
    geometry, run = geometry_of(choices), run_of(choices, 30, ODD, 128)
    budget = _budget(choices)
    match choices.below(9):
        case 0:
            parameter = choices.mostly(choices.pick((*_CALIBRATORS, "n", "")), 8)
            run, geometry = sdp.calibrate(run, geometry, parameter=parameter, **budget)
        case 1:
            steps = sdp.calibrate_unlearning(run, geometry, **budget)
            run = sdp.Unlearning(training=run, further_steps=steps)
        case 2:
            run = sdp.placed_noise(run, geometry, **budget)
        case 3:
            if set(budget) == {"epsilon", "delta"}:
                run = sdp.calibrate_cooldown(run, geometry, **budget)
        case other:
            name = [*_CALIBRATORS][(other - 4 + choices.below(2)) % len(_CALIBRATORS)]
            found = _CALIBRATORS[name](run, geometry, **budget)
            run, geometry = (run, found) if isinstance(found, sdp.Geometry) else (found, geometry)
    _require_met(run, geometry, budget)


def _require_met(run: Any, geometry: Any, budget: dict[str, Any], slack: float = _MET) -> None:
    """A budget of epsilon and delta is met, by what `certify` says of the run.

    Where products are composed, a certificate that is made for another delta may have a better
    grid for this one: the budget is met by one of the two, and by the other to its accuracy.
    """
    if {"epsilon", "delta"} <= set(budget):
        epsilon, delta = budget["epsilon"], budget["delta"]
        aimed = sdp.certify(run, geometry, delta=delta).epsilon(delta)
        if aimed > epsilon * slack:
            spent = sdp.certify(run, geometry).epsilon(delta)
            require(spent <= epsilon * slack, "above its budget", run, geometry, spent)
            require(aimed <= epsilon * _COMPOSED, "far above it", run, geometry, aimed)


def _plain_budget(choices: Choices) -> dict[str, Any]:
    epsilon = choices.mostly(choices.log_uniform(0.05, 30.0), _RARE)
    delta = choices.mostly(choices.log_uniform(1e-9, 1e-2), _RARE)
    return choices.pick(({"epsilon": epsilon, "delta": delta}, _budget(choices)))


def try_sampled_calibration(data: bytes) -> None:
    """Every calibrator for every way to draw batches, with either adjacency."""
    choices = Choices(data)
    geometry, run = geometry_of(choices, _RARE), sampled_of(choices, 8, _RARE)
    budget = _plain_budget(choices)
    name = choices.pick([*_CALIBRATORS])
    if choices.below(2):
        run, geometry = sdp.calibrate(run, geometry, parameter=name, **budget)
    else:
        found = _CALIBRATORS[name](run, geometry, **budget)
        run, geometry = (run, found) if isinstance(found, sdp.Geometry) else (found, geometry)
    _require_met(run, geometry, budget)


def try_schedule(data: bytes) -> None:
    """Noise that is placed, or rises at the end: it meets its budget, and is certified as well as
    by composition."""
    choices = Choices(data)
    geometry = geometry_of(choices, _RARE)
    run = descent_of(choices, choices.pick((8, 40)), _RARE)
    budget = _plain_budget(choices)
    match choices.below(3):
        case 0:
            run = sdp.placed_noise(run, geometry, **budget)
        case 1 if set(budget) == {"epsilon", "delta"}:
            run = sdp.calibrate_cooldown(run, geometry, **budget)
        case _:
            steps = choices.mostly(getattr(run, "steps", 3), _RARE)
            last = choices.integer(0, steps) if isinstance(steps, int) else choices.hostile()
            noise = sdp.cooldown(
                steps,
                choices.mostly(choices.log_uniform(1e-2, 10.0), _RARE),
                last=choices.mostly(last, 40),
                factor=choices.mostly(choices.log_uniform(0.5, 20.0), _RARE),
            )
            run, budget = type(run)(**{**vars(run), "noise": noise}), {}
    _require_met(run, geometry, budget)
    best = sdp.certify(run, geometry).epsilon(1e-5)
    composed = sdp.certify(run, geometry, bounds="composition").epsilon(1e-5)
    require(best <= composed * 1.03 + 1e-9, "composition is better", run, geometry, best, composed)


def try_unlearning(data: bytes) -> None:
    """Deletion from every run: what is calibrated meets its budget, and a step more is no worse."""
    choices = Choices(data)
    geometry = geometry_of(choices, _RARE)
    if choices.below(2):
        run = descent_of(choices, choices.pick((8, 30)), _RARE)
        budget = _plain_budget(choices)
        records = choices.mostly(choices.pick((1, 1, 2)), _RARE)
        steps = sdp.calibrate_unlearning(run, geometry, records=records, **budget)
        deletion = sdp.Unlearning(training=run, further_steps=steps, records=records)
        _require_met(deletion, geometry, budget)
        return
    deletion = unlearning_of(choices, choices.pick((8, 30)), _RARE)
    cert = sdp.certify(deletion, geometry)
    here = require_number(cert.epsilon(1e-5), "epsilon of a deletion")
    plain = deletion.learning_rate is None and deletion.noise is None
    if plain and geometry.contraction(_last(deletion.training.learning_rate)) <= 1.0:
        more = {**vars(deletion), "further_epochs": None}
        more["further_steps"] = deletion.further_steps + choices.integer(1, 3)
        there = sdp.certify(sdp.Unlearning(**more), geometry).epsilon(1e-5)
        require(there <= here * 1.03 + 1e-9, "a step more leaks more", deletion, here, there)


def _last(rates: Any) -> float:
    return float(rates if isinstance(rates, float) else rates[-1])


def try_comparison(data: bytes) -> None:
    """Tables of all accountants."""
    choices = Choices(data)
    geometry, run = geometry_of(choices), run_of(choices, 20, ODD, 128)
    delta = choices.mostly(1e-5)
    table = sdp.compare(run, geometry, delta=delta)
    for row in table.rows:
        if row.epsilon is not None:
            require_number(row.epsilon, f"epsilon by {row.name}")
    require(bool(str(table)), "an empty table")


def try_frontier(data: bytes) -> None:
    """Curves along a parameter."""
    choices = Choices(data)
    geometry, run = geometry_of(choices, _RARE), run_of(choices, 20, _RARE, 32)
    parameter = choices.mostly(
        choices.pick(("noise", "epochs", "steps", "n", "learning_rate", "diameter", "sensitivity"))
    )
    values = [choices.mostly(choices.log_uniform(0.1, 50.0), 24) for _ in range(choices.below(4))]
    whole = [round(x) if isinstance(x, float) and math.isfinite(x) else x for x in values]
    found = sdp.frontier(
        run,
        geometry,
        parameter=parameter,
        values=choices.mostly(choices.pick((values, whole))),
        delta=choices.mostly(1e-5),
    )
    for curve in found.curves:
        known = curve.epsilon[[bool(name) for name in curve.theorems]]
        require(not np.isnan(known).any(), "NaN where a theorem applies", curve)


def try_risk(data: bytes) -> None:
    """What a guarantee means for one person."""
    choices = Choices(data)
    guarantee: Any
    if choices.chance(4):
        guarantee = certified(choices, 8)
    else:
        guarantee = sdp.GaussianTradeoff(choices.mostly(choices.log_uniform(1e-4, 20.0), 8))
    options: dict[str, Any] = {}
    if choices.below(2):
        options["prior"] = choices.mostly(choices.uniform(0.0, 1.0), 6)
    if choices.below(2):
        options["fpr"] = choices.mostly([choices.uniform(0.0, 1.0)], 6)
    if choices.below(2):
        options["candidates"] = choices.mostly(choices.integer(2, 1000), 6)
    elif choices.below(2):
        options["blind"] = choices.mostly(choices.uniform(0.0, 1.0), 6)
    options["adjacency"] = choices.mostly(choices.pick((None, "replace_one", "zero_out")), 8)
    found = sdp.risk(guarantee, **options)
    for name in ("advantage", "membership", "reconstruction", "blind_membership"):
        require_number(getattr(found, name), name, 0.0, 1.0)
    require(found.membership >= found.blind_membership, "a model that helps less than none", found)
    require("nan" not in found.statement().lower(), "NaN in words", found)
