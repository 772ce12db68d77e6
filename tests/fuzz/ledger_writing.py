"""What ledgers are told: odd releases, names and numbers, through two instances of one file."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from fractions import Fraction
from typing import Any

import shiftdp as sdp
from tests.fuzz.choices import Choices
from tests.fuzz.limits import refusals_allowed, require, require_number
from tests.fuzz.texts import folder

_MET = 1.0 + 1e-9


def try_ledger_writing(data: bytes) -> None:
    """Anything is charged, through two instances; what is written adds up, and verifies."""
    choices = Choices(data)
    path = folder() / "written.db"
    for old in folder().glob("written.db*"):
        old.unlink()
    budget = choices.mostly(choices.log_uniform(0.5, 50.0), 12)
    delta = choices.mostly(choices.log_uniform(1e-9, 1e-3), 12)
    first = sdp.Ledger.create(
        choices.mostly(path, 40) if choices.chance(8) else path,
        epsilon=budget,
        delta=delta,
        adjacency=choices.mostly(choices.pick(("replace_one", "zero_out")), 20),
        adaptive=choices.mostly(choices.pick((False, False, True)), 20),
        timeout=choices.mostly(1.0, 40),
    )
    both = (first, sdp.Ledger(first.path, timeout=1.0))
    charged: list[tuple[sdp.TradeoffFunction, int]] = []
    for _ in range(choices.integer(1, 5)):
        with refusals_allowed():
            charged += _charge(choices, choices.pick(both))
    spent = [require_number(each.epsilon(), "epsilon") for each in both]
    require(spent[0] == spent[1], "two totals of one file", spent)
    require(spent[0] <= budget * _MET, "above its budget", spent, budget)
    for f, _ in charged:
        require(f.epsilon(delta) <= spent[0] * _MET + 1e-12, "charged too little", f, spent)
    if charged and all(f.gdp_mu is not None for f, _ in charged):
        mu = math.sqrt(sum(Fraction(f.gdp_mu or 0.0) ** 2 * times for f, times in charged))
        least = sdp.GaussianTradeoff(mu * (1.0 - 1e-12)).epsilon(delta)
        require(least <= spent[0] * _MET, "charged less than their sum", charged, spent)
    first.verify()
    sdp.Ledger.verify_json(first.to_json())
    require(len(first.entries()) == len({entry.number for entry in first.entries()}), "numbers")
    with closing(sqlite3.connect(first.path)) as connection:
        (found,) = connection.execute("PRAGMA integrity_check").fetchone()
    require(found == "ok", "a damaged file", found)


def _charge(choices: Choices, ledger: sdp.Ledger) -> list[tuple[sdp.TradeoffFunction, int]]:
    """One release or several, with odd names and numbers; what was charged."""
    times = choices.mostly(choices.pick((1, 1, 2, 5)), 6)
    words: dict[str, Any] = {
        "label": choices.mostly(choices.pick(("", "fit", "a\nb", "\u202e", "x" * 300)), 6),
        "times": times,
        "key": choices.mostly(choices.pick((None, None, "k", "k2")), 8),
        "convert": choices.mostly(choices.pick((False, True)), 12),
    }
    numbered = {entry.number for entry in ledger.entries()}
    if choices.below(2):
        entry = ledger.reserve(_certificate(choices), **words)
    else:
        f: Any = choices.mostly(_declared(choices), 12)
        entry = ledger.declare(
            f,
            description=choices.mostly(choices.pick(("noisy mean", "x")), 8),
            adjacency=choices.mostly(choices.pick(("replace_one", "zero_out")), 12),
            **words,
        )
    if choices.below(2):
        ledger.complete(choices.mostly(entry, 8), choices.mostly("done", 8))
    return [] if entry.number in numbered else [(entry.f, entry.times)]


def _declared(choices: Choices) -> sdp.TradeoffFunction:
    value = choices.mostly(choices.log_uniform(1e-3, 5.0), 8)
    match choices.below(6):
        case 0 | 1 | 2:
            return sdp.GaussianTradeoff(value)
        case 3:
            return sdp.LaplaceTradeoff(value)
        case 4:
            return sdp.ApproxDPTradeoff(value, choices.mostly(1e-7, 8))
        case _:
            return sdp.Identity()


def _certificate(choices: Choices) -> Any:
    run = sdp.NoisyGD(
        n=100, steps=5, learning_rate=0.1, noise=choices.pick((0.05, 0.3, 2.0)),
        releases=choices.pick((None, None, "all")),
    )  # fmt: skip
    adjacency: Any = choices.pick(("replace_one", "replace_one", "zero_out"))
    geometry = sdp.Geometry(
        strong_convexity=1, smoothness=10, sensitivity=2, adjacency=adjacency, gradient_bound=1.0
    )
    return choices.mostly(sdp.certify(run, geometry), 12)
