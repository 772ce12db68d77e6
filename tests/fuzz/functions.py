"""Tradeoff functions of any parameters, combined and asked everything."""

from __future__ import annotations

from typing import Any

import numpy as np

import shiftdp as sdp
from shiftdp import fdp
from shiftdp._kinds import Uncertified
from shiftdp.last_iterate.serialisation import tradeoff_from_json, tradeoff_to_json
from tests.fuzz.choices import Choices
from tests.fuzz.limits import require, require_number

_ALPHAS = np.array([0.0, 1e-300, 1e-9, 0.01, 0.3, 0.5, 0.9, 1.0 - 1e-12, 1.0])
_GAP = 1e-9  # by which a convex function of rounded numbers may fail to decrease


def try_function(data: bytes) -> None:
    """A function, what it is combined with, and the questions that all of them answer."""
    choices = Choices(data)
    f = _combined(choices, _function(choices))
    _ask(choices, f)


def try_composition(data: bytes) -> None:
    """Products, which are composed numerically: they take longer."""
    choices = Choices(data)
    f = _simple(choices)
    times = choices.mostly(choices.integer(0, 20), 6)
    product = f.compose(_simple(choices)) if choices.below(2) else f.power(times)
    _ask(choices, product)


def try_conversion(data: bytes) -> None:
    """Conversions of Renyi and zCDP, the central limit theorem, comparisons, noise schedules."""
    choices = Choices(data)
    match choices.below(5):
        case 0:
            found = fdp.zcdp_epsilon(_value(choices, 1e-4, 10.0), delta=_value(choices, 1e-12, 0.5))
            _require_conversion(found)
        case 1:
            slope = choices.log_uniform(1e-4, 10.0)
            found = fdp.renyi_epsilon(
                lambda order: slope * order, delta=_value(choices, 1e-12, 0.5)
            )
            _require_conversion(found)
        case 2:
            p, mu = _value(choices, 1e-6, 1.0), _value(choices, 1e-3, 5.0)
            limit = fdp.subsampled_clt(p, mu, choices.mostly(choices.integer(1, 10**6), 6))
            require(isinstance(limit, Uncertified), "an estimate that does not say so")
            require_number(limit.value.mu, "mu")
        case 3:
            f, g = _simple(choices), _simple(choices)
            found_order = sdp.dominates(f, g, choices.mostly(1e-9, 6))
            require(found_order.holds in (True, False, None), "an order", found_order)
        case _:
            steps = choices.mostly(choices.integer(1, 300), 6)
            noise = choices.mostly(choices.log_uniform(1e-3, 1e3), 6)
            last, factor = choices.mostly(choices.integer(0, 300), 6), _value(choices, 1.0, 9.0)
            schedule = sdp.cooldown(steps, noise, last=last, factor=factor)
            require(len(schedule) == steps, "a schedule of another length", len(schedule))
            require(bool(np.all(np.isfinite(schedule))), "a schedule", schedule)


def _require_conversion(found: Any) -> None:
    for name in ("mironov", "balle", "asoodeh"):
        require_number(getattr(found, name), name)


def _value(choices: Choices, low: float, high: float) -> Any:
    return choices.mostly(choices.log_uniform(low, high), 8)


def _distance(choices: Choices, high: float) -> Any:
    """Between means, in deviations; now and then so far that no threshold is known there."""
    found = _value(choices, 1e-3, high)
    return choices.log_uniform(1e5, 1e15) if choices.chance(24) else found


def _simple(choices: Choices) -> sdp.TradeoffFunction:
    match choices.below(8):
        case 0 | 1:
            return fdp.GaussianTradeoff(_value(choices, 1e-6, 40.0))
        case 2:
            return fdp.LaplaceTradeoff(_value(choices, 1e-6, 40.0))
        case 3:
            return fdp.ApproxDPTradeoff(_value(choices, 1e-6, 40.0), _value(choices, 1e-15, 1.0))
        case 4:
            return fdp.Identity()
        case 5:
            x = np.sort([choices.uniform(0.0, 1.0) for _ in range(choices.integer(0, 3))])
            alpha = [0.0, *x, 1.0]
            beta = [choices.mostly((1.0 - t) * choices.uniform(0.0, 1.0), 16) for t in alpha]
            return fdp.PiecewiseLinear(alpha, [choices.mostly(1.0, 16), *beta[1:-1], 0.0])
        case 6:
            s, a = _distance(choices, 20.0), _distance(choices, 5.0)
            p = choices.mostly(choices.uniform(0.0, 1.0), 8)
            kind: Any = choices.pick(
                (fdp.PoissonZeroOut, fdp.PoissonReplaceOne, fdp.shifted_subsampled)
            )
            found: sdp.TradeoffFunction = kind(p, a, s)
            return found
        case _:
            size = choices.integer(1, 4)
            mu = tuple(_distance(choices, 5.0) for _ in range(size))
            weight = tuple(choices.uniform(0.0, 1.0) for _ in range(size))
            total = sum(weight) or 1.0
            hidden: Any = choices.pick(
                (fdp.HiddenExchange, fdp.HiddenReplaceOne, fdp.HiddenZeroOut)
            )
            law: sdp.TradeoffFunction = hidden(mu, tuple(w / total for w in weight))
            return law


def _function(choices: Choices) -> sdp.TradeoffFunction:
    match choices.below(8):
        case 0:
            parts = [_simple(choices) for _ in range(choices.integer(1, 3))]
            weights = [_value(choices, 1e-6, 1.0) for _ in parts]
            return fdp.Mixture(parts, choices.pick((None, weights)))
        case 1:
            kind = choices.pick((fdp.Maximum, fdp.Minimum))
            return kind([_simple(choices) for _ in range(choices.integer(0, 3))])
        case 2:
            return fdp.WithFailure(_simple(choices), _value(choices, 1e-15, 1.0))
        case 3 if choices.chance(4):
            return _simple(choices).group(choices.mostly(choices.integer(1, 9), 6))
        case _:
            return _simple(choices)


def _combined(choices: Choices, f: sdp.TradeoffFunction) -> sdp.TradeoffFunction:
    match choices.below(8):
        case 1:
            return f.subsample(choices.mostly(choices.uniform(0.0, 1.0), 6))
        case 2:
            return f.inverse()
        case 3:
            return f.symmetrize()
        case _:
            return f


def _accuracy(f: Any) -> float:
    """To which a product knows its epsilon, which need not fall by less than that."""
    return float(getattr(f, "accuracy", 0.0)) or (_accuracy(f.base) if hasattr(f, "base") else 0.0)


def _ask(choices: Choices, f: sdp.TradeoffFunction) -> None:
    beta = np.asarray(f(_ALPHAS))
    require(not np.isnan(beta).any(), "f(alpha)", f, beta)
    require(bool(np.all((beta >= 0) & (beta <= 1.0 - _ALPHAS + 1e-15))), "f(alpha)", f, beta)
    require(bool(np.all(np.diff(beta) <= _GAP)), "f is not decreasing", f, beta)
    low, high = sorted(choices.log_uniform(1e-12, 0.5) for _ in range(2))
    loose = require_number(f.epsilon(high), f"epsilon of {f}")
    tight = require_number(f.epsilon(low), f"epsilon of {f}")
    slack = max(1e-6, 2.0 * _accuracy(f))
    require(tight >= loose * (1.0 - slack) - _GAP, "epsilon falls with delta", f, low, tight, loose)
    small, large = sorted(choices.log_uniform(1e-4, 50.0) for _ in range(2))
    more = require_number(f.delta(small), f"delta of {f}", 0.0, 1.0)
    less = require_number(f.delta(large), f"delta of {f}", 0.0, 1.0)
    require(less <= more * (1.0 + 1e-6) + _GAP, "delta grows with epsilon", f, small, more, less)
    require_number(f.advantage(), f"advantage of {f}", 0.0, 1.0)
    require_number(f.tpr(choices.uniform(0.0, 1.0)), f"tpr of {f}", 0.0, 1.0)
    match choices.below(6):
        case 0:
            require_number(f.epsilon(choices.hostile()), f"epsilon of {f}")
        case 1:
            require_number(f.delta(choices.hostile()), f"delta of {f}", 0.0, 1.0)
        case 2:
            value = f(choices.hostile())
            require(not np.isnan(np.asarray(value, dtype=float)).any(), "f(alpha)", f, value)
        case 3:
            order = choices.mostly(choices.log_uniform(1.01, 100.0), 4)
            require_number(f.renyi(order), f"divergence of {f}")
        case 4:
            require_number(f.tpr(choices.hostile()), f"tpr of {f}", 0.0, 1.0)
        case _:
            again = tradeoff_from_json(tradeoff_to_json(f))
            require(np.array_equal(np.asarray(again(_ALPHAS)), beta), "JSON changed it", f)
