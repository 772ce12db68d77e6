"""What the package answers has not changed: the cases of `snapshot_cases`, against `snapshot.json`.

Where a change is meant, take the snapshot anew (`python -m tests.properties.snapshot --write`) and
enter what changed into the changelog.
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any

import pytest

import shiftdp as sdp
from tests.properties.snapshot import (
    DELTAS,
    EPSILON,
    answer_of,
    function_of,
    made_with,
    measured,
    stored,
)
from tests.properties.snapshot_cases import Case, certificates

THEOREMS = {
    "Thm gd (composition)", "Thm mgd (composition)", "Thm gd-sc", "Thm mgd-sc", "Thm gd-proj",
    "Thm mgd-proj", "Theorem B1", "Theorem B4", "Thm sgd (composition)", "Poisson (composition)",
    "Thm sgd-sc", "Thm sgd-proj", "Theorem B3", "Theorem B3 (Poisson)", "Theorem B6", "Theorem B7",
    "Prop lmc", "Cor expmechsc", "Cor expmechconvex", "pure DP", "Cor expmechsc and pure DP",
    "Cor expmechconvex and pure DP",
}  # fmt: skip
LAST_PLACES = 8
"""Units in the last place by which mu may differ where it is computed with other libraries than the
snapshot was, or on another kind of machine: their `exp` and `log` round otherwise, by one unit, and
a closed form is a product of a few of them. With the same ones no bit may differ."""

ROUNDED = 1e-11
"""The same for what is read off a tradeoff function: a tail is many times as sensitive as mu."""

COMPOSED, COMPOSED_PART = 1e-3, 2e-4
"""To what accuracy products are composed unless told, and what part of a large epsilon."""

SETTLED, SETTLED_COMPOSED = 1e-6, 1e-3
"""The part to which calibration settles a parameter, and that where epsilon is composed."""

TINY = 1e-300  # below it floats lose digits
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]\d+)?")

BOTH = pytest.mark.parametrize(
    "slow", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["quick", "slow"]
)
before = functools.cache(stored)


def close(now: Any, then: Any, part: float = ROUNDED, much: float = 0.0) -> bool:
    """Whether two numbers, or two nested lists of numbers and words, agree."""
    if isinstance(now, list) and isinstance(then, list):
        pairs = zip(now, then, strict=False)
        return len(now) == len(then) and all(close(a, b, part, much) for a, b in pairs)
    if not (isinstance(now, float) and isinstance(then, float)):
        return bool(now == then)
    return math.isclose(now, then, rel_tol=part, abs_tol=max(much, TINY))


@BOTH
def test_certificates_say_what_they_said(slow: bool) -> None:
    cases = {str(case): case for case in certificates()}
    now = measured("certificates", slow)
    assert now
    wrong = {
        name: fields
        for name, record in now.items()
        if (fields := _changed(cases[name], record, before()["certificates"][name]))
    }
    assert not wrong


def _changed(case: Case, now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """The fields that differ by more than they may."""
    held = {key: now[key] == then[key] for key in now if key != "sha256"}
    if all(held.values()):
        return []
    composed = case.run is not None and case.run[0] == "NoisySGD" and now["mu"] is None
    accepted = _composed_alike(case, now, then) if composed else _closed_alike(now, then)
    return [key for key, same in held.items() if not (same or accepted.get(key, False))]


def _places() -> float:
    """By what part a mu may differ: by nothing where it is computed with the same libraries."""
    return 0.0 if made_with() == before()["made_with"] else LAST_PLACES * 2.0**-52


def _closed_alike(now: dict[str, Any], then: dict[str, Any]) -> dict[str, bool]:
    keys = ("epsilon", "delta", "advantage", "renyi")
    return {key: close(now[key], then[key]) for key in keys} | {
        key: close(now[key], then[key], _places()) for key in ("mu", "lower_mu")
    }


def test_with_the_same_libraries_no_bit_of_mu_may_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = dict.fromkeys(("epsilon", "delta", "advantage", "renyi", "lower_mu"), 1.0)
    now, then = {**fields, "mu": math.nextafter(1.0, 2.0)}, {**fields, "mu": 1.0}
    for libraries, same in ((made_with(), False), ({"machine": "another"}, True)):
        monkeypatch.setattr(f"{__name__}.before", lambda made=libraries: {"made_with": made})
        assert _closed_alike(now, then)["mu"] == same


def _composed_alike(case: Case, now: dict[str, Any], then: dict[str, Any]) -> dict[str, bool]:
    """To the accuracy that is stated: both numbers are bounds, neither that far above the exact."""
    cert = answer_of(case)
    widths = [_accuracy(cert, delta) for delta in DELTAS]
    pairs = zip(now["epsilon"], then["epsilon"], widths, strict=True)
    return {
        "epsilon": all(close(a, b, much=width) for a, b, width in pairs),
        "delta": close(now["delta"], then["delta"]) or _is_reached(cert, then["delta"]),
        "advantage": close(now["advantage"], then["advantage"], much=math.expm1(max(widths))),
        "renyi": close(now["renyi"], then["renyi"], COMPOSED),
        "lower_mu": close(now["lower_mu"], then["lower_mu"], _places()),
    }


def _is_reached(cert: sdp.Certificate, delta: float) -> bool:
    """Whether epsilon at this delta is the one it was asked for at, as far as it is accurate."""
    return abs(cert.epsilon(delta) - EPSILON) <= _accuracy(cert, delta)


def _accuracy(cert: sdp.Certificate, delta: float) -> float:
    """What epsilon was composed to, or the interval that is stated where that is wider."""
    low, high = cert.epsilon_interval(delta)
    return max(high - low, cert.f.accuracy)


@BOTH
def test_tables_say_what_they_said(slow: bool) -> None:
    now = measured("comparisons", slow)
    assert now
    for name, table in now.items():
        then = before()["comparisons"][name]
        part, much = (COMPOSED_PART, COMPOSED) if "NoisySGD" in name else (ROUNDED, 0.0)
        assert close(table["rows"], then["rows"], part, much), name
        assert close([*map(_parts, table["warnings"])], [*map(_parts, then["warnings"])]), name


@BOTH
def test_calibration_finds_what_it_found(slow: bool) -> None:
    now = measured("calibrations", slow)
    assert now
    for name, fields in now.items():
        then = before()["calibrations"][name]
        part = SETTLED_COMPOSED if "NoisySGD" in name else SETTLED
        assert [*fields] == [*then], name
        assert close([*fields.values()], [*then.values()], part), name


def test_what_was_refused_is_refused_in_the_same_words() -> None:
    now = measured("refusals")
    assert [*now] == [*before()["refusals"]]
    for name, words in now.items():
        assert close(_parts(words), _parts(before()["refusals"][name])), name


def _parts(words: str) -> list[Any]:
    """A text as what stands between its numbers, and the numbers."""
    return [NUMBER.sub("#", words), *map(float, NUMBER.findall(words))]


def test_tradeoff_functions_say_what_they_said() -> None:
    now = measured("functions")
    assert [*now] == [*before()["functions"]]
    for name, record in now.items():
        composed = hasattr(function_of(name), "epsilon_interval")
        part, much = (COMPOSED_PART, COMPOSED) if composed else (ROUNDED, 0.0)
        for field, value in record.items():
            then = before()["functions"][name][field]
            assert close(value, then, part, much), (name, field, value, then)


def test_the_snapshot_has_every_theorem_and_every_case() -> None:
    records = before()["certificates"]
    assert [*records] == [str(case) for case in certificates()]
    assert {record["bound"] for record in records.values()} == THEOREMS
