"""docs/notation.md is true: the code enforces the ranges that are named there, and no others."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import shiftdp as sdp
from shiftdp import InvalidInput
from shiftdp.privacy import budget_of
from shiftdp.training import (
    Ball,
    Box,
    ClippedSquared,
    Huber,
    Logistic,
    Plan,
    Simplex,
    SmoothedHinge,
)

PAGE = Path(__file__).parents[2] / "docs" / "notation.md"
RUN: dict[str, Any] = {"n": 2**53, "steps": 3, "learning_rate": 0.1, "noise": 1.0}
LOSSES: dict[str, Any] = {
    "strong_convexity": -math.inf,
    "smoothness": math.inf,
    "sensitivity": 0.0,
}
CERTIFICATE = sdp.certify(
    sdp.NoisyGD(n=10, steps=3, learning_rate=0.1, noise=1.0),
    sdp.Geometry(strong_convexity=0.0, smoothness=1.0, sensitivity=1.0),
)


class Range(NamedTuple):
    """A row of the table: an end may be excluded, and other values be allowed."""

    low: float
    high: float
    open_low: bool
    open_high: bool
    also: frozenset[str]

    def inside(self) -> list[float]:
        """Values at the very ends."""
        first = math.nextafter(self.low, math.inf) if self.open_low else self.low
        last = math.nextafter(self.high, -math.inf) if self.open_high else self.high
        return [first, last, *(SPECIAL[word] for word in self.also)]

    def outside(self) -> list[float]:
        """Values just beyond the ends, and special ones that are not listed."""
        least = self.low if self.open_low else below(self.low)
        most = self.high if self.open_high else above(self.high)
        others = [value for word, value in SPECIAL.items() if word not in self.also]
        beyond = [x for x in others if not self.low <= x <= self.high]
        return [x for x in (least, most, *beyond, math.nan) if x not in self.inside()]


SPECIAL = {"0": 0.0, "infinity": math.inf, "-infinity": -math.inf, "negative": -1.0}


def below(x: float) -> float:
    return x - 1 if x == 1 else math.nextafter(x, -math.inf)


def above(x: float) -> float:
    return x + 1 if x == 2**53 else math.nextafter(x, math.inf)


def number(text: str) -> float:
    return {"2^53": 2**53, "infinity": math.inf, "1": 1}.get(text) or float(text)


def ranges() -> dict[str, Range]:
    table = PAGE.read_text().partition("| parameter | from |")[2].partition("\n\n")[0]
    found = {}
    for row in table.splitlines()[2:]:
        names, low, high, also = (cell.strip() for cell in row.strip("|").split("|"))
        limits = Range(
            number(low.removeprefix("above ")),
            number(high.removeprefix("below ")),
            low.startswith("above "),
            high.startswith("below "),
            frozenset(word for word in also.split(", ") if word),
        )
        for name in names.split(", "):
            found[name.strip("`")] = limits
    return found


def run_with(name: str, *kinds: str) -> list[Callable[[Any], object]]:
    """Runs of some kinds with one parameter; a batch is not larger than the data."""

    def make(kind: str) -> Callable[[Any], object]:
        size = {} if kind == "NoisyGD" or name == "batch_size" else {"batch_size": 1}

        def made(value: Any) -> object:
            changed = {**RUN, **size, name: value}
            if name == "epochs":
                changed["n"] = changed["batch_size"] = 1
                del changed["steps"]
            return getattr(sdp, kind)(**changed)

        return made

    return [make(kind) for kind in kinds]


def geometry_with(name: str) -> list[Callable[[Any], object]]:
    return [lambda value: sdp.Geometry(**{**LOSSES, name: value})]


def plan_with(name: str) -> list[Callable[[Any], object]]:
    run = sdp.NoisyGD(n=10, steps=3, learning_rate=0.1, noise=1.0)
    given: dict[str, Any] = {"run": run, "loss": Logistic(), "feature_bound": 1.0}
    clipped = {"clipping": "envelope"} if name == "clip" else {}
    return [lambda value: Plan(**{**given, **clipped, name: value})]


def everything() -> dict[str, list[Callable[[Any], object]]]:
    run, geometry = CERTIFICATE.run, CERTIFICATE.geometry
    f = sdp.GaussianTradeoff(1.0)
    descents = ("NoisyGD", "NoisyCGD", "NoisySGD")
    return {
        "learning_rate": run_with("learning_rate", *descents),
        "noise": run_with("noise", *descents),
        "n": run_with("n", *descents),
        "batch_size": run_with("batch_size", "NoisyCGD", "NoisySGD"),
        "steps": run_with("steps", *descents),
        "epochs": run_with("epochs", "NoisyCGD"),
        **{
            name: geometry_with(name)
            for name in (
                "sensitivity",
                "gradient_bound",
                "smoothness",
                "strong_convexity",
                "diameter",
            )
        },
        **{name: plan_with(name) for name in ("feature_bound", "clip", "l2")},
        "width": [lambda x: Huber(width=x), lambda x: SmoothedHinge(width=x)],
        "residual_bound": [lambda x: ClippedSquared(residual_bound=x)],
        "radius": [Ball],
        "total": [Simplex],
        "low": [lambda x: Box(x, 1e12) if x != 1e12 else Box(-1.0, x)],
        "high": [lambda x: Box(-1e12, x) if x != -1e12 else Box(x, 1.0)],
        "delta": [
            CERTIFICATE.epsilon,
            lambda x: sdp.certify(run, geometry, delta=x),
            lambda x: sdp.compare(run, geometry, delta=x),
            lambda x: sdp.frontier(run, geometry, parameter="noise", values=[1.0], delta=x),
            lambda x: budget_of(epsilon=1.0, delta=x),
        ],
        "epsilon": [CERTIFICATE.delta],
        "mu": [sdp.GaussianTradeoff],
        "alpha": [f, CERTIFICATE.tradeoff],
        "fpr": [CERTIFICATE.tpr, lambda x: sdp.risk(CERTIFICATE, fpr=[x])],
        "prior": [lambda x: sdp.risk(CERTIFICATE, prior=x)],
        "blind": [lambda x: sdp.risk(CERTIFICATE, blind=x)],
        "order": [CERTIFICATE.renyi, f.renyi, lambda x: budget_of(renyi=1.0, order=x)],
        "accuracy": [lambda x: sdp.certify(run, geometry, accuracy=x)],
    }


RANGES, MAKERS = ranges(), everything()


def test_every_range_is_looked_at() -> None:
    assert RANGES.keys() == MAKERS.keys()


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_inside_of_a_range_is_accepted(name: str) -> None:
    for make in MAKERS[name]:
        for value in RANGES[name].inside():
            make(value)


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_outside_of_a_range_is_refused_by_name(name: str) -> None:
    for make in MAKERS[name]:
        for value in RANGES[name].outside():
            with pytest.raises(InvalidInput) as refusal:
                make(value)
            assert refusal.value.name == name
